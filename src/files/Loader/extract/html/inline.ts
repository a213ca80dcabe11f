import type { DefaultTreeAdapterTypes as Tree } from "parse5"
import { lineMark } from "../MarkdownWriter.ts"
import { lowered, raised, unbroken } from "../raised.ts"
import { isHidden } from "./main.ts"
import { mathOf } from "./math.ts"
import { attribute, descendants, type Element, find, isElement, isText, textOf, withSpaces } from "./tree.ts"

const blocks = new Set(
  (
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 " +
    "h4 h5 h6 header hgroup hr html li main nav ol p pre section summary table tbody td tfoot th thead tr ul caption"
  ).split(" ")
)

export const isBlock = (node: Tree.Node): node is Element => isElement(node) && blocks.has(node.tagName)

/** Raised within raised: deeper than formulas go. */
const deepest = 10

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
  let isAfterWord = /\S$/.test(before)
  const text = withSpaces(node, (run, line) => {
    const mark = line === undefined || (!isAfterWord && node.value.startsWith(run)) ? "" : lineMark(line)
    isAfterWord = true
    return `${mark} `
  })
  return unbroken(text)
}

/** What stands for an element instead of its words; undefined: its words do. */
const insteadOf = (element: Element, before: string, code: Code, depth: number): string | undefined => {
  const inner = () =>
    depth > deepest
      ? textOf(element)
      : element.childNodes.reduce((text, node) => text + inlineOf(node, text, code, depth + 1), "")
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
      const words = unbroken(
        depth > deepest
          ? textOf(element)
          : element.childNodes.reduce((text, node) => text + inlineOf(node, text, "plain", depth + 1), "")
      )
        .replace(/\s+/g, " ")
        .trim()
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

/**
 * A node's words after `before`. Code keeps its backticks, an image its alternative text, a power its `^`; other elements
 * become their words.
 */
export const inlineOf = (root: Tree.Node, before = "", code: Code = "marked", depth = 0): string => {
  let text = before
  const open: Array<Tree.Node | string> = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (typeof node === "string") text += node
    else if (isText(node)) text += wordsOf(node, text)
    else if (isElement(node)) {
      if (node !== root && isSilent(node)) continue
      if (node === root && (node.tagName === "del" || node.tagName === "rp")) continue
      const instead = insteadOf(node, text, code, depth)
      if (instead !== undefined) {
        text += instead
        continue
      }
      const block = blocks.has(node.tagName)
      if (block) open.push(" ")
      for (let i = node.childNodes.length - 1; i >= 0; i--) open.push(node.childNodes[i]!)
      if (block) text += " "
    }
  }
  return text.slice(before.length)
}

/** The text of a `<pre>` as it is, with the line of the file where it begins and those on which it goes on. */
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
  const open: Array<Tree.Node> = [pre]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (isText(node)) {
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
      if (node !== pre && (isSilent(node) || node.tagName === "button")) continue
      const isFormula = node.tagName === "sup" || node.tagName === "sub" || node.tagName === "math"
      const instead = isFormula ? insteadOf(node, held === "" ? text : " ", "plain", 0) : undefined
      if (instead !== undefined) {
        if (instead !== "") add(instead)
        continue
      }
      if (node.tagName === "br" || node.tagName === "p") held += "\n"
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
