import { parseFragment } from "parse5"
import type { Extracted } from "./Extracted.ts"
import { escaped } from "./docbook.ts"
import { html } from "./html.ts"
import { textOf } from "./html/inline.ts"
import { pairs } from "./raised.ts"

/*
 * Texinfo: its commands get the names of HTML's elements that mean the same, on the same lines, and the page is read as
 * HTML; the file's own macros are expanded.
 */

const each = (html: string, names: string) => names.split(" ").map((name) => [name, html] as const)

/** What stands between a command and its end. */
const blocks = new Map([
  ...each("pre", "example smallexample lisp smalllisp display smalldisplay format smallformat verbatim"),
  ...each(
    "template",
    "menu detailmenu direntry copying ignore tex iftex latex html ifhtml xml ifxml docbook ifdocbook"
  ),
  ...each("dl", "table ftable vtable"),
  ...each("table", "multitable"),
  ...each("ul", "itemize"),
  ...each("ol", "enumerate"),
  ...each("blockquote", "quotation")
])
const inline = new Map([
  ...each("code", "code samp command option file env verb"),
  ...each("kbd", "kbd key"),
  ...each("template", "anchor image")
])
const characters = new Map(
  pairs(
    "dots … enddots … result ⇒ print ⊣ error error→ expansion ↦ equiv ≡ point ⋆ minus − bullet • copyright © TeX TeX LaTeX LaTeX " +
      "comma , atchar @ lbracechar { rbracechar } backslashchar \\ geq ≥ leq ≤ euro € AA Å aa å AE Æ ae æ L Ł l ł O Ø o ø ss ß tab <td>"
  )
)
const top = /^(?:part|top|chapter|unnumbered|appendix|centerchap|majorheading|chapheading)$/
const section = /^(?:unnumbered|appendix)?((?:sub){0,2})(?:sec|section|heading)$/
const definition = /^def(?!code|index|info)[a-z]{1,12}$/
/** Commands whose line is text. */
const spoken = /^@(?:noindent|indent|center|exdent)\b[ \t]*/

/** A command with the bracket after it, a sign, or a bracket. */
const marks = /@([A-Za-z]+)(\{)?|@([^])|[{}]/g
/** A line that is a command; those before a bracket are part of a text. */
const command = /^[ \t]*@([A-Za-z]+)(?![A-Za-z{])[ \t]*([^]*)$/
const comment = /(^|[^@])@c(?:omment)?(?:[ \t][^]*)?$/
const macroBegin = /^@r?macro[ \t]+([A-Za-z][\w-]*)[ \t]*(?:\{([^{}]*)\})?/
const macroEnd = /^@end r?macro\b/
const calls = /@([A-Za-z][\w-]{0,60})(?:\{((?:[^{}]|\{[^{}]{0,200}\}){0,200})\})?/g

const references = /^(?:x|px)?ref$|^(?:uref|url|email|footnote)$/
/** Deeper nested brackets are read as none. */
const deepest = 50

/** What a command that refers to something shows of its arguments, with their line ends. */
const shown = (name: string, words: string): string => {
  if (name === "footnote") return ` (${words.trim()})`
  const [first = "", second = "", third = ""] = words.split(",").map((part) => part.replace(/\s+/g, " ").trim())
  const before = name === "xref" ? "See " : name === "pxref" ? "see " : ""
  return words.replace(/[^\n]+/g, "") + before + (third || second || first)
}

/** The lines of the file, each with the file's own macros replaced by what they stand for: a few times the file at most. */
const expanded = (lines: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const macros = new Map<string, { readonly parameters: ReadonlyArray<string>; readonly body: string }>()
  const lastEnd = lines.findLastIndex((line) => macroEnd.test(line))
  let budget = 100_000 + 4 * lines.reduce((sum, { length }) => sum + length, 0)
  let defined: { name: string; parameters: ReadonlyArray<string>; from: number } | undefined
  const said = (text: string, depth: number): ReadonlyArray<string> => {
    const next = text.replace(calls, (whole, name: string, given = "") => {
      const macro = depth < 6 && budget > 0 ? macros.get(name) : undefined
      if (macro === undefined) return whole
      const values = macro.parameters.length > 1 ? given.split(",") : [given]
      const body = macro.body.replace(
        /\\([\w-]+)\\/g,
        (_, name) => values[macro.parameters.indexOf(name)]?.trim() ?? ""
      )
      budget -= body.length
      return body
    })
    return next === text ? [text] : next.split("\n").flatMap((line) => said(line, depth + 1))
  }
  return lines.map((line, at) => {
    if (defined !== undefined) {
      if (!macroEnd.test(line)) return []
      macros.set(defined.name, { ...defined, body: lines.slice(defined.from, at).join("\n") })
      defined = undefined
      return []
    }
    const [, name, parameters = ""] = (at < lastEnd && macroBegin.exec(line)) || []
    if (name === undefined) return said(line, 0)
    defined = { name, parameters: parameters.split(",").map((each) => each.trim()), from: at + 1 }
    return []
  })
}

/** Texinfo as text: headings, options and functions, lists, tables and examples. */
export const texinfo = (source: string): Extracted => {
  const lines = expanded(source.split(/\r\n|\n|\r/))
  const lastEnds = new Map<string, number>()
  for (const [at, said] of lines.entries())
    for (const text of said) if (text.startsWith("@end ")) lastEnds.set(text.slice(5).trim(), at)
  let open: Array<{ readonly name: string; readonly html: string; readonly format?: string | undefined }> = []
  /** Commands of the paragraph that are open, with what was before them. */
  let within: Array<readonly [name: string, before: string]> = []
  /** Whether a term goes on. */
  let isTerm = false
  /** Line ends that would part what belongs together: those within a term, and of commands within code. */
  let held = ""
  let isHeld = false
  let title = ""
  let page = ""
  let out = ""

  const say = (text: string): void => {
    let at = 0
    for (const { 0: whole, 1: name = "", 2: bracket, 3: sign, index } of text.matchAll(marks)) {
      out += escaped(text.slice(at, index))
      at = index + whole.length
      if (bracket !== undefined || whole === "{") {
        if (within.length === deepest) continue
        within.push([name, out])
        out = ""
      } else if (whole === "}") {
        const [name, before] = within.pop() ?? ["", ""]
        const html = inline.get(name)
        const words = references.test(name) ? shown(name, out) : (characters.get(name) ?? "") + out
        out = before + (html === undefined ? words : `<${html}>${words}</${html}>`)
      } else if (sign !== undefined) out += /[@{}.!?&\\]/.test(sign) ? escaped(sign) : /[\s*/]/.test(sign) ? " " : ""
      else out += characters.get(name) ?? ""
    }
    out += escaped(text.slice(at))
  }
  /** Ends the paragraph, whatever is open in it. */
  const tag = (text: string): void => {
    page += within.reduceRight((out, [, before]) => before + out, out) + text
    within = []
    out = ""
  }
  const body = (): void => {
    if (!isTerm) return
    isTerm = false
    tag(`<dd>${held}`)
    held = ""
  }
  const begin = (name: string, html: string, format?: string): void => {
    body()
    if (open.length < 100) open.push({ name, html, format })
    tag(`<${html}>`)
  }
  /** Ends the blocks from this one on; none if it is -1. */
  const end = (place: number): void => {
    if (place >= 0) for (const { html } of open.splice(place).reverse()) tag(`</${html}>`)
    isTerm = false
  }
  const term = (format: string | undefined, words: string, isAlso: boolean): void => {
    const isCode = inline.get(format ?? "") === "code"
    if (isAlso && isTerm) say(", ")
    else tag(isCode || format === undefined ? '<dt id="">' : "<dt>")
    say(isCode ? `@code{${words}}` : words)
    isTerm = true
  }

  const line = (whole: string, at: number): void => {
    const block = open.at(-1)
    const isKept = block?.name === "verbatim"
    const text = isKept ? whole : whole.replace(comment, "$1").replace(spoken, "")
    const [, name, rest = ""] = command.exec(text) ?? []
    const isUnread = block?.html === "template"
    if (name === "end" && ((!isKept && !isUnread) || rest.trim() === block.name))
      return end(open.findLastIndex(({ name }) => name === rest.trim()))
    if (isKept) return void (out += escaped(whole))
    if (isUnread) return
    if (block?.html === "pre" && name !== undefined && !characters.has(name)) return void (isHeld = true)
    if (text.trim() === "" && block?.html !== "pre") return whole.trim() === "" && !isTerm ? tag("<p>") : undefined
    const level = section.exec(name ?? "")?.[1]
    const html = blocks.get(name ?? "")
    if (name === undefined || characters.has(name)) {
      if (text.startsWith("\\input")) return
      if (!/^@anchor\{[^{}]*\}$/.test(text)) body()
      say(text)
    } else if (level !== undefined || top.test(name)) {
      end(0)
      const heading = `h${level === undefined ? 1 : 2 + level.length / 3}`
      tag(`<${heading}>`)
      say(rest)
      tag(`</${heading}>`)
    } else if (name === "settitle" || name === "title") title ||= rest
    else if (html !== undefined && (lastEnds.get(name) ?? 0) > at) begin(name, html, rest.trim().slice(1))
    else if (definition.test(name)) {
      if (!name.endsWith("x")) begin(name, "dl")
      term(undefined, rest, name.endsWith("x"))
    } else if (/^(?:head)?itemx?$/.test(name)) {
      if (block?.html === "dl") return term(block.format, rest, name === "itemx")
      tag(block?.html === "table" ? "<tr><td>" : "<li>")
      say(rest)
    }
  }
  for (const [at, said] of lines.entries()) {
    if (said[0]?.startsWith("@bye")) break
    isHeld = false
    for (const text of said) {
      line(text, at)
      if (said.length > 1 && !isTerm) out += " "
    }
    if (isTerm || isHeld) held += "\n"
    else if (open.at(-1)?.html === "pre") out += "\n"
    else {
      out += `${held}\n`
      held = ""
    }
  }
  tag("")
  const read = html(page)
  out = ""
  say(title)
  return title === "" ? read : { ...read, title: textOf(parseFragment(out)) }
}
