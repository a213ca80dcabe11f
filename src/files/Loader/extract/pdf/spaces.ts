/** Scripts written from right to left. */
export const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/** A character as a page's operators draw it. */
interface Glyph {
  readonly unicode: string
  readonly isSpace: boolean
}

const isGlyph = (drawn: unknown): drawn is Glyph =>
  typeof drawn === "object" && drawn !== null && typeof (drawn as Glyph).unicode === "string"

/** The right-to-left text that a page draws, with the spaces that the file contains. */
export const drawnFromRight = (operands: Iterable<unknown>): string => {
  const signs: Array<string> = []
  for (const operand of operands) {
    const [drawn] = Array.isArray(operand) ? (operand as ReadonlyArray<unknown>) : []
    if (!Array.isArray(drawn)) continue
    for (const glyph of drawn) if (isGlyph(glyph)) signs.push(glyph.isSpace ? " " : glyph.unicode.normalize("NFKC"))
  }
  return signs.reverse().join("")
}

/**
 * Removes the spaces that pdf.js infers from the kerning of letters that do not join, if the page draws its own spaces and
 * not these.
 */
export const withoutFoundSpaces = (text: string, drawn: string): string => {
  const words = text.split(" ")
  if (words.length < 2 || !rightToLeft.test(text)) return text
  let kept = words[0]!
  for (const [i, word] of words.slice(1).entries()) {
    const before = words[i]!
    const isFound =
      rightToLeft.test(before.slice(-1)) &&
      rightToLeft.test(word) &&
      !drawn.includes(`${before} ${word}`) &&
      drawn.includes(before + word)
    kept += isFound ? word : ` ${word}`
  }
  return kept
}
