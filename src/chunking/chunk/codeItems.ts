import type { CodeLines } from "./codeLines.ts"
import { closingBracket, definitionName, signatureLength } from "./definitions.ts"
import { closes } from "./lineUnits.ts"
import type { Family, Syntax } from "./syntax.ts"

/**
 * Lines `[from, to)` of a program that belong together; `name` if they are a definition, including comments above it.
 */
export interface Item {
  readonly from: number
  readonly to: number
  readonly name: string | undefined
  /** The first line of the definition itself. */
  readonly line: number
}

export interface Program {
  readonly text: string
  readonly lines: CodeLines
  readonly syntax: Syntax
}

export const isBlank = ({ end, start }: CodeLines, line: number): boolean => start[line] === end[line]

const label = /^(?:case\b[^:]*|[A-Za-z_][\w ]*):\s*$/
const conditional = /^#\s*(?:if|ifdef|ifndef|else|elif|endif|define|undef|pragma|region|endregion)\b/
const attribute = /^(?:#!?\[|\[[A-Z][\w.]*(?:\(|\])|\[assembly|template\s*<|\[\[)/
const statementEnd = /;\s*(?:--.*)?$/
const typeAlone = /^(?!return\b|else\b|do\b|try\b|break\b|continue\b|goto\b)[A-Za-z_][\w:<>,*&\s]*$/

/** Lines to read items from. */
export interface Region {
  readonly from: number
  readonly to: number
  /** Where the body begins; the lines before it are the head of a known definition. */
  readonly body: number
  /** No item's first line is indented deeper than this many columns. */
  readonly base: number
  /** Names of the enclosing definitions. */
  readonly path: ReadonlyArray<string>
}

/**
 * The items of a region, in order and without gaps: a definition with the comments and decorators above it, or a
 * paragraph of statements. The first item starts with the region, including its head.
 */
export const readItems = (program: Program, { base, body, from, path, to }: Region): Array<Item> => {
  const { lines, syntax, text } = program
  const items: Array<Item> = []
  let open: Omit<Item, "to"> = { from, name: undefined, line: from }
  /** Where the comments and decorators directly above begin. */
  let prefix: { readonly from: number; readonly afterBlank: boolean; readonly decorates: boolean } | undefined
  let afterBlank = false
  let ended = true

  const begin = (at: number, name: string | undefined, line: number) => {
    if (at > open.from) items.push({ ...open, to: at })
    open = { from: at, name, line }
  }
  for (let n = body; n < to; n++) {
    const start = lines.start[n] ?? 0
    const end = lines.end[n] ?? 0
    if (start === end) {
      if (!afterBlank && prefix !== undefined && !prefix.decorates) {
        if (prefix.afterBlank || open.name !== undefined) begin(prefix.from, undefined, prefix.from)
        prefix = undefined
      }
      afterBlank = true
      continue
    }
    const wasBlank = afterBlank
    afterBlank = false
    const line = text.slice(start, Math.min(end, start + signatureLength))
    const goesOn = syntax.name === "sql" && !ended
    if (!line.startsWith("--")) ended = statementEnd.test(line)
    if (lines.inside[n] === true || (lines.indent[n] ?? 0) > base || goesOn || belongsAbove(program, n, line)) continue
    const kind = prefixKind(program, n, line, to)
    if (kind !== undefined) {
      prefix ??= { from: n, afterBlank: wasBlank, decorates: false }
      if (kind === "decorator") prefix = { ...prefix, decorates: true }
      continue
    }
    // Parameters, and what follows them, may be on separate lines.
    const signature = line.includes("(") ? text.slice(start, start + signatureLength) : line
    const name = definitionName(signature, syntax.name, path.length > 0)
    if (name !== undefined || open.name !== undefined || (prefix?.afterBlank ?? wasBlank))
      begin(prefix?.from ?? n, name, n)
    prefix = undefined
  }
  items.push({ ...open, to })
  return items
}

/** A closing bracket, a lone opening one, a label, or a preprocessor line within a body. */
const belongsAbove = ({ lines, syntax, text }: Program, n: number, line: string): boolean =>
  closes(text, lines.start[n] ?? 0, lines.end[n] ?? 0) ||
  line === "{" ||
  line === "(" ||
  (syntax.name === "c" && conditional.test(line) && (lines.braces[n] ?? 0) > 0) ||
  (syntax.name === "c" && label.test(line))

/** Whether a line has only decorators or attributes, which may also precede their target on the same line. */
const decorates = (line: string, family: Family): boolean => {
  if (family === "css" || family === "config" || family === "yaml") return false
  if (!line.startsWith("@")) return attribute.test(line)
  if (family === "hash") return true
  let rest = line
  while (rest.startsWith("@")) {
    rest = rest.replace(/^@[\w$.]*\s*/, "")
    if (rest.startsWith("(")) {
      const close = closingBracket(rest, 0)
      if (close < 0) return true
      rest = rest.slice(close + 1).trimStart()
    }
  }
  return rest === ""
}

const prefixKind = (
  { lines, syntax, text }: Program,
  n: number,
  line: string,
  to: number
): "comment" | "decorator" | undefined => {
  if (decorates(line, syntax.name)) return "decorator"
  if (syntax.lineComments.some((mark) => line.startsWith(mark)) && !conditional.test(line)) return "comment"
  const block = syntax.blocks.find(([open, close]) => open !== close && line.startsWith(open))
  // A block comment that ends on this line may be followed by code.
  if (block !== undefined && (lines.inside[n + 1] === true || line.endsWith(block[1]))) return "comment"
  // If the type is on its own line, above the name.
  const next = n + 1 < to ? text.charAt(lines.start[n + 1] ?? 0) : ""
  if (syntax.name === "c" && typeAlone.test(line) && /[A-Za-z_*]/.test(next) && lines.indent[n + 1] === lines.indent[n])
    return "decorator"
  return undefined
}
