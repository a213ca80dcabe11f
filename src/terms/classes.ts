/** How the scanner treats a character. */
export const CharClass = {
  /** Ends a word. */
  separator: 0,
  /** A letter or digit of a script that writes spaces. */
  word: 1,
  /** Joins two words into one compound when it stands between them: `.`, `-`, `_`, `/`, `@`, `&`, `'`, `,`. */
  connector: 2,
  /** A letter of a script without spaces (Han, kana, Hangul, Thai, …): indexed by overlapping pairs. */
  unspaced: 3,
  /** Belongs to the character before it: combining marks, joiners, variation selectors, soft hyphens. */
  mark: 4,
  /** A word by itself: emoji and other pictures. */
  picture: 5
} as const
export type CharClass = (typeof CharClass)[keyof typeof CharClass]

const connectors = "._-/@&',’‐‑"
/** Including the vowels and finals of decomposed Hangul, and the half-width voicing marks of kana. */
const mark = /[\p{M}\u00AD\u200B-\u200D\u2060\uFEFF\u1160-\u11FF\uD7B0-\uD7FF\uFF9E\uFF9F]/u
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30FC\uFF70]/u
const letter = /[\p{L}\p{N}]/u
const picture = /\p{Extended_Pictographic}/u
/** Arrows, ©, ™ and similar signs are pictographic too, but nobody searches for them. */
const firstPicture = 0x2300

const classify = (codePoint: number): CharClass => {
  const character = String.fromCodePoint(codePoint)
  if (connectors.includes(character)) return CharClass.connector
  if (mark.test(character)) return CharClass.mark
  if (letter.test(character)) return unspaced.test(character) ? CharClass.unspaced : CharClass.word
  return codePoint >= firstPicture && picture.test(character) ? CharClass.picture : CharClass.separator
}

/** One more than the class, computed on first use; 0: not computed yet. */
const classes = new Uint8Array(0x110000)

/** The class of a code point. */
export const classOf = (codePoint: number): CharClass => {
  const known = classes[codePoint] as number
  if (known !== 0) return (known - 1) as CharClass
  const found = classify(codePoint)
  classes[codePoint] = found + 1
  return found
}

/** The class of the character at an offset; a lone surrogate is a separator. */
export const classAt = (text: string, i: number): CharClass => {
  const c = text.charCodeAt(i)
  return classOf(c < 0xd800 || c > 0xdfff ? c : (text.codePointAt(i) as number))
}

/** UTF-16 units of the character at an offset; a lone surrogate is one. */
export const widthAt = (text: string, i: number): number => {
  const c = text.charCodeAt(i)
  return c >= 0xd800 && c <= 0xdbff && (text.codePointAt(i) as number) > 0xffff ? 2 : 1
}
