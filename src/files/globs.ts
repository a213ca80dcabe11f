/**
 * Any number of what is compared: of characters in a name, of folders in a path. Whatever a pattern is, comparing takes at
 * most its length times the text's.
 */
const any = null

/** A character of a pattern: itself, or what it may be. */
type Sign = string | ((character: string) => boolean)

/** A name in a pattern: literally, or its signs. */
type Part = string | ReadonlyArray<Sign | typeof any>

/** If an item does not match, the last `any` takes one more: an earlier one could do no better. */
const matchesAll = <Item, Token>(
  items: ArrayLike<Item>,
  tokens: ReadonlyArray<Token | typeof any>,
  matches: (token: Token, item: Item) => boolean
): boolean => {
  let at = 0
  let place = 0
  let last = -1
  let taken = 0
  while (at < items.length) {
    const token = tokens[place]
    if (token === any) {
      last = place++
      taken = at
      if (place === tokens.length) return true
    } else if (token !== undefined && matches(token, items[at]!)) {
      at++
      place++
    } else if (last >= 0) {
      at = ++taken
      place = last + 1
    } else return false
  }
  while (tokens[place] === any) place++
  return place === tokens.length
}

const isSign = (sign: Sign, character: string): boolean =>
  typeof sign === "string" ? sign === character : sign(character)

const isName = (part: Part | typeof any, name: string): boolean => {
  if (part === any || typeof part === "string") return (part ?? name) === name
  // Most patterns are endings.
  const last = part[part.length - 1]
  if (typeof last === "string" && !name.endsWith(last)) return false
  return matchesAll(/[\ud800-\udbff]/.test(name) ? [...name] : name, part, isSign)
}

/** POSIX classes as git has them: first and last characters of their ranges. */
const classes = new Map([
  ["alnum", "09AZaz"],
  ["alpha", "AZaz"],
  ["blank", "  \t\t"],
  ["cntrl", "\0\x1f\x7f\x7f"],
  ["digit", "09"],
  ["graph", "!~"],
  ["lower", "az"],
  ["print", " ~"],
  ["punct", "!/:@[`{~"],
  ["space", "  \t\n\r\r"],
  ["upper", "AZ"],
  ["xdigit", "09AFaf"]
])

/** The bracket expression that begins at a place, and where it ends, as git reads it; undefined if it does not end. */
const bracketAt = (pattern: ReadonlyArray<string>, start: number) => {
  let at = start + 1
  const isNegated = pattern[at] === "!" || pattern[at] === "^"
  if (isNegated) at++
  const first = at
  const ranges: Array<readonly [first: number, last: number]> = []
  /** The character at `at`, or the one that a backslash there escapes. */
  const member = () => pattern[pattern[at] === "\\" ? ++at : at]?.codePointAt(0)
  for (; pattern[at] !== "]" || at === first; at++) {
    const end = pattern[at] === "[" && pattern[at + 1] === ":" ? pattern.indexOf("]", at + 2) : 0
    if (end > at + 2 && pattern[end - 1] === ":") {
      const named = classes.get(pattern.slice(at + 2, end - 1).join(""))
      if (named === undefined) return undefined
      for (let i = 0; i < named.length; i += 2) ranges.push([named.charCodeAt(i), named.charCodeAt(i + 1)])
      at = end
      continue
    }
    const low = member()
    if (low === undefined) return undefined
    ranges.push([low, low])
    if (pattern[at + 1] !== "-" || pattern[at + 2] === "]") continue
    at += 2
    const high = member()
    if (high === undefined) return undefined
    ranges.push([low, high])
  }
  const matches = (character: string): boolean => {
    const code = character.codePointAt(0)!
    return ranges.some(([low, high]) => low <= code && code <= high) !== isNegated
  }
  return { end: at, matches }
}

/**
 * The names of a pattern's path. A bracket that is not closed, or a backslash at the end, stands for itself, or there are
 * none if it may not.
 */
const partsOf = (pattern: string, mayBeOpen: boolean): ReadonlyArray<Part | typeof any> | undefined => {
  const characters = [...pattern]
  const parts: Array<Array<Sign | typeof any>> = [[]]
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!
    const bracket = character === "[" ? bracketAt(characters, at) : undefined
    const literal = character === "\\" ? characters[++at] : character
    if (!mayBeOpen && (literal === undefined || (character === "[" && bracket === undefined))) return undefined
    if (character === "*") parts.at(-1)!.push(any)
    else if (character === "?") parts.at(-1)!.push(() => true)
    else if (bracket !== undefined) {
      parts.at(-1)!.push(bracket.matches)
      at = bracket.end
    } else if (literal === "/") parts.push([])
    else parts.at(-1)!.push(literal ?? character)
  }
  return parts.map((signs) =>
    signs.length > 1 && signs.every((sign) => sign === any)
      ? any
      : signs.every((sign) => typeof sign === "string")
        ? signs.join("")
        : signs
  )
}

/** Alternatives that the braces of a glob may have. */
export const mostAlternatives = 1000

/** What a glob's braces stand for, each without braces; undefined if they are too many. */
export const alternatives = (glob: string): ReadonlyArray<string> | undefined => {
  const done: Array<string> = []
  const open = [glob]
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const braces = bracesOf(each)
    if (braces === undefined) done.push(each)
    else open.push(...braces.toReversed())
    if (done.length + open.length > mostAlternatives) return undefined
  }
  return done
}

/** A glob with each alternative of its first braces; undefined if it has none that are closed and have two. */
const bracesOf = (glob: string): ReadonlyArray<string> | undefined => {
  /** Of open braces, innermost last: where each begins, and its commas. */
  const open: Array<Array<number>> = []
  let found: ReadonlyArray<number> | undefined
  for (let at = 0; at < glob.length; at++) {
    const sign = glob[at]
    if (sign === "\\") at++
    else if (sign === "{") open.push([at])
    else if (sign === ",") open.at(-1)?.push(at)
    else if (sign === "}") {
      const [start, ...commas] = open.pop() ?? []
      if (start === undefined || commas.length === 0) continue
      if (found === undefined || start < found[0]!) found = [start, ...commas, at]
      if (open.length === 0) break
    }
  }
  return found
    ?.slice(1)
    .map((end, i) => glob.slice(0, found[0]) + glob.slice(found[i]! + 1, end) + glob.slice(found.at(-1)! + 1))
}

/** Matches a path below the root; `name` is its last part. */
export type Glob = (path: string, name: string, isFolder: boolean) => boolean

/**
 * A glob below a root. Without a slash it matches names anywhere, else the path from the root; a final slash restricts it
 * to folders. `*` stays within a name, `**` crosses folders, `{1..9}` is `[1-9]`. What has the very name that the glob is
 * matches, too.
 */
const globOf = (pattern: string): Glob => {
  const foldersOnly = pattern.length > 1 && pattern.endsWith("/")
  const body = foldersOnly ? pattern.slice(0, -1) : pattern
  const literal = body.replace(/^(?:\.?\/)+/, "")
  const ranged = literal.replace(/(?<!\\)\{([^{}\\,/])\.\.([^{}\\,/])\}/g, "[$1-$2]")
  const each = (alternatives(ranged || "**") ?? []).map((alternative) => partsOf(alternative, true)!)
  const byPath = body.includes("/")
  return (path, name, isFolder) => {
    if (foldersOnly && !isFolder) return false
    const whole = byPath ? path : name
    const names = byPath ? path.split("/") : [name]
    return whole === literal || each.some((parts) => matchesAll(names, parts, isName))
  }
}

/** Whether any of the patterns matches. */
export const patterns = (globs: ReadonlyArray<string>): Glob => {
  const each = globs.filter((pattern) => pattern.trim() !== "").map(globOf)
  return (path, name, isFolder) => each.some((matches) => matches(path, name, isFolder))
}

/** A line of an ignore file. */
interface Rule {
  readonly isNegated: boolean
  /** `names` lead from the file's folder to the entry. */
  readonly matches: (names: ReadonlyArray<string>, isFolder: boolean) => boolean
}

const withoutSpaces = (line: string): string => {
  let end = line.length
  while (line[end - 1] === " ") end--
  let escapes = 0
  while (line[end - 1 - escapes] === "\\") escapes++
  return line.slice(0, end + (escapes % 2))
}

const ruleOf = (line: string): Rule | undefined => {
  const isNegated = line.startsWith("!")
  const whole = line.startsWith("#") ? "" : withoutSpaces(line.slice(isNegated ? 1 : 0))
  const foldersOnly = whole.endsWith("/")
  const body = foldersOnly ? whole.slice(0, -1) : whole
  const byPath = body.includes("/")
  const parts = body === "" ? undefined : partsOf(body.startsWith("/") ? body.slice(1) : body, false)
  if (parts === undefined) return undefined
  // At the end, `**` is what is in a folder, not the folder.
  const path: ReadonlyArray<Part | typeof any> = parts.at(-1) === any ? [...parts, [any]] : parts
  return {
    isNegated,
    matches: (names, isFolder) =>
      (isFolder || !foldersOnly) &&
      (byPath ? matchesAll(names, path, isName) : isName(parts[0]!, names[names.length - 1]!))
  }
}

/** The rules of an ignore file, as git reads them; each entry is judged by itself, without the folders above it. */
export class IgnoreRules {
  readonly #rules: ReadonlyArray<Rule>

  constructor(text: string) {
    this.#rules = text
      .replace(/^\ufeff/, "")
      .split("\n")
      .flatMap((line) => ruleOf(line.endsWith("\r") ? line.slice(0, -1) : line) ?? [])
  }

  get size(): number {
    return this.#rules.length
  }

  /** The last rule that matches decides. */
  test(names: ReadonlyArray<string>, isFolder: boolean): "ignored" | "included" | "none" {
    for (let i = this.#rules.length - 1; i >= 0; i--) {
      const { isNegated, matches } = this.#rules[i]!
      if (matches(names, isFolder)) return isNegated ? "included" : "ignored"
    }
    return "none"
  }
}
