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
