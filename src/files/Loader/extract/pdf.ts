import { openPdf, type PageText } from "./pdf/open.ts"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { type Column, writeColumn } from "./pdf/blocks.ts"
import { styleOf } from "./pdf/headings.ts"
import { linesOf, readingOrder } from "./pdf/layout.ts"
import type { Line } from "./pdf/line.ts"

/** Share of a page's height, at its top and bottom, that may contain running lines. */
const margin = 0.1

const shape = (line: Line): string => line.text.replace(/\d+|\b[ivxlc]+\b/gi, "#").replace(/\s+/g, " ")

/** Lines at a page's edge that other pages repeat, apart from numbers, and lone page numbers. */
const runningLines = (pages: ReadonlyArray<{ readonly height: number; readonly lines: ReadonlyArray<Line> }>) => {
  const counts = new Map<string, number>()
  const atEdge = (line: Line, height: number) => line.y < height * margin || line.y > height * (1 - margin)
  for (const { height, lines } of pages) {
    for (const key of new Set(lines.filter((line) => atEdge(line, height)).map(shape)))
      counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const often = Math.max(2, Math.min(4, pages.length * 0.3))
  const isNumber = ({ text }: Line): boolean => /^[-–\s]*(?:\d{1,4}|[ivxlc]{1,7})[-–\s]*$/i.test(text)
  return (line: Line, height: number, lines: ReadonlyArray<Line>): boolean => {
    // A page number may stand further in if it is below everything else and apart from it.
    const isApart = () => lines.every((other) => other === line || other.y < line.y - line.size * 1.8)
    const isBelow = () => lines.every((other) => other.y <= line.y)
    if (isNumber(line) && line.y > height * (1 - 1.5 * margin) && isBelow()) return true
    if (isNumber(line) && line.y > height * (1 - 2.5 * margin) && isApart()) return true
    if (!atEdge(line, height)) return false
    const times = counts.get(shape(line)) ?? 0
    const isNumbered = () =>
      /^\d{1,4}\s|\s\d{1,4}$/.test(line.text) ||
      lines.some((other) => other !== line && isNumber(other) && Math.abs(other.y - line.y) < line.size * 0.35)
    return isNumber(line) || (times >= 2 && isNumbered()) || (pages.length > 2 && times >= often)
  }
}

const isScanned = (pages: ReadonlyArray<PageText>): boolean =>
  pages.reduce((sum, { items }) => sum + items.reduce((length, { text }) => length + text.trim().length, 0), 0) === 0

/** A PDF in reading order, with each page marked; headings by outline and size, without running lines. */
export const pdf = async (bytes: Uint8Array): Promise<Extracted> => {
  const { info, outline, pages } = await openPdf(bytes)
  if (isScanned(pages))
    throw new NotExtracted(`no text in its ${pages.length} pages: they are pictures; run OCR over it first`)
  const laid = pages.map(({ height, items }) => ({ height, lines: linesOf(items) }))
  const isRunning = runningLines(laid)
  const kept = laid.map(({ height, lines }) => lines.filter((line) => !isRunning(line, height, lines)))
  const style = styleOf(kept, outline)
  const writer = new MarkdownWriter()
  let column: Column = { isOpen: false }
  for (const [index, lines] of kept.entries()) {
    writer.at({ locator: { _tag: "Page", page: index + 1 } })
    for (const run of readingOrder(lines)) column = writeColumn(writer, run, index + 1, style, column)
  }
  return {
    text: writer.text,
    title: info.title,
    metadata: { ...(info.author === undefined ? {} : { author: info.author }), pages: pages.length },
    marks: writer.marks
  }
}
