import { rightToLeft } from "./spaces.ts"

/** A run of text on a page, in points, y from the top down. */
export interface Item {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly width: number
  /** Of its font. */
  readonly size: number
  readonly bold: boolean
  /** Of a font whose letters are all as wide: code. */
  readonly mono: boolean
}

/** Runs of one baseline that stand close together. */
export interface Line {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly right: number
  readonly size: number
  readonly bold: boolean
  /** Of a font whose letters are all as wide: code. */
  readonly mono: boolean
}

export const isBlank = ({ text }: Item): boolean => text.trim() === ""

/** Signs that stand for letters in one of their forms: ligatures, Arabic joined, the radicals some fonts have for ideographs. */
const forms = /[\ufb00-\ufb4f\u2e80-\u2fdf\ufb50-\ufdff\ufe70-\ufefc]/g

/** Letters for their forms, and one sign for the dots that lead to a page number. */
const legible = (text: string): string =>
  text.replace(forms, (form) => form.normalize("NFKC")).replace(/(?: ?\.){5,}/g, " …")

/** As runs are read: from the right where most are of a script that is, but words of other scripts among them from the left. */
const asRead = (run: ReadonlyArray<Item>): ReadonlyArray<Item> => {
  const length = (items: ReadonlyArray<Item>) => items.reduce((sum, { text }) => sum + text.trim().length, 0)
  if (length(run.filter(({ text }) => rightToLeft.test(text))) * 2 <= length(run)) return run
  const read: Array<Item> = []
  let other: Array<Item> = []
  const flush = () => {
    // The spaces at its left are between it and what is read next.
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

/** Ideographs and syllables are all as wide in any font. */
const wideScript =
  /^[\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u2e80-\u303f\uff00-\uffef]+$/u

/** A line of runs that stand in order from the left. */
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
    text: legible(text).replace(/\s+/g, " ").trim(),
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
