import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"

interface Cell {
  readonly cell_type?: unknown
  readonly source?: unknown
}

const sourceOf = ({ source }: Cell): string =>
  typeof source === "string"
    ? source
    : Array.isArray(source)
      ? source.filter((line) => typeof line === "string").join("")
      : ""

/** A Jupyter notebook: Markdown cells unchanged, code cells as code, no outputs. */
export const notebook = (text: string): Extracted => {
  let book: { readonly cells?: unknown; readonly worksheets?: unknown; readonly metadata?: unknown }
  try {
    book = JSON.parse(text) as typeof book
  } catch (error) {
    throw new NotExtracted(`not a notebook: ${(error as Error).message}`)
  }
  // Notebooks before version 4 have their cells in worksheets.
  const sheets = Array.isArray(book?.worksheets) ? (book.worksheets as ReadonlyArray<{ readonly cells?: unknown }>) : []
  const cells = Array.isArray(book?.cells)
    ? book.cells
    : sheets.flatMap(({ cells }) => (Array.isArray(cells) ? cells : []))
  const { kernelspec, language_info: info } = (book?.metadata ?? {}) as Record<
    string,
    Record<string, unknown> | undefined
  >
  const language = info?.["name"] ?? kernelspec?.["language"]
  const writer = new MarkdownWriter()
  for (const [index, cell] of (cells as ReadonlyArray<Cell>).entries()) {
    if (typeof cell !== "object" || cell === null) continue
    writer.at({ locator: { _tag: "Cell", cell: index + 1 } })
    const source = sourceOf(cell)
    if (cell.cell_type === "code") writer.code(source, typeof language === "string" ? language.toLowerCase() : "")
    else writer.block(source.trim())
  }
  return {
    text: writer.text,
    metadata: typeof language === "string" ? { language } : {},
    marks: writer.marks
  }
}
