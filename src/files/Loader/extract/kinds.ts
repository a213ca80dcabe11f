/** Kinds of file whose text a worker extracts. */
export const kinds = [
  "html",
  "pdf",
  "docx",
  "openDocument",
  "pptx",
  "xlsx",
  "epub",
  "fictionBook",
  "csv",
  "notebook",
  "subtitles",
  "mail",
  "compressed",
  "latex",
  "man"
] as const

export type Kind = (typeof kinds)[number]
