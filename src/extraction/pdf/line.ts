import { oneLine } from "../MarkdownWriter.ts"

/** Scripts written from right to left. */
export const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/** A character as a page's operators draw it. */
export interface Glyph {
  readonly originalCharCode: number
  readonly unicode: string
  readonly isSpace: boolean
}

const isGlyph = (drawn: unknown): drawn is Glyph =>
  typeof drawn === "object" && drawn !== null && typeof (drawn as Glyph).unicode === "string"

/** The characters that a page draws, in its order. */
export const glyphsOf = (operands: ReadonlyArray<unknown>): ReadonlyArray<Glyph> =>
  operands.flatMap((operand) => {
    const [drawn] = Array.isArray(operand) ? (operand as ReadonlyArray<unknown>) : []
    return Array.isArray(drawn) ? drawn.filter(isGlyph) : []
  })

/** The right-to-left text that a page draws, with the spaces that the file contains. */
export const drawnFromRight = (operands: ReadonlyArray<unknown>): string =>
  glyphsOf(operands)
    .map(({ isSpace, unicode }) => (isSpace ? " " : unicode.normalize("NFKC")))
    .reverse()
    .join("")

/** Removes spaces that pdf.js infers between letters that do not join, if the page draws its own and not these. */
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

/** A run of text on a page, in points, with y from the top down. */
export interface Item {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly width: number
  /** Font size. */
  readonly size: number
  readonly bold: boolean
  /** Whether the font is monospaced, as for code. */
  readonly mono: boolean
}

/** Runs on one baseline that are close together. */
export interface Line extends Omit<Item, "width"> {
  readonly right: number
}

export const isBlank = ({ text }: Item): boolean => text.trim() === ""

/** Presentation forms of letters: ligatures, joined Arabic, the radicals that some fonts have for ideographs. */
const forms = /[\ufb00-\ufb4f\u2e80-\u2fdf\ufb50-\ufdff\ufe70-\ufefc]/g

/** Replaces these forms by letters, and the dots that lead to a page number by one character; soft hyphens stay at line ends alone. */
const legible = (text: string): string =>
  text
    .replace(forms, (form) => form.normalize("NFKC"))
    .replace(/\u00ad(?!\s?$)/g, "")
    .replace(/(?: ?\.){5,}/g, " …")

/** Runs in reading order: from the right if most are in such a script, but words of other scripts within from the left. */
const asRead = (run: ReadonlyArray<Item>): ReadonlyArray<Item> => {
  const length = (items: ReadonlyArray<Item>) => items.reduce((sum, { text }) => sum + text.trim().length, 0)
  if (length(run.filter(({ text }) => rightToLeft.test(text))) * 2 <= length(run)) return run
  const read: Array<Item> = []
  let other: Array<Item> = []
  const flush = () => {
    // The spaces at its left precede what is read next.
    const first = other.findIndex((item) => !isBlank(item))
    read.push(...other.slice(first), ...other.slice(0, first).reverse())
    other = []
  }
  for (const item of [...run].reverse()) {
    if (rightToLeft.test(item.text)) {
      if (other.some((each) => !isBlank(each))) flush()
      read.push(...other.reverse(), item)
      other = []
    } else if (isBlank(item) && other.length === 0) read.push(item)
    else other.unshift(item)
  }
  if (other.some((each) => !isBlank(each))) flush()
  return read
}

/** Ideographs and syllables, which are monospaced in any font. */
const wideScript =
  /^[\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u2e80-\u303f\uff00-\uffef]+$/u

/** A line of runs ordered from the left. */
export const lineOf = (run: ReadonlyArray<Item>): Line => {
  let text = ""
  let before: Item | undefined
  for (const item of asRead(run)) {
    const gap = before === undefined ? 0 : Math.max(item.x - before.x - before.width, before.x - item.x - item.width)
    if (gap > item.size * 0.15 && !text.endsWith(" ") && !item.text.startsWith(" ")) text += " "
    text += item.text
    before = item
  }
  const weighed = run.filter((item) => !isBlank(item))
  const longest = weighed.reduce(
    (most, item) => (item.text.length > most.text.length ? item : most),
    weighed[0] ?? run[0]!
  )
  const end = run.at(-1)!
  return {
    text: oneLine(legible(text)),
    x: run[0]!.x,
    y: longest.y,
    right: end.x + end.width,
    size: longest.size,
    bold: weighed.length > 0 && weighed.every(({ bold }) => bold),
    mono:
      weighed.some(({ mono, text }) => mono && !wideScript.test(text)) &&
      weighed.every(({ mono, text }) => mono || wideScript.test(text))
  }
}
