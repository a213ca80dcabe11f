import { type DefaultTreeAdapterTypes as Tree, parse } from "parse5"
import type { Extracted } from "./Extracted.ts"
import { referencePart } from "./html/reference.ts"
import { lineMark, MarkdownWriter, mostRepeated, oneLine, unmarked } from "./MarkdownWriter.ts"
import {
  attribute,
  descendants,
  type Element,
  find,
  holdsBlock,
  inlineOf,
  isBlock,
  isElement,
  isFragment,
  isHidden,
  isText,
  lineOf,
  preformatted,
  textOf,
  Words
} from "./html/inline.ts"

/** Elements that are not part of the text. */
const silent = new Set(
  "script style noscript template svg canvas object embed iframe audio video map head title link meta base select button input textarea dialog".split(
    " "
  )
)
const aroundTags = new Set(["nav", "footer", "aside", "menu"])
const aroundRoles = new Set(["navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog"])

/** Words in a class or id that mark what surrounds the content. */
const aroundWords =
  /(?:^|[\s_-])(?:(?:doc)?nav(?:bar|igation)?|navheader|navfooter|menu|sidebar|side-bar|sphinxsidebar|related|breadcrumbs?|cookies?|consent|banner|gdpr|footer|pagination|pager|share|sharing|social|advert(?:isement)?s?|ads?|newsletter|subscribe|(?<!deprecation-)comments?|skip-?link|toc|table-of-contents|headerlink|edit-?(?:page|link)|feedback)(?:$|[\s_-])/i

/** Asides that belong to the text beside them. */
const notes =
  /(?:^|[\s_-])(?:foot-?notes?|endnotes?|notes?|topic|admonition|callout|warning|tip|hint|important|example)(?:$|[\s_-])/i

/** Inline elements and headings: their class or id describes their look. */
const inline = new Set(
  "a abbr b bdi bdo cite code del dfn dt em h1 h2 h3 h4 h5 h6 i ins kbd mark q s samp small span strong sub sup tt u var".split(
    " "
  )
)

/** If an element with such a name holds this share of the page, the name means something else. */
const mostOfAPage = 0.5

const classOf = (element: Element): string => attribute(element, "class") ?? ""

const name = (element: Element): string => `${classOf(element)} ${attribute(element, "id") ?? ""}`

const slug = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase()

/** Ids of more words than this are made from a heading. */
const mostWords = 3

/** The names that describe an element's role; an id made from the heading below describes its topic. */
const rolesOf = (element: Element): string => {
  const id = attribute(element, "id") ?? ""
  const heading = find(element, "h1", "h2", "h3", "h4", "h5", "h6")
  const isOwn =
    id.split(/[_-]/).length <= mostWords && (heading === undefined || !slug(textOf(heading)).startsWith(slug(id)))
  return isOwn ? name(element) : classOf(element)
}

/** Whether the element belongs to the page, not to its content. */
const isAround = (element: Element, length: number): boolean => {
  if (silent.has(element.tagName) || isHidden(element)) return true
  if (element.tagName === "body" || element.tagName === "html" || element.tagName === "main") return false
  if (inline.has(element.tagName))
    return /(?:^|\s)(?:headerlink|skip-?link|edit-?(?:page|link))(?:$|\s)/i.test(classOf(element))
  const role = attribute(element, "role") ?? ""
  if (element.tagName === "aside" && (notes.test(classOf(element)) || /^(?:note|doc-.*)$/.test(role))) return false
  if (aroundTags.has(element.tagName) || aroundRoles.has(role)) return true
  // Doxygen's logo and the project's name, above every page's own title.
  const isHead = element.tagName === "header" || attribute(element, "id") === "titlearea"
  if (isHead && find(element, "h1", "h2") === undefined) return true
  return (
    aroundWords.test(name(element)) &&
    aroundWords.test(rolesOf(element)) &&
    textOf(element).length < length * mostOfAPage
  )
}

const contentWords =
  /(?:^|\s)(?:main|content|main-content|maincontent|article|article-body|post-content|entry-content|markdown-body|documentwrapper|document|docs-content)(?:$|\s)/i

const wordCount = (root: Tree.Node): number => textOf(root).split(/\s+/).length - 1

/** A part is a page's content unless so many times its words stand outside of it, other than in links and around. */
const mostOutside = 0.5

/** The element with the page's content: what the page marks as main, else its body. */
const mainOf = (document: Tree.Document): Tree.ParentNode => {
  const body = find(document, "body") ?? document
  const candidates: Array<Element> = []
  const within = new Set<Tree.ParentNode | null>()
  for (const element of descendants(body)) {
    const isWithin = within.has(element.parentNode)
    const says =
      isWithin ||
      element.tagName === "main" ||
      attribute(element, "role") === "main" ||
      element.tagName === "article" ||
      contentWords.test(name(element))
    if (says) within.add(element)
    if (says && !isWithin) candidates.push(element)
  }
  const best = candidates
    .map((element) => ({ element, words: wordCount(element) }))
    .sort((a, b) => b.words - a.words)[0]
  if (best === undefined) return body
  // Several articles side by side are the content together.
  const beside = candidates.filter((element) => element.tagName === "article" && element !== best.element)
  const main =
    beside.length > 0 && best.element.tagName === "article" ? (best.element.parentNode ?? body) : best.element
  const { length } = textOf(body)
  const outside = wordsIn(textsOf(body, length).prose) - wordsIn(textsOf(main, length).prose)
  return outside > mostOutside * wordsIn(textOf(main)) ? body : main
}

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
  private readonly inline = new Words()
  private line: number | undefined
  /** The level of the last heading. */
  private level = 1
  constructor(private readonly context: Context) {}

  children(parent: Tree.ParentNode, depth: number, lists: number): void {
    for (const node of parent.childNodes) this.node(node, depth, lists)
    this.flush()
  }

  private node(node: Tree.ChildNode, depth: number, lists: number): void {
    if (isText(node)) {
      if (this.inline.end === "" && node.value.trim() !== "") this.line ??= lineOf(node)
      this.inline.add(inlineOf(node, this.inline.end))
      return
    }
    if (!isElement(node) || isAround(node, this.context.length)) return
    if (depth > deepest) {
      this.inline.add(textOf(node))
      return
    }
    if (!isBlock(node) && !holdsBlock(node)) {
      this.line ??= lineOf(node)
      this.inline.add(inlineOf(node, this.inline.end))
      return
    }
    this.flush()
    this.line = undefined
    this.context.writer.at({ line: lineOf(node) })
    this.block(node, depth, lists)
  }

  private block(element: Element, depth: number, lists: number): void {
    const { length, writer } = this.context
    if (/^h[1-6]$/.test(element.tagName)) {
      this.level = Number(element.tagName.slice(1))
      return writer.heading(this.level, headingText(element, length))
    }
    const part = referencePart(element)
    if (part !== undefined) return part(writer)
    if (element.tagName === "pre" || isFragment(element)) {
      const { line, text } = preformatted(element)
      writer.at({ line: line ?? lineOf(element) })
      return writer.code(text, languageOf(element))
    }
    switch (element.tagName) {
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
      number = Number(attribute(item, "value") ?? number) || number
      const marker = list.tagName === "ol" ? `${number++}.` : "-"
      let isMarked = false
      const said = new Words()
      let line: number | undefined
      /** Writes the words so far: the first ones with the marker, those after a block as a paragraph. */
      const say = (): void => {
        const words = said.take()
        if (unmarked(words).trim() === "") return
        writer.at({ line })
        line = undefined
        if (isMarked) writer.paragraph(words)
        else writer.item(words, lists, marker, first)
        first = isMarked
        isMarked = true
      }
      for (const node of item.childNodes) {
        if (!isText(node) && (!isElement(node) || isAround(node, this.context.length))) continue
        if (isBlock(node) && !isParagraph(node)) {
          say()
          this.node(node, depth + 1, lists + 1)
          first = node.tagName !== "ul" && node.tagName !== "ol"
        } else {
          const words = inlineOf(node, said.end)
          if (words.trim() !== "") line ??= lineOf(node)
          said.add(words)
        }
      }
      say()
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
    const text = this.inline.take()
    if (text.trim() !== "") {
      this.context.writer.at({ line: this.line })
      this.context.writer.paragraph(text)
    }
    this.line = undefined
  }
}

const isParagraph = (node: Tree.Node): boolean =>
  isElement(node) && ["p", "div", "span"].includes(node.tagName) && !holdsBlock(node)

/** A table for layout: it contains other blocks, or has one cell; or below its header one row, with code of several lines. */
const isLayout = (table: Element): boolean => {
  let cells = 0
  let rows = 0
  let isListing = false
  let isHeaded = false
  const within = new Set<Tree.ParentNode | null>()
  for (const element of descendants(table)) {
    const isWithin = within.has(element.parentNode)
    const isCode = !isWithin && (element.tagName === "pre" || isFragment(element))
    if (isWithin || isCode) within.add(element)
    if (element.tagName === "th") isHeaded = true
    if (element.tagName === "td") cells++
    if (element.tagName === "tr") rows++
    if (isCode && textOf(element).trim().includes("\n")) isListing = true
    if (!isHeaded && (isCode || ["table", "h1", "h2", "h3"].includes(element.tagName))) return true
  }
  return isHeaded ? isListing && rows <= 2 : cells < 2
}

const longestRow = 200

/** The rows with words of their own; a cell that spans several rows is repeated in each, as far as `mostRepeated` allows. */
const rowsOf = (
  table: Element
): ReadonlyArray<{ readonly cells: ReadonlyArray<string>; readonly line: number | undefined }> => {
  const rows: Array<{ cells: Array<string>; line: number | undefined; hasWords: boolean }> = []
  /** What a cell above says in each column, and the number of the last row that it spans. */
  let spans: Array<{ readonly text: string; readonly last: number } | undefined> = []
  let section: Tree.ParentNode | null = null
  let left = mostRepeated
  /** Fills the row up to its next cell, or at least up to this column. */
  const fill = (to = 0): void => {
    const cells = rows.at(-1)?.cells ?? []
    for (;;) {
      const { last, text } = spans[cells.length] ?? { text: "", last: -1 }
      const isSpanned = last >= rows.length
      if (!isSpanned && cells.length >= to) return
      if (isSpanned) left -= text.length + 1
      if (left < 0) spans = []
      cells.push(isSpanned && left >= 0 ? text : "")
    }
  }
  for (const element of descendants(table)) {
    if (element.tagName === "tr") {
      fill(spans.length)
      if (element.parentNode !== section) spans = []
      section = element.parentNode
      rows.push({ cells: [], line: lineOf(element), hasWords: false })
    }
    const row = rows.at(-1)
    if ((element.tagName !== "td" && element.tagName !== "th") || row === undefined) continue
    fill()
    const { cells } = row
    const end = Math.min(longestRow, cells.length + (Number(attribute(element, "colspan") ?? 1) || 1))
    const last = rows.length - 1 + (Number(attribute(element, "rowspan") ?? 1) || 1)
    const words = inlineOf(element)
    const hasWords = unmarked(words).trim() !== ""
    row.hasWords ||= hasWords
    const line = lineOf(element.childNodes.find((node) => !isText(node) || node.value.trim() !== "") ?? element)
    const marked = line === undefined ? words : lineMark(line) + words
    for (let text = hasWords ? marked : ""; cells.length < end; text = "") {
      if (last > rows.length) spans[cells.length] = { text: unmarked(text), last }
      cells.push(text)
    }
  }
  fill(spans.length)
  return rows.filter(({ hasWords }) => hasWords)
}

/** A heading's words, without the link to itself. */
const headingText = (element: Element, length: number): string => {
  const words = new Words()
  for (const node of element.childNodes) {
    const isOwn = isElement(node) && (isAround(node, length) || /^[¶#§🔗◆]?$/u.test(textOf(node).trim()))
    if (!isOwn) words.add(inlineOf(node, words.end, "plain"))
  }
  return words.take().replace(/[¶§]\s*$/u, "")
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

/** A page with so many links, which have this share of its words, only leads to other pages. */
const manyLinks = 20
const onlyLinks = 0.9

const wordsIn = (text: string): number => text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0

/** The texts of a page's content: those of its links, and the rest. */
const textsOf = (root: Tree.ParentNode, length: number) => {
  const links: Array<string> = []
  let prose = ""
  const open: Array<{ readonly node: Tree.ParentNode; readonly depth: number }> = [{ node: root, depth: 0 }]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const child of at.node.childNodes) {
      if (isText(child)) prose += ` ${child.value}`
      if (!isElement(child) || at.depth > deepest || isAround(child, length)) continue
      if (child.tagName === "a") links.push(textOf(child))
      else open.push({ node: child, depth: at.depth + 1 })
    }
  }
  return { links, prose }
}

/** A page's main content as Markdown, with the line of the file where each block begins. */
export const html = (source: string): Extracted => {
  const document = parse(source, { sourceCodeLocationInfo: true })
  const metadata: Record<string, unknown> = {}
  for (const element of descendants(document)) {
    if (element.tagName === "body") break
    if (element.tagName === "html") {
      const lang = attribute(element, "lang")
      if (lang !== undefined && lang !== "") metadata["lang"] = lang
    }
    if (element.tagName !== "meta") continue
    const name = (attribute(element, "name") ?? attribute(element, "property") ?? "").toLowerCase()
    const value = oneLine(attribute(element, "content") ?? "")
    if (["description", "author", "keywords", "date"].includes(name) && value !== "") metadata[name] = value
  }
  const writer = new MarkdownWriter()
  const main = mainOf(document)
  const { length } = textOf(main)
  render({ writer, length }, main)
  const { links } = textsOf(main, length)
  const isLinks = links.length >= manyLinks && wordsIn(links.join(" ")) > onlyLinks * wordsIn(writer.text)
  const head = find(document, "head")
  const said = (element: Element | undefined) => (element === undefined ? "" : oneLine(textOf(element)))
  const title = said(head && find(head, "title")) || said(find(main, "h1")) || undefined
  return { text: writer.text, title, metadata, marks: writer.marks, isLinks }
}
