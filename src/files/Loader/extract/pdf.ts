import { extractable, openPdf, type PageText } from "./pdf/open.ts"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { type Style, writeColumn } from "./pdf/blocks.ts"
import { type Line, linesOf, readingOrder } from "./pdf/layout.ts"

/** Share of a page's height at its top and bottom where running lines stand. */
const margin = 0.1

const shape = (line: Line): string => line.text.replace(/\d+|\b[ivxlc]+\b/gi, "#").replace(/\s+/g, " ")

/** Lines at a page's edge that stand there on other pages too, numbers apart, and lone page numbers. */
const runningLines = (pages: ReadonlyArray<{ readonly height: number; readonly lines: ReadonlyArray<Line> }>) => {
  const counts = new Map<string, number>()
  const atEdge = (line: Line, height: number) => line.y < height * margin || line.y > height * (1 - margin)
  for (const { height, lines } of pages) {
    for (const key of new Set(lines.filter((line) => atEdge(line, height)).map(shape)))
      counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const often = Math.max(2, Math.min(4, pages.length * 0.3))
  return (line: Line, height: number): boolean =>
    atEdge(line, height) &&
    ((/^\d{1,4}\s|\s\d{1,4}$/.test(line.text) && (counts.get(shape(line)) ?? 0) >= 2) ||
      /^[-–\s]*(?:\d{1,4}|[ivxlc]{1,7})[-–\s]*$/i.test(line.text) ||
      (pages.length > 2 && (counts.get(shape(line)) ?? 0) >= often))
}

const mostCharacters = (lines: ReadonlyArray<Line>): number => {
  const counts = new Map<number, number>()
  for (const { size, text } of lines) {
    const rounded = Math.round(size * 2) / 2
    counts.set(rounded, (counts.get(rounded) ?? 0) + text.length)
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 10
}

/** Sizes that set headings off: larger than the body's, and rare. */
const headingSizes = (lines: ReadonlyArray<Line>, body: number): ReadonlyArray<number> => {
  const counts = new Map<number, number>()
  let total = 0
  for (const { size, text } of lines) {
    total += text.length
    const rounded = Math.round(size * 2) / 2
    if (size > body * 1.12) counts.set(rounded, (counts.get(rounded) ?? 0) + text.length)
  }
  return [...counts]
    .filter(([, characters]) => characters < total * 0.2)
    .map(([size]) => size)
    .sort((a, b) => b - a)
    .slice(0, 5)
}

const isScanned = (pages: ReadonlyArray<PageText>): boolean =>
  pages.reduce((sum, { items }) => sum + items.reduce((length, { text }) => length + text.trim().length, 0), 0) === 0

/** A PDF in reading order, each page marked; headings by the outline and by their size, running lines left out. */
export const pdf = async (bytes: Uint8Array): Promise<Extracted> => {
  const { info, outline, pages } = await openPdf(bytes)
  if (isScanned(pages))
    throw new NotExtracted(`no text in its ${pages.length} pages: they are pictures; run OCR over it first`)
  const laid = pages.map(({ height, items }) => ({ height, lines: linesOf(items) }))
  const isRunning = runningLines(laid)
  const kept = laid.map(({ height, lines }) => lines.filter((line) => !isRunning(line, height)))
  const all = kept.flat()
  const body = mostCharacters(all)
  const style: Style = { body, headings: headingSizes(all, body), outline }
  const writer = new MarkdownWriter()
  for (const [index, lines] of kept.entries()) {
    writer.at({ locator: { _tag: "Page", page: index + 1 } })
    for (const run of readingOrder(lines)) writeColumn(writer, run, index + 1, style)
  }
  return {
    text: extractable(writer.text),
    title: info.title,
    metadata: { ...(info.author === undefined ? {} : { author: info.author }), pages: pages.length },
    marks: writer.marks
  }
}
