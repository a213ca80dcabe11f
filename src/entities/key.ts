const spelling = /[^\p{L}\p{N}+#]+/gu

/**
 * The key of a name: spellings that differ in case, accents, punctuation, a leading article, or the possessive or
 * plural of the last word have the same key. Empty if the name has neither letter nor digit.
 */
export const keyOf = (name: string): string => {
  const lower = name.toLowerCase()
  return singular((plain.test(lower) ? lower : folded(name)).replace(/^(?:the|an|a) (?=.)/u, ""))
}

const accents = /\p{M}+/gu
const possessive = /['’]s(?![\p{L}\p{N}])/gu

/** Most names equal their keys except for capitals. */
const plain = /^[a-z\d+#]+(?: [a-z\d+#]+)*$/u

const folded = (name: string): string =>
  name.normalize("NFKD").replace(accents, "").toLowerCase().replace(possessive, "").replace(spelling, " ").trim()

/** Without the plural's s: "shells" becomes "shell"; "glass", "virus" and "series" stay. */
const singular = (key: string): string =>
  key.length > 4 && key.endsWith("s") && !/(?:[sui]s|ies|[xz]es|[cs]hes)$/u.test(key) ? key.slice(0, -1) : key

/** A key as a number of 47 bits, which SQLite stores in six bytes: ten million keys have about one collision. */
export const hashOf = (key: string): number => {
  let a = 0x811c9dc5
  let b = 0x9e3779b9
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x01000193)
    b = Math.imul(b ^ unit, 0x85ebca6b)
    b ^= b >>> 13
  }
  a = Math.imul(a ^ (a >>> 15), 0x2c1b3c6d)
  b = Math.imul(b ^ (b >>> 16), 0xc2b2ae35)
  return ((a ^ (a >>> 12)) >>> 0) * 0x8000 + ((b ^ (b >>> 15)) >>> 17)
}
