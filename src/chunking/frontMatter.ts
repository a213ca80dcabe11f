/** A document's front matter: up to `end`, which is after the line end after the second fence. */
export interface FrontMatter {
  readonly kind: "yaml" | "toml"
  readonly end: number
  /** The text between the fences, unparsed. */
  readonly body: string
  /** The same for a parser: YAML's values that go on at the start of a line are indented. */
  readonly indented: string
}

const opening = /^(---|\+\+\+)[ \t]*(?:\r\n|\n|\r)/
const closing = {
  yaml: /^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|(?![^]))/gm,
  toml: /^\+\+\+[ \t]*(?:\r\n|\n|\r|(?![^]))/gm
}

const blankOrComment = /^\s*(?:#|$)/
const yamlEntry = /^(?:\{|(?:"[^"]*"|'[^']*'|[^\s#:'"[\]{}&*!|>%@`,-][^]*?):(?:[ \t]|$))/
const yamlInner = /^(?:\s|- |-$|[\]}])/
const tomlEntry = /^[ \t]*(?:\[|["'\w][^]*?=)/

/** A value in quotes or brackets, which may end on a later line. */
const opens = /(?:^[ \t]*-|:)[ \t]+(["'[{])(.*)/
const closes = { '"': '"', "'": "'", "[": "]", "{": "}" }
const key = /^[\w-]+:(?:[ \t]|$)/
/** Most lines on which such a value goes on. */
const mostLines = 20

/** Indents what continues a value at the start of a line, as YAML asks for; PyYAML, Hugo and Jekyll read it so, too. */
const indent = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const all = [...lines]
  for (let at = 0; at < all.length; at++) {
    const [, open, rest] = opens.exec(all[at]!) ?? []
    if (open === undefined || rest === undefined) continue
    const sign = closes[open as keyof typeof closes]
    const bare = (line: string) => line.replace(/\\.|''|[ \t]#.*/g, "").trimEnd()
    const ends = (line: string) => bare(line).endsWith(sign)
    const next = bare(rest).includes(sign) ? [] : all.slice(at + 1, at + 1 + mostLines)
    const last = next.findIndex((line) => key.test(line) || ends(line))
    if (last < 0 || key.test(next[last]!)) continue
    for (const to = at + 1 + last; at < to;) all[++at] = all[at]!.replace(/^(?=\S)/, "        ")
  }
  return all
}

// Two thematic breaks with prose between them only differ from front matter in that the prose is not keys and values.
const isYaml = (lines: ReadonlyArray<string>): boolean => {
  const [first, ...rest] = lines.filter((line) => !blankOrComment.test(line))
  return first === undefined
    ? lines.every((line) => line.trim() === "")
    : yamlEntry.test(first) && rest.every((line) => yamlEntry.test(line) || yamlInner.test(line))
}

const isToml = (lines: ReadonlyArray<string>): boolean => {
  const first = lines.find((line) => !blankOrComment.test(line))
  return first === undefined || tomlEntry.test(first)
}

/**
 * The front matter at the start of a text: `---` on the first line up to a line `---` or `...` (YAML), or `+++` up to
 * `+++` (TOML). Fences around anything but keys are thematic breaks and part of the text, as is a fence that never
 * closes.
 */
export const frontMatterSpan = (content: string): FrontMatter | undefined => {
  const open = opening.exec(content)
  if (open === null) return undefined
  const kind = open[1] === "---" ? "yaml" : "toml"
  const fence = new RegExp(closing[kind])
  fence.lastIndex = open[0].length
  const close = fence.exec(content)
  if (close === null) return undefined
  const body = content.slice(open[0].length, close.index)
  const lines = body.split(/\r\n|\n|\r/)
  const read = kind === "yaml" && !isYaml(lines) ? indent(lines) : lines
  if (!(kind === "yaml" ? read === lines || isYaml(read) : isToml(lines))) return undefined
  return { kind, end: close.index + close[0].length, body, indented: read.join("\n") }
}
