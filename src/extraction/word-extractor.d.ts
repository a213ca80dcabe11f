/** The parts of word-extractor that are used; the package brings no types. */
declare module "word-extractor/lib/buffer-reader.js" {
  const BufferReader: new (file: Buffer) => { readonly buffer: () => Buffer }
  export default BufferReader
}

declare module "word-extractor/lib/ole-allocation-table.js" {
  export default class AllocationTable {
    readonly _table: ReadonlyArray<number>
    getSecIdChain(first: number): ReadonlyArray<number>
  }
}

declare module "word-extractor/lib/ole-compound-doc.js" {
  interface Entry {
    readonly name: string
    readonly secId: number
    readonly size: number
    /** Of the root and of storages, by name. */
    readonly streams: Readonly<Record<string, Entry>>
  }
  export default class OleCompoundDoc {
    constructor(reader: { readonly buffer: () => Buffer })
    read(): Promise<this>
    readonly _header: { readonly secSize: number; readonly dirSecId: number }
    readonly _SAT: { getSecIdChain(first: number): ReadonlyArray<number> }
    readonly _directoryTree: { readonly root: Entry; readonly _entries: ReadonlyArray<Entry> }
    _getFileOffsetForSec(sector: number): number
  }
}

declare module "word-extractor/lib/word-ole-extractor.js" {
  interface Options {
    readonly filterUnicode: boolean
    readonly includeHeadersAndFooters?: boolean
  }
  interface Document {
    getBody(options: Options): string
    getTextboxes(options: Options): string
    getFootnotes(options: Options): string
    getEndnotes(options: Options): string
  }
  interface Piece {
    readonly startFilePos: number
    readonly endFilePos: number
    /** Bytes of a character. */
    readonly bpc: number
    text: string
  }
  export default class WordOleExtractor {
    readonly _pieces: ReadonlyArray<Piece>
    extract(reader: { readonly buffer: () => Buffer }): Promise<Document>
    extractWordDocument(document: unknown, buffer: Buffer): Promise<Document>
    writeParagraphProperties(buffer: Buffer, table: Buffer): void
  }
}
