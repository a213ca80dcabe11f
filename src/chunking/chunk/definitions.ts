import type { CodeLines, Family, Syntax } from "./codeLines.ts"
import { closes } from "./lineUnits.ts"

/** Characters of a definition that are read to find its name: its parameters may be on separate lines. */
const signatureLength = 800

const modifiers =
  /^(?:(?:export|default|declare|public|private|protected|internal|fileprivate|static|final|abstract|sealed|non-sealed|open|data|partial|readonly|unsafe|async|inline|const(?=\s+(?:fn|unsafe|async|extern|enum|struct|class)\b)|constexpr|virtual|override|extern|pub(?:\([^()]*\))?|case|inner|annotation|value|actual|expect|typedef|suspend|operator|infix|tailrec|local|global|mut|ref|implicit|lazy|extern "C"|@[\w.]+(?:\([^()]*\))?)\s+)+/

/** Words that introduce a type or a namespace, and what may follow the name if the word is ambiguous. */
const typeWord =
  /^(class|interface|enum class|enum struct|enum|struct|trait|namespace|mod|protocol|defmodule|defprotocol|defimpl|module|type|object|record|union|message|service|extension|actor|package|contract|library|input|fragment|newtype)\s+([\p{L}_$"'](?:[\p{L}\p{N}_$."'-]|::)*)(.*)/su
const alwaysTypes = new Set(
  "class interface enum struct trait namespace mod protocol defmodule defprotocol defimpl".split(" ")
)
const afterType =
  /^\s*(?:<[^>\n]*>|\([^()\n]*\)|\[[^\]\n]*\])?\s*(?:[{=(:<]|$|\n|struct\b|interface\b|extends\b|implements\b|with\b|is\b|do\b|where\b|func\b|map\b|\[)/

const functionWord =
  /^(function\*?|func|fn|defp|defmacrop?|def|sub|fun|proc|procedure|macro_rules!|macro|task|rpc|method|constructor|init|deinit)(?![\p{L}\p{N}_$])\s*(?:<[^<>]*>\s*)?([\p{L}_$][\p{L}\p{N}_$.:?!]*)?\s*(.?)/u
const goMethod = /^func\s*\(\s*(?:\w+\s+)?\*?\s*(\w+)[^()]*\)\s*(\w+)/
const implementation = /^impl\b\s*([^{\n]*)/

const binding = /^(?:const|let|var|val)\s+([\p{L}_$][\p{L}\p{N}_$]*)\s*(?::[^=\n]*)?=\s*([^\n]*)/u
/** A type that spans several lines before the value. */
const typedBinding = /^(?:const|let|var|val)\s+([\p{L}_$][\p{L}\p{N}_$]*)\s*:[^=\n]*[([{<|]\s*(?:\n|$)/u
const assignment = /^((?:[\p{L}_$][\p{L}\p{N}_$]*\.)*[\p{L}_$][\p{L}\p{N}_$]*)\s*(?::[^=\n]*)?(?:=|<-)\s*([^\n]*)/u
const functionValue =
  /^(?:async\b\s*)?(?:function\b|class\b|\([^\n]*=>|\([^()\n]*$|[\p{L}_$][\p{L}\p{N}_$]*\s*=>|lambda\b|<)/u
const goesOn = /(?:[([{,`<|]|=>)\s*$/

const test =
  /^(?:describe|it|test|context|suite|specify|scenario|feature|bench)(?:\.\w+)*\s*\(\s*(["'`])([^\n]{1,120}?)\1/

const sqlObject =
  /^create\s+(?:or\s+replace\s+)?(?:(?:temp|temporary|unique|materialized|virtual|external|global|unlogged|recursive|definer\s*=\s*\S+)\s+)*(table|view|function|procedure|index|trigger|type|schema|sequence|domain|extension|role|policy|package|database)\s+(?:if\s+not\s+exists\s+|concurrently\s+)*([\w.$"`[\]@-]+)/i

/** Languages with a unique syntax of definitions. Each pattern captures the parts of the name. */
const own: Partial<Record<Family, RegExp>> = {
  lisp: /^\(((?:cl-)?(?:def[\w*!-]*|ns))\s+\(?([^\s()[\]]+)/,
  haskell: /^([\p{Ll}_][\p{L}\p{N}_']*)\s*::/u,
  ml: /^let\s+(?:rec\s+)?([\p{L}_][\p{L}\p{N}_']*)/u,
  config: /^(\[\[?[^\]\n]+\]\]?)\s*(?:[#;][^\n]*)?(?:\n|$)/,
  elixir: /^@((?:macro)?callback|opaque|typep?)\s+([a-z_]\w*[?!]?)/,
  yaml: /^((?:[\w./-]|"[^"\n]*"|'[^'\n]*')+):(?:\s|$)/,
  make: /^([\w./%$(){}-]+(?:[ \t]+[\w./%$(){}-]+)*)[ \t]*::?(?![=:])/,
  css: /^([^{};\n]{1,200}?)\s*(?:\{|,\s*\n)/,
  markup: /^<((?:script|template|style|section|article|main|header|footer|nav|body|head)\b)/
}

const resource = /^(resource|data|module|variable|output|provider)\s+("[^"\n]*"(?:\s+"[^"\n]*")?)\s*\{/

/**
 * Name of the definition that begins with `text` (its first `signatureLength` characters, without leading white space);
 * undefined if there is none. Types keep their keyword: `class Store`, `impl Store for Memory`; functions do not.
 * `member`: whether it is inside another definition, where a bare `name(…) {` is a method.
 */
export const definitionName = (text: string, family: Family, member: boolean): string | undefined => {
  const particular = own[family]?.exec(text)
  if (particular !== null && particular !== undefined) return particular.slice(1).join(" ").trim()
  if (family === "config" || family === "yaml" || family === "make" || family === "css" || family === "lisp")
    return undefined
  if (family === "sql" || family === "lua") {
    const [, kind, name] = sqlObject.exec(text) ?? []
    if (kind !== undefined && name !== undefined) return `${kind.toLowerCase()} ${name}`
  }
  const plain = text.replace(modifiers, "")
  return (
    typeName(plain) ??
    functionName(plain, text) ??
    bindingName(plain) ??
    test.exec(plain)?.[2] ??
    callableName(text, member)
  )
}

const typeName = (text: string): string | undefined => {
  const impl = implementation.exec(text)?.[1]
  if (impl !== undefined)
    return `impl ${afterGenerics(impl)
      .replace(/\bwhere\b.*/, "")
      .trim()}`
  const block = resource.exec(text)
  if (block !== null) return `${block[1]} ${(block[2] ?? "").replaceAll('"', "").replace(/\s+/, " ")}`
  const [, word, name, rest = ""] = typeWord.exec(text) ?? []
  if (word === undefined || name === undefined) return undefined
  const first = word.split(" ")[0] ?? word
  if (!alwaysTypes.has(first) && !afterType.test(rest)) return undefined
  // A package clause without a body names the whole file's package.
  if (word === "package" && !/^\s*(?:\{|is\b)|^\s+\w+\s+is\b/.test(rest)) return undefined
  // A forward declaration, or a variable of the type.
  if (/^\s*;|^\s+\*?\w+\s*[=;[]/.test(rest)) return undefined
  // A macro may precede the name.
  return `${first} ${/^\s+([A-Z]\w*)\s*(?:final\s*)?[:{]/.exec(rest)?.[1] ?? name}`
}

/** The text after the type parameters in angle brackets with which `text` may begin. */
const afterGenerics = (text: string): string => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    if (text.charAt(at) === "<") depth++
    else if (text.charAt(at) === ">" && text.charAt(at - 1) !== "-") depth--
    if (depth === 0) return at === 0 ? text : text.slice(at + 1)
  }
  return text
}

const functionName = (text: string, full: string): string | undefined => {
  const method = goMethod.exec(text)
  if (method !== null) return `${method[1]}.${method[2]}`
  const [, word, name, next = ""] = functionWord.exec(text) ?? []
  if (word === undefined) return undefined
  if (name === undefined)
    return word === "constructor" || word === "init" || word === "deinit"
      ? next === "(" || next === "{"
        ? word
        : undefined
      : full.startsWith("export default")
        ? "default"
        : undefined
  const certain = word.startsWith("function") || word === "func" || word === "fn" || word.startsWith("def")
  return certain || "({:".includes(next) ? name.replace(/[:.]+$/, "") : undefined
}

const bindingName = (text: string): string | undefined => {
  const bound = binding.exec(text)
  if (bound !== null) {
    const [, name, value = ""] = bound
    return functionValue.test(value) || goesOn.test(value) || value.trim() === "" ? name : undefined
  }
  const typed = typedBinding.exec(text)
  if (typed !== null) return typed[1]
  const [, name, value = ""] = assignment.exec(text) ?? []
  return functionValue.test(value) && !value.startsWith("<")
    ? name?.replace(/^(?:module\.)?exports\.(?=.)/, "")
    : undefined
}

const notNames = new Set(
  (
    "if for foreach while until unless switch match case catch return throw new await yield typeof sizeof delete assert " +
    "using lock synchronized with when super this do else elif elsif try import require raise print echo and or not in is " +
    "static_assert defined select go defer except finally function"
  ).split(" ")
)

const calledName = /[~#]?[\p{L}_$][\p{L}\p{N}_$]*(?:::~?[\p{L}_]\w*)*$/u
const typeWords = /^[\p{L}\p{N}_\s:<>,*&[\]~?.@#"]*$/u
const body =
  /^\s*(?:(?:const|noexcept|override|final|async|mutable)\b\s*(?:\([^()]*\)\s*)?)*(?:(?:throws\b|where\b|->|:)[^{;=]*)?(?:\{|=>)/

/** C's syntax: a type, a name, parameters in brackets, then a body. */
const callableName = (text: string, member: boolean): string | undefined => {
  const open = text.indexOf("(")
  if (open <= 0 || open > 200 || text.lastIndexOf("\n", open) >= 0) return undefined
  const words = text.slice(0, open).replace(/\s*(?:<[^<>()]*>)?\s*$/, "")
  const name = calledName.exec(words)?.[0]
  if (name === undefined || notNames.has(name)) return undefined
  const before = words.slice(0, words.length - name.length)
  if (!typeWords.test(before) || notNames.has(/^\w*/.exec(before)?.[0] ?? "")) return undefined
  if (before !== "" && !/[\s*&>]$/.test(before)) return undefined
  const close = closingBracket(text, open)
  if (close < 0 || !body.test(text.slice(close + 1, close + 200))) return undefined
  const braced = /^\s*\{/.test(text.slice(close + 1, close + 40))
  return before.trim() !== "" || member || braced || name.includes("::") ? name : undefined
}

const closers: Readonly<Record<string, string>> = { "(": ")", "[": "]", "<": ">" }

/** The bracket that closes the one at `open`; -1 if `text` ends before. */
const closingBracket = (text: string, open: number): number => {
  const opener = text.charAt(open)
  let depth = 0
  for (let at = open; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === opener) depth++
    else if (char === closers[opener] && --depth === 0) return at
  }
  return -1
}

/** Lines `[from, to)` of a program that belong together; `name` if they are a definition, with the comments above. */
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
/** The name of a decorator or an attribute, as far as its arguments in brackets. */
const attribute =
  /^(?:@[\w$.:]*\s*|#!?(?=\[)|(?=\[(?:\[|assembly|[a-z]{1,20}:\s?[A-Z]|[A-Z][\w.]*[\](,]))|template\s*(?=<))/
/** Where `#[` begins a comment. */
const commented: ReadonlySet<Family> = new Set(["python", "elixir", "hash", "make"])
/** An attribute, and no method whose name is computed: `[Symbol.iterator]()`. */
const odd = /^(?:#|template|\[(?![\w.]+\]\())/
/** What Elixir says of the definition below. */
const elixirAttribute = /^@(?:(?:type)?doc|spec|impl|deprecated|derive|dialyzer|tag)\b/
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
      if (lines.inside[n] === true) continue
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
    const name = definitionName(undecorated(signature, syntax.name), syntax.name, path.length > 0)
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

/** A definition without the decorators and attributes that precede it; nothing if they do not end. */
const undecorated = (text: string, family: Family): string => {
  if (family === "css" || family === "config" || family === "yaml" || own[family]?.test(text) === true) return text
  if (family === "elixir" && elixirAttribute.test(text)) return ""
  if (commented.has(family) && text.startsWith("#")) return text
  let rest = text
  for (let found = attribute.exec(rest); found !== null; found = attribute.exec(rest)) {
    rest = rest.slice(found[0].length)
    for (const open of Object.keys(closers).reverse()) {
      if (!rest.startsWith(open)) continue
      const close = closingBracket(rest, 0)
      rest = close < 0 ? "" : rest.slice(close + 1).trimStart()
    }
  }
  return rest
}

const prefixKind = (
  { lines, syntax, text }: Program,
  n: number,
  line: string,
  to: number
): "comment" | "decorator" | undefined => {
  const rest = undecorated(line, syntax.name)
  const isComment = syntax.lineComments.some((mark) => rest.startsWith(mark))
  // Brackets within a text or a comparison may end an attribute too early.
  const isCut = odd.test(line) && rest !== line && definitionName(rest, syntax.name, true) === undefined
  if (rest === "" || isCut) return "decorator"
  if (isComment && !conditional.test(rest)) return rest === line ? "comment" : "decorator"
  // Julia's documentation is a string above its definition.
  if (syntax.name === "elixir" && line.startsWith('"')) return "comment"
  const block = syntax.blocks.find(([open, close]) => open !== close && line.startsWith(open))
  // A block comment that ends on this line may be followed by code.
  if (block !== undefined && (lines.inside[n + 1] === true || line.endsWith(block[1]))) return "comment"
  // If the type is on its own line, above the name.
  const next = n + 1 < to ? text.charAt(lines.start[n + 1] ?? 0) : ""
  if (syntax.name === "c" && typeAlone.test(line) && /[A-Za-z_*]/.test(next) && lines.indent[n + 1] === lines.indent[n])
    return "decorator"
  return undefined
}
