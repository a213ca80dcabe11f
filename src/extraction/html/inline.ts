import type { DefaultTreeAdapterTypes as Tree } from "parse5"
import { lineMark, oneLine } from "../MarkdownWriter.ts"
import { grouped, lowered, raised, unbroken } from "../raised.ts"

type Node = Tree.ChildNode
export type Element = Tree.Element

export const isElement = (node: Tree.Node): node is Element => "tagName" in node
export const isText = (node: Tree.Node): node is Tree.TextNode => node.nodeName === "#text"

export const attribute = (element: Element, name: string): string | undefined =>
  element.attrs.find((attr) => attr.name === name)?.value

const breaksIn = (text: string): number => text.split("\n").length - 1

/** The line of an element's start tag, or of a text's first word, from 1. */
export const lineOf = (node: Node): number | undefined => {
  const location = node.sourceCodeLocation
  if (location == null) return undefined
  return isText(node) ? location.endLine - breaksIn(node.value.trimStart()) : location.startLine
}

/** The text of a node with its runs of white space replaced; `at` is the line of the file on which a run ends. */
const withSpaces = (node: Tree.TextNode, replace: (run: string, at: number | undefined) => string): string => {
  const { value } = node
  const end = node.sourceCodeLocation?.endLine
  // Counted from the end: the parser drops a line break that follows <pre>.
  let left = end === undefined ? 0 : breaksIn(value)
  return value.replace(/\s+/g, (run) => {
    left -= end === undefined ? 0 : breaksIn(run)
    return replace(run, end === undefined || !run.includes("\n") ? undefined : end - left)
  })
}

/** Every element below, in document order, without recursion: foreign markup may be nested without limit. */
export function* descendants(root: Tree.ParentNode): Generator<Element> {
  const open: Array<Tree.Node> = [...root.childNodes].reverse()
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!isElement(node)) continue
    yield node
    for (let i = node.childNodes.length - 1; i >= 0; i--) open.push(node.childNodes[i]!)
  }
}

/** The first element below with one of these names. */
export const find = (root: Tree.ParentNode, ...names: ReadonlyArray<string>): Element | undefined => {
  for (const element of descendants(root)) if (names.includes(element.tagName)) return element
  return undefined
}

/** All text below, unchanged. */
export const textOf = (root: Tree.Node): string => {
  let text = ""
  const open: Array<Tree.Node> = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (isText(node)) text += node.value
    else if (isElement(node) && (node.tagName === "br" || node.tagName === "p")) text += "\n"
    if ("childNodes" in node) for (let i = node.childNodes.length - 1; i >= 0; i--) open.push(node.childNodes[i]!)
  }
  return text
}

/** Deeper formulas become their text. */
const deepestFormula = 40

const isSimple = (text: string): boolean => /^[\p{L}\p{N}.]*$/u.test(text) || /^\([^()]*\)$/.test(text)

const closed = (text: string): string => (isSimple(text) ? text : `(${text})`)

/** A formula in a line: `x^2`, `a_i`, `(a+b)/c`, `√(x)`. */
const mathOf = (math: Element, depth = 0): string => {
  if (depth > deepestFormula) return oneLine(textOf(math))
  const parts = math.childNodes.flatMap((node) => {
    if (isText(node)) {
      // Operators that are only heard: function application, invisible times and comma.
      const text = node.value.replace(/[\s\u2061-\u2064]+/g, " ").trim()
      return text === "" ? [] : [text]
    }
    return isElement(node) && !node.tagName.startsWith("annotation") ? [mathOf(node, depth + 1)] : []
  })
  const [base = "", second = "", third = ""] = parts
  const low = (text: string) => (text === "" ? "" : lowered(text))
  const high = (text: string) => (text === "" ? "" : `^${grouped(text)}`)
  switch (math.tagName) {
    case "msup":
    case "mover":
      return closed(base) + high(second)
    case "msub":
    case "munder":
      return base + low(second)
    case "msubsup":
    case "munderover":
      return base + low(second) + high(third)
    case "mfrac":
      return `${closed(base)}/${closed(second)}`
    case "msqrt":
      return `√(${parts.join("")})`
    case "mroot":
      return `${closed(base)}^(1/${second})`
    case "mtr":
      return `${parts.join(", ")}; `
    case "mspace":
      return " "
    default:
      return parts.join("")
  }
}

const blocks = new Set(
  (
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 " +
    "h4 h5 h6 header hgroup hr html li main nav ol p pre section summary table tbody td tfoot th thead tr ul caption"
  ).split(" ")
)

export const isBlock = (node: Tree.Node): node is Element => isElement(node) && blocks.has(node.tagName)

/** Raised within raised: deeper than formulas go. */
const deepest = 10

export const isHidden = (element: Element): boolean =>
  attribute(element, "hidden") !== undefined ||
  attribute(element, "aria-hidden") === "true" ||
  /display\s*:\s*none|visibility\s*:\s*hidden/i.test(attribute(element, "style") ?? "")

const isSilent = (element: Element): boolean =>
  // Deleted text is not part of the document, as in one whose tracked changes are accepted.
  ["script", "style", "template", "noscript", "svg", "del", "rp"].includes(element.tagName) ||
  /(?:^|\s)headerlink(?:$|\s)/.test(attribute(element, "class") ?? "") ||
  isHidden(element)

/** The number of a note, raised and linked, which is separate from the word before it. */
const noteNumber = (element: Element): string | undefined => {
  if (element.tagName !== "sup" && element.tagName !== "a") return undefined
  const isNote =
    find(element, element.tagName === "sup" ? "a" : "sup") !== undefined ||
    /noteref|footnote-ref/.test(["epub:type", "role", "class"].map((name) => attribute(element, name) ?? "").join(" "))
  if (!isNote) return undefined
  return /^\[?(\d{1,3}|[a-z])\]?$/.exec(textOf(element).trim())?.[1]
}

/** How code is written: in backticks, or as its words alone. */
type Code = "marked" | "plain"

/** The words of a text's node; after a line break it says on which line it goes on. */
const wordsOf = (node: Tree.TextNode, before: string): string => {
  let isAfterWord = /\S|\n$/.test(before)
  const text = withSpaces(node, (run, line) => {
    const mark = line === undefined || (!isAfterWord && node.value.startsWith(run)) ? "" : lineMark(line)
    isAfterWord = true
    return `${mark} `
  })
  return unbroken(text)
}

/** Words piece by piece; the end of what there is decides how the next are written, so that many pieces take linear time. */
export class Words {
  private parts: Array<string> = []
  constructor(public end = "") {}

  add(words: string): void {
    this.parts.push(words)
    this.end = (this.end + words).slice(-100)
  }

  /** All words, after which it begins anew. */
  take(): string {
    const text = this.parts.join("")
    this.parts = []
    this.end = ""
    return text
  }
}

/** What stands for an element instead of its words; undefined: its words do. */
const insteadOf = (element: Element, before: string, code: Code, depth: number): string | undefined => {
  const inner = (as = code) => {
    if (depth > deepest) return textOf(element)
    const words = new Words()
    for (const node of element.childNodes) words.add(inlineOf(node, words.end, as, depth + 1))
    return words.take()
  }
  switch (element.tagName) {
    case "br":
      return "\n"
    case "img":
      return attribute(element, "alt") ?? ""
    case "math":
      return mathOf(element)
    case "sub":
      return lowered(inner())
    case "ruby":
      return rubyOf(element)
    case "q":
      return `“${inner().trim()}”`
    case "s":
    case "strike": {
      const struck = inner().trim()
      return struck === "" ? "" : `~~${struck}~~`
    }
    case "code":
    case "kbd":
    case "samp":
    case "tt": {
      const words = oneLine(unbroken(inner("plain")))
      return code === "plain" || words === "" || words.includes("`") ? words : `\`${words}\``
    }
  }
  const note = noteNumber(element)
  if (note !== undefined) return `[${note}]`
  return element.tagName === "sup" ? raised(inner(), before) : undefined
}

/** The words, then how they are read: 漢字(かんじ). */
const rubyOf = (ruby: Element): string => {
  const parts: Record<"words" | "reading", string> = { words: "", reading: "" }
  const open: Array<{ readonly node: Tree.ChildNode; readonly of: keyof typeof parts }> = ruby.childNodes
    .map((node) => ({ node, of: "words" as const }))
    .reverse()
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, of } = next
    if (isText(node)) parts[of] += unbroken(node.value).replace(/\s+/g, " ")
    else if (isElement(node) && !isSilent(node)) {
      const own = node.tagName === "rt" || node.tagName === "rtc" ? "reading" : of
      for (const inner of [...node.childNodes].reverse()) open.push({ node: inner, of: own })
    }
  }
  const [words, reading] = [parts.words.trim(), parts.reading.trim()]
  return reading === "" ? words : `${words}(${reading})`
}

/** A node's words after `before`: code in backticks, an image as its alternative text, a power with its `^`. */
export const inlineOf = (root: Tree.Node, before = "", code: Code = "marked", depth = 0): string => {
  const words = new Words(before)
  const open: Array<Tree.Node | string> = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node === "string") words.add(node)
    else if (isText(node)) words.add(wordsOf(node, words.end))
    else if (isElement(node)) {
      if (node !== root && isSilent(node)) continue
      if (node === root && (node.tagName === "del" || node.tagName === "rp")) continue
      const instead = insteadOf(node, words.end, code, depth)
      if (instead !== undefined) {
        words.add(instead)
        continue
      }
      const block = blocks.has(node.tagName)
      if (block) open.push(" ")
      for (let i = node.childNodes.length - 1; i >= 0; i--) open.push(node.childNodes[i]!)
      if (block) words.add(" ")
    }
  }
  return words.take()
}

const isLine = (node: Tree.Node): boolean => isElement(node) && node.tagName === "div" && hasClass(node, "line")

/** Code that Doxygen writes as one element a line. */
export const isFragment = (element: Element): boolean =>
  hasClass(element, "fragment") && element.childNodes.some(isLine)

export const hasClass = (element: Element, ...names: ReadonlyArray<string>): boolean =>
  (attribute(element, "class") ?? "").split(/\s+/).some((name) => names.includes(name))

/** Beside code: the numbers of lines (Pygments, Rouge, Chroma), and what Doxygen shows under the pointer. */
const besideCode = ["lineno", "linenos", "lnt", "ln", "line-number", "ttc"]

/** The text of a `<pre>`, or of Doxygen's fragment of lines, as it is, with the line of the file where it begins and those on which it goes on. */
export const preformatted = (pre: Element): { readonly text: string; readonly line: number | undefined } => {
  let text = ""
  let first: number | undefined
  let line: number | undefined
  /** White space since the last word. */
  let held = ""
  const add = (words: string): void => {
    if (text === "") first = line
    else if (line !== undefined && held.includes("\n")) text += lineMark(line)
    text += held + words
    held = ""
  }
  const isLines = isFragment(pre)
  const isBetween = ({ parentNode }: Tree.TextNode): boolean =>
    isLines && parentNode?.nodeName === "div" && !isLine(parentNode)
  const open: Array<Tree.Node> = [pre]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (isText(node)) {
      if (isBetween(node)) continue
      const parts = node.value.split("\n")
      // Counted from the end: the parser drops a line break that follows <pre>.
      const end = node.sourceCodeLocation?.endLine
      for (const [n, part] of parts.entries()) {
        if (end !== undefined) line = end - (parts.length - 1 - n)
        if (n > 0) held += "\n"
        if (part.trim() === "") held += part
        else add(part)
      }
    } else if (isElement(node)) {
      if (node !== pre && (isSilent(node) || node.tagName === "button" || hasClass(node, ...besideCode))) continue
      const isFormula = node.tagName === "sup" || node.tagName === "sub" || node.tagName === "math"
      const instead = isFormula ? insteadOf(node, held === "" ? text : " ", "plain", 0) : undefined
      if (instead !== undefined) {
        if (instead !== "") add(instead)
        continue
      }
      if (node.tagName === "br" || node.tagName === "p" || (node !== pre && isLine(node))) held += "\n"
      for (let i = node.childNodes.length - 1; i >= 0; i--) open.push(node.childNodes[i]!)
    }
  }
  return { text, line: first }
}

/** Whether an element has a block below. */
export const holdsBlock = (element: Element): boolean => {
  for (const inner of descendants(element)) if (blocks.has(inner.tagName)) return true
  return false
}
