/** A link's normalised target: resolved against the source that contains it, without extension, query and fragment. */
const resolved = (source: string, target: string): string => {
  const bare = target.replace(/[?#].*$/su, "")
  if (/^[a-z][a-z0-9+.-]*:/iu.test(bare) || bare.startsWith("//"))
    return trimmed(bare.replace(/^[a-z+.-]*:?\/\//iu, ""))
  const base = bare.startsWith("/")
    ? []
    : source
        .replace(/^[a-z+.-]*:\/\//iu, "")
        .split("/")
        .slice(0, -1)
  const steps: Array<string> = []
  for (const step of [...base, ...bare.split("/")]) {
    if (step === "..") steps.pop()
    else if (step !== "." && step !== "") steps.push(step)
  }
  return trimmed(steps.join("/"))
}

const extension = /\.(?:mdx?|markdown|html?|adoc|asciidoc|rst|txt|ipynb|[cm]?[jt]sx?|h|hpp|py|rs|go)$/iu

const trimmed = (path: string): string => {
  const steps = path.split("/").filter((step) => step !== "")
  const last = steps.pop()?.replace(extension, "")
  if (last !== undefined && !/^(?:index|readme|_index)$/iu.test(last)) steps.push(last)
  return steps.join("/").toLowerCase()
}

const tail = (path: string): string => path.split("/").slice(-2).join("/")

/** The keys by which a link finds the document with this source: its path from the root, and its last two segments. */
export const pathKeys = (source: string): ReadonlyArray<string> => {
  if (source.includes("#") || source.length > 1000 || !/[/.]/u.test(source)) return []
  const path = resolved("", source)
  return path === "" ? [] : [...new Set([`/${path}`, `~${tail(path)}`])]
}

/**
 * The key of a link's target: its path if the link is relative; the last two segments if it starts at a site's root,
 * whose location is unknown. Undefined if it leads nowhere else.
 */
export const targetKey = (source: string, target: string): string | undefined => {
  if (target.length > 1000 || /^(?:#|mailto:|javascript:|data:|tel:)/iu.test(target)) return undefined
  const path = resolved(source, decoded(target))
  if (path === "" || path.length < 3) return undefined
  return target.startsWith("/") && !target.startsWith("//") ? `~${tail(path)}` : `/${path}`
}

const decoded = (target: string): string => {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}

/** The name of a source's file without extension, if it says more than its folder: "git-rebase", not "index". */
export const stemOf = (source: string): string | undefined => {
  if (source.includes("#")) return undefined
  const file = source.slice(source.lastIndexOf("/") + 1)
  const dot = file.lastIndexOf(".")
  const stem = dot > 0 ? file.slice(0, dot) : file
  return stem === "" || untelling.test(stem) ? undefined : stem
}

const untelling = /^(?:index|readme|_index|main|mod|license|changelog|\d[\d.-]{0,40})$/iu
