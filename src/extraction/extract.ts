import { type Extracted, NotExtracted, tooMuchText } from "./Extracted.ts"

/** A file's text if its format consists of text, else its bytes. */
export type Source = string | Uint8Array

const text = (source: Source): string => (typeof source === "string" ? source : new TextDecoder().decode(source))
const bytes = (source: Source): Uint8Array => (typeof source === "string" ? new TextEncoder().encode(source) : source)

/** What a reader needs beside the file, read when it does. */
export interface Resources {
  /** A zip of pdf.js's predefined CMaps, each `NAME.bcmap`. */
  readonly cmaps: () => Uint8Array
}

/** Each format's library is loaded with its first file. */
const readers = {
  html: async (source) => (await import("./html.ts")).html(text(source)),
  docbook: async (source) => (await import("./docbook.ts")).docbook(text(source)),
  pdf: async (source, resources) => (await import("./pdf.ts")).pdf(bytes(source), resources?.cmaps),
  docx: async (source) => (await import("./docx.ts")).docx(bytes(source)),
  openDocument: async (source) => (await import("./openDocument.ts")).openDocument(source),
  pptx: async (source) => (await import("./pptx.ts")).pptx(bytes(source)),
  xlsx: async (source) => (await import("./xlsx.ts")).xlsx(bytes(source)),
  oldOffice: async (source) => (await import("./oldOffice.ts")).oldOffice(bytes(source)),
  epub: async (source) => (await import("./books.ts")).epub(bytes(source)),
  fictionBook: async (source) => (await import("./books.ts")).fictionBook(text(source)),
  evernote: async (source) => (await import("./evernote.ts")).evernote(text(source)),
  csv: async (source) => (await import("./csv.ts")).csv(text(source)),
  notebook: async (source) => (await import("./notebook.ts")).notebook(text(source)),
  subtitles: async (source) => (await import("./subtitles.ts")).subtitles(text(source)),
  compressed: async (source) => (await import("./archive.ts")).compressed(bytes(source)),
  latex: async (source) => (await import("./latex.ts")).latex(text(source)),
  man: async (source) => (await import("./man.ts")).man(text(source)),
  rtf: async (source) => (await import("./rtf.ts")).rtf(bytes(source)),
  mail: async (source) => (await import("./mail.ts")).mail(bytes(source)),
  savedPage: async (source) => (await import("./mail.ts")).savedPage(bytes(source))
} satisfies Record<string, (source: Source, resources?: Resources) => Promise<Extracted>>

/** Kinds of file whose text a worker extracts. */
export type Kind = keyof typeof readers

/** So many times its bytes a file's text may have characters, or so many characters if that is more. */
const mostTimes = 200
const leastBound = 10_000_000

/** The text of a file of this kind; rejects with NotExtracted if there is none. */
export const extract = async (kind: Kind, source: Source, resources?: Resources): Promise<Extracted> => {
  const read: Extracted = await readers[kind](source, resources)
  const most = Math.max(leastBound, mostTimes * source.length)
  if (read.text.length > most) throw tooMuchText(most)
  if (read.text.trim() === "" && (read.attachments ?? []).length === 0) throw new NotExtracted("it holds no text")
  return read
}
