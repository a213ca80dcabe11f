/** Whether JavaScript's `\s` and `trim` treat this UTF-16 unit as white space. */
export const isSpace = (code: number): boolean =>
  code <= 32
    ? code === 32 || (code >= 9 && code <= 13)
    : code >= 0xa0 &&
      (code === 0xa0 ||
        code === 0x1680 ||
        (code >= 0x2000 && code <= 0x200a) ||
        code === 0x2028 ||
        code === 0x2029 ||
        code === 0x202f ||
        code === 0x205f ||
        code === 0x3000 ||
        code === 0xfeff)

/** First offset in `[from, to)` that is not white space, or `to`. */
export const skipSpace = (text: string, from: number, to: number): number => {
  let at = from
  while (at < to && isSpace(text.charCodeAt(at))) at++
  return at
}

/** Offset after the last character of `[from, to)` that is not white space, or `from`. */
export const trimEnd = (text: string, from: number, to: number): number => {
  let at = to
  while (at > from && isSpace(text.charCodeAt(at - 1))) at--
  return at
}

/** First white space in `[from, to)`, or `to`. */
export const skipWord = (text: string, from: number, to: number): number => {
  let at = from
  while (at < to && !isSpace(text.charCodeAt(at))) at++
  return at
}
