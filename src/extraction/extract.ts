import { NotExtracted, type Read } from "./Extracted.ts"

/** Kinds of file whose text a worker extracts. */
const kinds = [
  "html",
  "pdf",
  "docx",
  "openDocument",
  "pptx",
  "xlsx",
  "oldOffice",
  "epub",
  "fictionBook",
  "csv",
  "notebook",
  "subtitles",
  "mail",
  "compressed",
  "latex",
  "man",
  "rtf"
] as const

export type Kind = (typeof kinds)[number]

/** A file's text if its format consists of text, else its bytes. */
export type Source = string | Uint8Array

const text = (source: Source): string => (typeof source === "string" ? source : new TextDecoder().decode(source))
const bytes = (source: Source): Uint8Array => (typeof source === "string" ? new TextEncoder().encode(source) : source)

/** Each format's library is loaded with its first file. */
const readers: Record<Kind, (source: Source) => Promise<Read>> = {
  html: async (source) => (await import("./html.ts")).html(text(source)),
  pdf: async (source) => (await import("./pdf.ts")).pdf(bytes(source)),
  docx: async (source) => (await import("./docx.ts")).docx(bytes(source)),
  openDocument: async (source) => (await import("./openDocument.ts")).openDocument(bytes(source)),
  pptx: async (source) => (await import("./pptx.ts")).pptx(bytes(source)),
  xlsx: async (source) => (await import("./xlsx.ts")).xlsx(bytes(source)),
  oldOffice: async (source) => (await import("./oldOffice.ts")).oldOffice(bytes(source)),
  epub: async (source) => (await import("./books.ts")).epub(bytes(source)),
  fictionBook: async (source) => (await import("./books.ts")).fictionBook(text(source)),
  csv: async (source) => (await import("./csv.ts")).csv(text(source)),
  notebook: async (source) => (await import("./notebook.ts")).notebook(text(source)),
  subtitles: async (source) => (await import("./subtitles.ts")).subtitles(text(source)),
  compressed: async (source) => (await import("./archive.ts")).compressed(bytes(source)),
  latex: async (source) => (await import("./latex.ts")).latex(text(source)),
  man: async (source) => (await import("./man.ts")).man(text(source)),
  rtf: async (source) => (await import("./rtf.ts")).rtf(bytes(source)),
  mail: async (source) => {
    const { attachments, extracted } = await (await import("./mail.ts")).mail(bytes(source))
    return { ...extracted, attachments }
  }
}

/** The text of a file of this kind; rejects with NotExtracted if there is none. */
export const extract = async (kind: Kind, source: Source): Promise<Read> => {
  const read = await readers[kind](source)
  if (read.text.trim() === "" && (read.attachments ?? []).length === 0) throw new NotExtracted("it holds no text")
  return read
}
