import type { Rules, Verdict } from "./rules.ts"

interface Placed {
  readonly rules: Rules
  /** From the rules' folder to the judged one: empty, or ending in `/`. */
  readonly prefix: string
}

/** The rules for the entries of a folder, nearest first. */
export interface Scope {
  readonly clew: ReadonlyArray<Placed>
  readonly git: ReadonlyArray<Placed>
}

/** What a folder itself adds: its ignore files, and whether it is a repository. */
export interface Found {
  readonly clewignore?: Rules | undefined
  readonly gitignore?: Rules | undefined
  /** `.git/info/exclude`. */
  readonly exclude?: Rules | undefined
  readonly isRepository: boolean
}

export const emptyScope: Scope = { clew: [], git: [] }

const placed = (rules: Rules | undefined): ReadonlyArray<Placed> => (rules === undefined ? [] : [{ rules, prefix: "" }])

const descend = (above: ReadonlyArray<Placed>, name: string): ReadonlyArray<Placed> =>
  above.map(({ prefix, rules }) => {
    const below = `${prefix}${name}/`
    return { rules: rules.entering(below), prefix: below }
  })

/** The scope of a folder inside the folder of `above`. */
export const enter = (above: Scope, name: string): Scope => ({
  clew: descend(above.clew, name),
  git: descend(above.git, name)
})

/** A scope with what its folder adds. Git's rules end at their repository. */
export const extend = (scope: Scope, found: Found): Scope => ({
  clew: [...placed(found.clewignore), ...scope.clew],
  git: [...placed(found.gitignore), ...placed(found.exclude), ...(found.isRepository ? [] : scope.git)]
})

const ask = (rules: ReadonlyArray<Placed>, entry: string): Verdict => {
  for (const { prefix, rules: each } of rules) {
    const verdict = each.test(prefix + entry)
    if (verdict !== "none") return verdict
  }
  return "none"
}

/**
 * Why an entry is skipped, if it is. .clewignore always wins over .gitignore, and only it can bring back hidden entries;
 * either can bring back node_modules.
 */
export const verdictOn = (scope: Scope, name: string, isFolder: boolean): "hidden" | "ignored" | undefined => {
  const entry = isFolder ? `${name}/` : name
  const own = ask(scope.clew, entry)
  if (own === "ignored") return "ignored"
  if (name === ".git") return "hidden"
  if (own === "included") return undefined
  if (name.startsWith(".")) return "hidden"
  const git = ask(scope.git, entry)
  if (git !== "none") return git === "ignored" ? "ignored" : undefined
  return isFolder && name === "node_modules" ? "ignored" : undefined
}
