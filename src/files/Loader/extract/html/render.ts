import type { DefaultTreeAdapterTypes as Tree } from "parse5"
import type { MarkdownWriter } from "../MarkdownWriter.ts"
import { holdsBlock, inlineOf, isBlock, preformatted } from "./inline.ts"
import { isAround } from "./main.ts"
import { attribute, descendants, type Element, find, isElement, isText, lineOf, textOf } from "./tree.ts"

/** Deeper than people nest; anything deeper becomes plain text. */
const deepest = 200

const longestTerm = 200

interface Context {
  readonly writer: MarkdownWriter
  /** Characters of the whole page. */
  readonly length: number
}

/** Writes everything below as blocks. */
export const render = (context: Context, root: Tree.ParentNode): void => {
  new Renderer(context).children(root, 0, 0)
}

class Renderer {
  private inline = ""
  private line: number | undefined
  /** The level of the last heading. */
  private level = 1
  private readonly context: Context

  constructor(context: Context) {
    this.context = context
  }

  children(parent: Tree.ParentNode, depth: number, lists: number): void {
    for (const node of parent.childNodes) this.node(node, depth, lists)
    this.flush()
  }

  private node(node: Tree.ChildNode, depth: number, lists: number): void {
    if (isText(node)) {
      if (this.inline === "" && node.value.trim() !== "") this.line ??= lineOf(node)
      this.inline += inlineOf(node, this.inline)
      return
    }
    if (!isElement(node) || isAround(node, this.context.length)) return
    if (depth > deepest) {
      this.inline += textOf(node)
      return
    }
    if (!isBlock(node) && !holdsBlock(node)) {
      this.line ??= lineOf(node)
      this.inline += inlineOf(node, this.inline)
      return
    }
    this.flush()
    this.line = undefined
    this.context.writer.at({ line: lineOf(node) })
    this.block(node, depth, lists)
  }

  private block(element: Element, depth: number, lists: number): void {
    const { writer } = this.context
    switch (element.tagName) {
      case "h1":
      case "h2":
      case "h3":
      case "h4":
      case "h5":
      case "h6":
        this.level = Number(element.tagName.slice(1))
        return writer.heading(this.level, headingText(element, this.context.length))
      case "pre": {
        const { line, text } = preformatted(element)
        writer.at({ line: line ?? lineOf(element) })
        return writer.code(text, languageOf(element))
      }
      case "table":
        return isLayout(element) ? this.children(element, depth + 1, lists) : this.table(element)
      case "ul":
      case "ol":
        return this.list(element, depth, lists)
      case "dt":
        return this.term(element)
      case "hr":
        return
      default:
        return this.children(element, depth + 1, lists)
    }
  }

  private list(list: Element, depth: number, lists: number): void {
    const { writer } = this.context
    let number = Number(attribute(list, "start") ?? 1) || 1
    let first = lists === 0
    for (const item of list.childNodes) {
      if (!isElement(item) || isAround(item, this.context.length)) continue
      if (item.tagName !== "li") {
        this.node(item, depth + 1, lists + 1)
        continue
      }
      writer.at({ line: lineOf(item) })
      number = Number(attribute(item, "value") ?? number) || number
      const inner = item.childNodes.filter((node) => isBlock(node) && !isParagraph(node))
      const words = item.childNodes.filter((node) => !inner.includes(node))
      let text = ""
      for (const node of words) {
        if (isText(node) || (isElement(node) && !isAround(node, this.context.length))) text += inlineOf(node, text)
      }
      writer.item(text, lists, list.tagName === "ol" ? `${number++}.` : "-", first)
      first = false
      for (const node of inner) this.node(node, depth + 1, lists + 1)
      this.flush()
    }
  }

  /** A term with a link target becomes a heading, as for each function of a reference. */
  private term(term: Element): void {
    const text = inlineOf(term).trim()
    if (attribute(term, "id") === undefined || text.length > longestTerm || text === "") {
      return this.context.writer.paragraph(text)
    }
    let level = this.level
    for (let node = term.parentNode; node !== null && isElement(node); node = node.parentNode) {
      if (node.tagName === "dl") level++
    }
    this.context.writer.heading(Math.max(2, level), text)
  }

  private table(table: Element): void {
    const { writer } = this.context
    const caption = find(table, "caption")
    if (caption !== undefined) writer.paragraph(inlineOf(caption))
    const rows = rowsOf(table)
    writer.table(
      rows.map(({ cells }) => cells),
      (i) => writer.at({ line: rows[i]?.line })
    )
  }

  private flush(): void {
    const text = this.inline
    this.inline = ""
    if (text.trim() !== "") {
      this.context.writer.at({ line: this.line })
      this.context.writer.paragraph(text)
    }
    this.line = undefined
  }
}

const isParagraph = (node: Tree.Node): boolean =>
  isElement(node) && ["p", "div", "span"].includes(node.tagName) && !holdsBlock(node)

/** A table for layout: it contains other blocks, or has one cell. */
const isLayout = (table: Element): boolean => {
  let cells = 0
  for (const element of descendants(table)) {
    if (element.tagName === "th") return false
    if (element.tagName === "td") cells++
    if (["table", "h1", "h2", "h3", "pre"].includes(element.tagName)) return true
  }
  return cells < 2
}

const longestRow = 200

const rowsOf = (
  table: Element
): ReadonlyArray<{ readonly cells: ReadonlyArray<string>; readonly line: number | undefined }> => {
  const rows: Array<{ cells: Array<string>; line: number | undefined }> = []
  for (const element of descendants(table)) {
    if (element.tagName === "tr") rows.push({ cells: [], line: lineOf(element) })
    if (element.tagName !== "td" && element.tagName !== "th") continue
    const cells = rows.at(-1)?.cells
    if (cells === undefined) continue
    const span = Math.min(longestRow - cells.length, Number(attribute(element, "colspan") ?? 1) || 1)
    if (span > 0) cells.push(inlineOf(element), ...Array.from({ length: span - 1 }, () => ""))
  }
  return rows.filter(({ cells }) => cells.some((cell) => cell.trim() !== ""))
}

/** A heading's words, without the link to itself. */
const headingText = (element: Element, length: number): string => {
  let text = ""
  for (const node of element.childNodes) {
    const isOwn = isElement(node) && (isAround(node, length) || /^[¶#§🔗]?$/u.test(textOf(node).trim()))
    if (!isOwn) text += inlineOf(node, text, "plain")
  }
  return text.replace(/[¶§]\s*$/u, "")
}

const languageOf = (pre: Element): string => {
  for (const element of [pre, ...descendants(pre)]) {
    const found =
      /(?:^|\s)(?:language|lang|highlight|highlight-source|brush:\s{0,4})-?([a-z0-9+#]{1,20})(?:$|\s)/i.exec(
        attribute(element, "class") ?? ""
      )
    if (found !== null) return found[1]!.toLowerCase()
  }
  return ""
}
