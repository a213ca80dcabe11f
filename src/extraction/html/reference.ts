import { lineMark, type MarkdownWriter, oneLine } from "../MarkdownWriter.ts"
import { descendants, type Element, hasClass, inlineOf, isBlock, isElement, lineOf, Words } from "./inline.ts"

/** The page's title, without what stands below it: of Doxygen, which has no `<h1>`. */
const title = (writer: MarkdownWriter, header: Element): void => {
  const words = new Words()
  for (const node of header.childNodes) if (!isBlock(node)) words.add(inlineOf(node, words.end, "plain"))
  writer.heading(1, words.take())
}

const signature = (writer: MarkdownWriter, element: Element): void =>
  writer.code(oneLine(inlineOf(element, "", "plain")))

const isHeader = (cell: Element): boolean => hasClass(cell, "table-header")

const placed = (cell: Element): string => {
  const words = inlineOf(cell)
  const line = lineOf(cell)
  return line === undefined || words.trim() === "" ? words : lineMark(line) + words
}

/** Cells that are not in rows; the first ones are the header. */
const summary = (writer: MarkdownWriter, table: Element): void => {
  const cells = table.childNodes.filter(isElement)
  const columns = cells.filter(isHeader).length
  const starts = cells.filter((_, at) => at % columns === 0)
  writer.table(
    starts.map((_, row) => cells.slice(row * columns, (row + 1) * columns).map(placed)),
    (row) => writer.at({ line: lineOf(starts[row]!) })
  )
}

/** How to write what pages of Doxygen and Javadoc mark by their class alone; undefined for any other element. */
export const referencePart = (element: Element): ((writer: MarkdownWriter) => void) | undefined => {
  if (element.tagName === "tr") {
    const [, kind] = /^mem(item|desc):/.exec(element.attrs.find(({ name }) => name === "class")?.value ?? "") ?? []
    if (kind === "item") return (writer) => writer.item(inlineOf(element), 0, "-", false)
    return kind === "desc" ? (writer) => writer.inItem(inlineOf(element), 0) : undefined
  }
  if (element.tagName !== "div") return undefined
  if (hasClass(element, "memproto", "member-signature")) return (writer) => signature(writer, element)
  if (hasClass(element, "header")) {
    for (const inner of descendants(element))
      if (hasClass(inner, "title") && isElement(inner.parentNode!) && hasClass(inner.parentNode, "headertitle"))
        return (writer) => title(writer, inner)
  }
  const isSummary =
    hasClass(element, "summary-table") && element.childNodes.some((node) => isElement(node) && isHeader(node))
  return isSummary ? (writer) => summary(writer, element) : undefined
}
