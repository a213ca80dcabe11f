import type { Span } from "./mention.ts"

/** Inline code in a text, on one line. */
const spans = /`([^`\n]{3,60})`/gu

/** A name in inline code: one to three words, without arguments. */
const name = /^[\p{L}_$@.<-][\p{L}\p{N}_$.:#-]{0,60}(?: [\p{L}\p{N}_.-]{1,60}){0,2}(?:\(\)|>)?$/u

const words = /(?:--)?[A-Za-z_]\w*(?:(?:::|[.-])\w+)*/gu

/** Base64 and similar: capitals all over a long word. */
const isNoise = (word: string): boolean =>
  word.length >= 12 && 4 * (word.match(/[a-z0-9](?=[A-Z])/gu) ?? []).length >= word.length

/**
 * Whether it has the form of code: an option, snake_case, camelCase, PascalCase with two humps, a dotted path that is
 * called.
 */
const isCode = (word: string, next: string | undefined): boolean => {
  if (word.startsWith("--")) return word.length >= 4
  if (word.includes("-")) return false
  if (isNoise(word)) return false
  if (/[a-z0-9]_[a-z0-9]/iu.test(word) || /[a-z0-9][A-Z][a-z0-9]/u.test(word)) return true
  return next === "(" && /[:.]/u.test(word)
}

/** A sign that every form of code has; most prose has none. */
const sign = /--|_|[a-z0-9][A-Z][a-z0-9]|[:.]\w{1,80}\(/u

/** Values and types of every language, which name nothing. */
const values = new Set(
  "true false null undefined unknown string number boolean object array void any promise error none nil int float bool str".split(
    " "
  )
)

/** The symbols, options and commands that a text names. */
export const symbols = (text: string): ReadonlyArray<Span> => {
  const found: Array<Span> = []
  if (text.includes("`")) {
    for (const { 1: inside, index } of text.matchAll(spans)) {
      if (name.test(inside!) && !values.has(inside!.toLowerCase().replace(/^<|>$/gu, "")))
        found.push({ start: index + 1, end: index + 1 + inside!.length })
    }
  }
  if (!sign.test(text)) return found
  for (const { 0: word, index } of text.matchAll(words)) {
    if (word.length >= 4 && word.length <= 80 && isCode(word, text[index + word.length])) {
      found.push({ start: index, end: index + word.length })
    }
  }
  return found
}
