import { oneLine } from "./MarkdownWriter.ts"

const lowDigits = new Map([..."0123456789+-−=()"].map((sign, at) => [sign, [..."₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎"][at]!]))

/** Endings of ordinals and titles, which are only written higher: 1st, 2e, Mme. */
const ending = /^(?:st|nd|rd|th|e|è?re|er|ème|nde?|o|os|a|as|r|me|mes|lle|lles|gr)$/iu
const signs = /^[*\u2020\u2021\u00a7\u00b6\u00ae\u00a9\u2122\u2120\u00b0\u2032\u2033\u00aa\u00ba]+$/u
const numbers = /^\d{1,3}(?:[,\u2013-]\s?\d{1,3}){0,8}$/u
/** Words and ends of sentences that notes follow; a unit has a power. */
const noted = /(?:\p{L}{4}[)\]"'\u2019\u201d\u00bb]{0,2}|\p{L}{2}[.,;:!?)\]"'\u2019\u201d\u00bb]{1,3})$/u
const unit = /(?:met(?:re|er)s?|seconds?|minutes?|hours?|foot|feet|inch(?:es)?|miles?|yards?)$/iu

/** A word of one sort, or in brackets, so that `2^(n-1)` says where it ends. */
export const grouped = (text: string): string =>
  /^(?:[-\u2212+]?(?:\p{L}+|[\p{N}.,]+)|\p{L}\p{N}+)$/u.test(text) || /^\(.*\)$/s.test(text)
    ? text.replace("\u2212", "-")
    : `(${text})`

/** Superscript text after `before`: a power gets `^`, a note's number brackets, an ordinal's ending nothing. */
export const raised = (text: string, before: string): string => {
  const plain = oneLine(text)
  if (plain === "") return text
  const base = before.slice(-40).trimEnd()
  if (signs.test(plain) || /^\[.*\]$/s.test(plain)) return text
  if (/^(?:tm|sm)$/i.test(plain)) return /^tm$/i.test(plain) ? "™" : "℠"
  if (ending.test(plain) && /(?:\d|[IVXLCMDS]|\bn)$/u.test(base)) return text
  if (numbers.test(plain) && (base === "" || (noted.test(base) && !unit.test(base)))) return `[${plain}]`
  return base === "" ? text : `^${grouped(plain)}`
}

/** Subscript text: digits and signs in their lowered form, `_` before others. */
export const lowered = (text: string): string => {
  const plain = oneLine(text)
  const low = [...plain].map((sign) => lowDigits.get(sign))
  if (plain === "") return text
  return low.every((sign) => sign !== undefined) ? low.join("") : `_${grouped(plain)}`
}

/** Marks of where a word may break, which are not part of it: soft hyphens, spaces without width. */
export const unbroken = (text: string): string => text.replace(/[\u00ad\u200b\u2060\ufeff]/g, "")

/** What a run of text is, by its place: raised, lowered, or on the line. */
export type Place = "above" | "below" | undefined

/** The text of a run after `before`, by its place. */
export const placed = (text: string, place: Place, before: string): string =>
  place === "above" ? raised(text, before) : place === "below" ? lowered(text) : text

/** A table written as one text: names with their signs, in turn. */
export const pairs = (text: string): ReadonlyArray<readonly [name: string, sign: string]> => {
  const all = text.split(" ")
  return all.flatMap((name, at) => (at % 2 === 0 ? [[name, all[at + 1]!] as const] : []))
}
