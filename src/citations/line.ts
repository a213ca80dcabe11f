/** A value on one line, whatever is in it. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim()

const cut = (line: string, most: number): string =>
  line.length > most ? `${line.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : line

/** A value on one line, cut to a readable length. */
export const bounded = (text: string, most = 300): string => cut(oneLine(text), most)

/** A source on one line, cut likewise; the doc_id identifies the whole document. Its blanks stay: by it a document is read. */
export const boundedSource = (source: string): string => cut(source.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "), 500)
