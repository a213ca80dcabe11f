/** A value on one line, whatever is in it. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim()

/** A value on one line, cut to a readable length. */
export const bounded = (text: string, most = 300): string => {
  const line = oneLine(text)
  return line.length > most ? `${line.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : line
}

/** Characters shown of a source; the doc_id identifies the whole document. */
export const sourceCharacters = 500
