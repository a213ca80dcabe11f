import { LineWalker, skipSpace, trimEnd } from "../../entries/scanning.ts"
import { columns } from "./markdown.ts"
import type { Measure } from "./unit.ts"

/** The syntax needed to find a language's definitions: how comments and long strings are written. */
export interface Syntax {
  readonly name: Family
  readonly lineComments: ReadonlyArray<string>
  /** Delimiters of comments and strings that may span lines. */
  readonly blocks: ReadonlyArray<readonly [open: string, close: string]>
  readonly hereDocument?: RegExp
  /** Whether `/…/` may be a regular expression. */
  readonly regex?: boolean
}

const comment = ["/*", "*/"] as const
const quotes = [
  ['"""', '"""'],
  ["'''", "'''"]
] as const
const shellDocument = /<<[-~]? ?(["'`]?)([A-Z_][A-Z0-9_]*)\1/y

const syntaxes = {
  c: { lineComments: ["//"], blocks: [comment] },
  jvm: { lineComments: ["//"], blocks: [comment, ['"""', '"""']] },
  js: { lineComments: ["//"], blocks: [comment, ["`", "`"]], regex: true },
  go: { lineComments: ["//"], blocks: [comment, ["`", "`"]] },
  python: { lineComments: ["#"], blocks: quotes },
  elixir: { lineComments: ["#"], blocks: quotes },
  hash: { lineComments: ["#"], blocks: [["<#", "#>"]], hereDocument: shellDocument },
  php: { lineComments: ["//", "#"], blocks: [comment], hereDocument: /<<<\s*(["']?)([A-Za-z_]\w*)\1/y },
  sql: { lineComments: ["--"], blocks: [comment, ["$$", "$$"]] },
  lua: {
    lineComments: ["--"],
    blocks: [
      ["--[[", "]]"],
      ["[[", "]]"]
    ]
  },
  haskell: { lineComments: ["--"], blocks: [["{-", "-}"]] },
  lisp: { lineComments: [";"], blocks: [["#|", "|#"]] },
  ml: { lineComments: [], blocks: [["(*", "*)"]] },
  markup: { lineComments: [], blocks: [["<!--", "-->"]] },
  css: { lineComments: ["//"], blocks: [comment] },
  config: { lineComments: ["#", ";"], blocks: [['"""', '"""']] },
  yaml: { lineComments: ["#"], blocks: [] },
  make: { lineComments: ["#"], blocks: [] }
} satisfies Readonly<Record<string, Omit<Syntax, "name">>>

export type Family = keyof typeof syntaxes

const languages: Readonly<Record<Family, string>> = {
  c: "c h cc cpp cxx hpp hh hxx m mm cs rs zig d proto thrift glsl hlsl wgsl cu v sv graphql gql tf hcl sol c++ csharp rust",
  jvm: "java kt kts scala sc swift groovy gradle dart kotlin",
  js: "js jsx mjs cjs ts tsx mts cts javascript typescript",
  go: "go golang",
  python: "py pyi pyx pyw gd bzl star python",
  hash: "sh bash zsh fish ksh rb rake pl pm r ps1 psm1 tcl nim cr awk nix ruby perl shell powershell cmake",
  elixir: "ex exs jl elixir julia",
  php: "php phtml",
  sql: "sql psql mysql ada adb ads vhd vhdl",
  lua: "lua luau",
  haskell: "hs lhs elm purs haskell",
  lisp: "clj cljs cljc edn lisp lsp el scm ss rkt asm s clojure",
  ml: "ml mli fs fsi fsx pas sml ocaml pascal",
  markup: "html htm xml xhtml svg vue svelte xsl xsd",
  css: "css scss less sass",
  config: "toml ini cfg conf properties env editorconfig",
  yaml: "yaml yml",
  make: "makefile mk mak gnumakefile"
}

const familyOf = new Map(
  Object.entries(languages).flatMap(([family, names]) =>
    names.split(" ").map((name) => [name, family as Family] as const)
  )
)

/** A file's extension or a language's name, in any case; an unknown one is read like C and its relatives. */
export const syntaxOf = (language: string | undefined): Syntax => {
  const name = familyOf.get((language ?? "").toLowerCase().replace(/^\./, "")) ?? "c"
  return { name, ...syntaxes[name] }
}

/** The lines of a program, counted from 0, with what is known of each. */
export interface CodeLines {
  readonly length: number
  /** First character that is not white space. */
  readonly start: ReadonlyArray<number>
  /** After the last such character; equal to `start` for a blank line. */
  readonly end: ReadonlyArray<number>
  /** Columns before `start`. */
  readonly indent: ReadonlyArray<number>
  /** Tokens of all preceding lines; one entry more than there are lines. */
  readonly tokens: ReadonlyArray<number>
  /** Whether it begins within a comment or a string. */
  readonly inside: ReadonlyArray<boolean>
  /** Curly brackets open where it begins; one that is closed at a line's very start is the outermost. */
  readonly braces: ReadonlyArray<number>
}

export const readLines = (m: Measure, syntax: Syntax): CodeLines => {
  const start: Array<number> = []
  const end: Array<number> = []
  const indent: Array<number> = []
  const tokens: Array<number> = [0]
  let sum = 0
  const line = new LineWalker(m.text, 0)
  while (line.next()) {
    const from = skipSpace(m.text, line.start, line.end)
    const to = trimEnd(m.text, from, line.end)
    start.push(from)
    end.push(to)
    indent.push(columns(m.text, line.start, from))
    // A line too long for a passage is counted in pieces.
    sum += from === to ? 0 : to - from > m.width ? m.size + 1 : m.count(from, to)
    tokens.push(sum)
  }
  return { length: start.length, start, end, indent, tokens, ...readBrackets(m.text, start, end, syntax) }
}

const isQuote = (code: number) => code === 34 || code === 39

/** A block that is never closed is a misreading, such as a quote in a pattern: all is read again without its kind. */
const readBrackets = (
  text: string,
  starts: ReadonlyArray<number>,
  ends: ReadonlyArray<number>,
  syntax: Syntax
): Pick<CodeLines, "inside" | "braces"> => {
  const inside: Array<boolean> = []
  const braces: Array<number> = []
  const special = opening(syntax)
  let depth = 0
  let unclosed = 0
  /** Where the currently open block ends. */
  let until = 0
  for (let n = 0; n < starts.length; n++) {
    const start = starts[n] ?? 0
    const end = ends[n] ?? 0
    inside.push(start < until)
    braces.push(depth)
    if (start >= until && text.charCodeAt(start) === 125 && isLineBreak(text.charCodeAt(start - 1))) depth = 1
    for (let at = Math.max(start, until); at < end; at++) {
      const code = text.charCodeAt(at)
      if (code > 127 || special[code] === 0) continue
      if (code === 123) depth++
      else if (code === 125) depth = Math.max(0, depth - 1)
      const block = syntax.blocks.find(([open]) => open.charCodeAt(0) === code && text.startsWith(open, at))
      if (block !== undefined) {
        const close = closing(text, block[1], at + block[0].length)
        if (close < 0) {
          const blocks = syntax.blocks.filter((other) => other !== block)
          return readBrackets(text, starts, ends, { ...syntax, blocks })
        }
        until = close
        at = close - 1
        continue
      }
      if (syntax.lineComments.some((mark) => mark.charCodeAt(0) === code && text.startsWith(mark, at))) break
      if (isQuote(code) || (code === 47 && syntax.regex === true && mayBePattern(text, start, at)))
        at = stringEnd(text, at, end, code)
      else if (code === 60 && syntax.hereDocument !== undefined && unclosed < shifts) {
        const close = hereDocumentEnd(text, syntax.hereDocument, at, end)
        if (close === -1) unclosed++
        // The rest of the line is code too, but nothing in it matters.
        if (close > 0) {
          until = close
          break
        }
      }
    }
  }
  return { inside, braces }
}

/** 1 for each ASCII character that may start a comment, a string or a bracket. */
const opening = ({ blocks, lineComments }: Syntax): Uint8Array => {
  const special = new Uint8Array(128)
  for (const char of ["{", "}", '"', "'", "/", "<", ...lineComments, ...blocks.map(([open]) => open)])
    special[char.charCodeAt(0)] = 1
  return special
}

const isLineBreak = (code: number) => code === 10 || code === 13

const closing = (text: string, close: string, from: number): number => {
  let at = text.indexOf(close, from)
  if (close === "`") while (at > 0 && isEscaped(text, at, from)) at = text.indexOf(close, at + 1)
  return at < 0 ? -1 : at + close.length
}

const isEscaped = (text: string, at: number, from: number): boolean => {
  let back = at
  while (back > from && text.charCodeAt(back - 1) === 92) back--
  return (at - back) % 2 === 1
}

/** The closing quote on the same line; `at` itself if there is none (an apostrophe). */
const stringEnd = (text: string, at: number, end: number, quote: number): number => {
  for (let i = at + 1; i < end; i++) {
    const code = text.charCodeAt(i)
    if (code === 92) i++
    else if (code === quote) return i
  }
  return at
}

/** After an operand, a slash means division. */
const mayBePattern = (text: string, start: number, at: number): boolean => {
  const before = trimEnd(text, start, at)
  return before === start || "(=,:[!&|?{};+".includes(text.charAt(before - 1)) || text.endsWith("return", before)
}

/** Here-documents without an end, after which `<<` counts as a shift. */
const shifts = 100

/** Characters searched for the end of a here-document. */
const longestDocument = 20_000

/** 0 if none begins, -1 if one does not end. */
const hereDocumentEnd = (text: string, opens: RegExp, at: number, end: number): number => {
  opens.lastIndex = at
  const word = opens.exec(text)?.[2]
  if (word === undefined) return 0
  const found = new RegExp(`[\\n\\r][ \\t]*${word}\\b`).exec(text.slice(end, end + longestDocument))
  return found === null ? -1 : end + found.index + found[0].length
}
