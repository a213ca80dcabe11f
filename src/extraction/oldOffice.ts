import { readXls } from "hucre"
import BufferReader from "word-extractor/lib/buffer-reader.js"
import AllocationTable from "word-extractor/lib/ole-allocation-table.js"
import OleCompoundDoc from "word-extractor/lib/ole-compound-doc.js"
import WordOleExtractor from "word-extractor/lib/word-ole-extractor.js"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { columnName, durationText, isFilled, isoText, numberText, writeSheet } from "./xlsx.ts"

/** What a compound file is, by the name of a stream in its root: those of what is embedded are in storages of their own. */
const streams: ReadonlyArray<readonly [name: string, kind: "doc" | "xls" | { readonly not: string }]> = [
  ["EncryptedPackage", { not: "it is encrypted: save it without a password" }],
  ["WordDocument", "doc"],
  ["Workbook", "xls"],
  ["Book", { not: "a workbook of Excel 95 or older: save it as XLSX" }],
  ["PowerPoint Document", { not: "an old PowerPoint file: save it as PPTX" }],
  ["__properties_version1.0", { not: "a mail of Outlook: save it as EML" }]
]

/** Smaller streams are not in sectors of their own. */
const smallest = 4096

type Compound = Awaited<ReturnType<OleCompoundDoc["read"]>>

/** A stream of the root; case makes no difference. */
const rootStream = ({ _directoryTree: { root } }: Compound, name: string) =>
  Object.values(root.streams).find((entry) => entry.name.toLowerCase() === name.toLowerCase())

/** Names that the libraries look for, in this case only. */
const names = ["WordDocument", "0Table", "1Table", "Data", "Workbook"]

/** The file with the usual names, and with no other workbook than the root's: a library takes any. */
const asUsual = (file: Buffer, compound: Compound): Buffer => {
  const copy = Buffer.from(file)
  const { _directoryTree, _header, _SAT } = compound
  const sectors = _SAT.getSecIdChain(_header.dirSecId)
  const usual = new Map(names.map((name) => [rootStream(compound, name), name]))
  for (const [index, entry] of _directoryTree._entries.entries()) {
    const name = usual.get(entry) ?? (/^(?:work)?book$/i.test(entry.name) ? "_".repeat(entry.name.length) : entry.name)
    if (name === entry.name) continue
    const at = index * 128
    const offset = compound._getFileOffsetForSec(sectors[Math.floor(at / _header.secSize)]!) + (at % _header.secSize)
    copy.write(name, offset, "utf16le")
  }
  return copy
}

/** Whether a workbook begins with the record that says how it is encrypted. */
const isEncrypted = (file: Buffer, compound: Compound): boolean => {
  const own = rootStream(compound, "Workbook")
  if (own === undefined || own.size < smallest) return false
  const start = compound._getFileOffsetForSec(own.secId)
  return file.readUInt16LE(start + 4 + file.readUInt16LE(start + 2)) === 0x2f
}

/** A paragraph's end, by its heading's level; private characters that Word uses for nothing else here. */
const headingEnd = (level: number): string => String.fromCharCode(0xf600 + level)
const headingEnds = /[\uf601-\uf609]/

/** The library follows a damaged file's circle of sectors for ever. */
AllocationTable.prototype.getSecIdChain = function (first) {
  const chain: Array<number> = []
  for (let at: number | undefined = first; at !== undefined && at >= 0; at = this._table[at]) {
    if (chain.push(at) > this._table.length) throw new NotExtracted("damaged: its sectors lead back to themselves")
  }
  return chain
}

/** The property of a paragraph in a table. */
const inTable = Buffer.from([0x16, 0x24, 1])

/** Reads headings in addition (the first nine styles after the normal one), and keeps each table's cell on one line. */
class Reader extends WordOleExtractor {
  override extractWordDocument(document: unknown, buffer: Buffer): ReturnType<WordOleExtractor["extractWordDocument"]> {
    if (buffer.readUInt16LE(0) !== 0xa5ec) throw new NotExtracted("written by Word 95 or older: save it as DOCX")
    if ((buffer.readUInt16LE(10) & 0x100) !== 0) throw new NotExtracted("it is encrypted: save it without a password")
    return super.extractWordDocument(document, buffer)
  }

  override writeParagraphProperties(buffer: Buffer, table: Buffer): void {
    super.writeParagraphProperties(buffer, table)
    const [at, length] = [buffer.readUInt32LE(0x102), buffer.readUInt32LE(0x106)]
    const pages = (length - 4) / 8
    for (let page = 0; page < pages; page++) {
      const from = table.readUInt32LE(at + (pages + 1) * 4 + page * 4) * 512
      const block = buffer.subarray(from, from + 512)
      const runs = block.readUInt8(511)
      for (let run = 0; run < runs; run++) {
        const at = block.readUInt8((runs + 1) * 4 + run * 13) * 2
        const words = block.readUInt8(at)
        const start = words === 0 ? at + 2 : at + 1
        const length = words === 0 ? block.readUInt8(at + 1) * 2 : words * 2 - 1
        const properties = block.subarray(start, start + length)
        const style = properties.readUInt16LE(0)
        const [from, to] = [block.readUInt32LE(run * 4), block.readUInt32LE(run * 4 + 4)]
        if (properties.includes(inTable)) this.change(from, to, (text) => text.replace(/[\r\v]/g, " "))
        else if (style >= 1 && style <= 9) this.change(from, to, (text) => text.replace(/\r$/, headingEnd(style)))
      }
    }
  }

  /** Changes a paragraph's text, but not its length, in the piece of the file where it ends. */
  private change(from: number, to: number, written: (text: string) => string): void {
    const piece = this._pieces.find(({ endFilePos, startFilePos }) => to > startFilePos && to <= endFilePos)
    if (piece === undefined) return
    const [start, end] = [from, to].map((at) => Math.max(0, (at - piece.startFilePos) / piece.bpc)) as [number, number]
    piece.text = piece.text.slice(0, start) + written(piece.text.slice(start, end)) + piece.text.slice(end)
  }
}

/** A Word document: headings, paragraphs, tables' rows, notes and text boxes. */
const doc = async (file: Buffer): Promise<Extracted> => {
  const document = await new Reader().extract(new BufferReader(file))
  const asWritten = { filterUnicode: false }
  const writer = new MarkdownWriter()
  const parts = [
    document.getBody(asWritten),
    document.getTextboxes({ ...asWritten, includeHeadersAndFooters: false }),
    document.getFootnotes(asWritten),
    document.getEndnotes(asWritten)
  ]
  for (const part of parts) {
    let start = 0
    let rows: Array<ReadonlyArray<string>> = []
    for (const { 0: end, index } of part.matchAll(/\n|[\uf601-\uf609]|$/g)) {
      const text = part.slice(start, index)
      start = index + 1
      // Each cell of a table ends with a tab, and nothing else does.
      if (text.endsWith("\t")) {
        rows.push(text.slice(0, -1).split("\t"))
        continue
      }
      writer.table(rows)
      rows = []
      if (headingEnds.test(end)) writer.heading(end.charCodeAt(0) - 0xf600, text)
      else writer.paragraph(text)
    }
  }
  return { text: writer.text, metadata: {}, marks: writer.marks }
}

/** Durations are dates of 1900 to the library, which counts from 1899-12-31; a date of that year has no time. */
const timeText = (date: Date): string => {
  const days = (date.getTime() - Date.UTC(1899, 11, 31)) / 86_400_000
  if (days >= 366 || (days >= 1 && Number.isInteger(days))) return isoText(date)
  // Excel counts a 29th of February, and the library leaves it out.
  return durationText(days < 60 ? days : days + 1)
}

const xls = async (file: Buffer): Promise<Extracted> => {
  const { sheets } = await readXls(file)
  const writer = new MarkdownWriter()
  for (const { name, rows } of sheets) {
    const table = rows.map((row, at) => {
      const cells = row
        .slice(0, 500)
        .map((cell) =>
          cell instanceof Date
            ? timeText(cell)
            : typeof cell === "boolean"
              ? String(cell).toUpperCase()
              : typeof cell === "number"
                ? numberText(String(cell))
                : String(cell ?? "")
        )
      const first = Math.max(
        0,
        cells.findIndex((cell) => cell !== "")
      )
      return { cells, first: `${columnName(first)}${at + 1}` }
    })
    writeSheet(writer, name, table.filter(isFilled))
  }
  return { text: writer.text, metadata: {}, marks: writer.marks }
}

/** Our own reasons go on; what the library finds wrong is none yet. */
const rethrown = (error: unknown): undefined => {
  if (error instanceof NotExtracted) throw error
}

/** Files of Word and Excel 97 to 2003. */
export const oldOffice = async (bytes: Uint8Array): Promise<Extracted> => {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    const compound = await new OleCompoundDoc(new BufferReader(file)).read().catch(rethrown)
    // The reader of workbooks forgives more.
    if (compound === undefined) return await xls(file)
    const [, kind = { not: "a compound file of an unknown kind" }] =
      streams.find(([name]) => rootStream(compound, name) !== undefined) ?? []
    if (typeof kind === "object") throw new NotExtracted(kind.not)
    const usual = asUsual(file, compound)
    if (kind === "doc") return await doc(usual)
    if (isEncrypted(file, compound)) throw new NotExtracted("it is encrypted: save it without a password")
    return await xls(usual)
  } catch (error) {
    if (error instanceof NotExtracted) throw error
    // What a library stumbles over says nothing to whoever has the file.
    throw new NotExtracted("damaged, or not written by Office: open it there and save it as DOCX or XLSX")
  }
}
