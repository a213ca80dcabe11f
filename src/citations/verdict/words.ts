import { stem } from "porter2"
import { functionWords } from "../../terms/languages.ts"
import { terms } from "../../terms/terms.ts"

/** Words of scripts that separate them by spaces; a sign belongs to its number. */
const letters = String.raw`\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_`
const spaced = String.raw`\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3}(?!\d))+`
const token = new RegExp(
  String.raw`(?<![${letters}])(?:[-\u2212](?=\.?\d)(?:${spaced}|\d*)(?:[.,]\d+)?(?![${letters}])|(?:--|(?<!\.)\.(?=\d))?(?:${spaced}[${letters}]*|[${letters}]+)(?:[.,'\u2019:/-][${letters}]+)*[%+]?)`,
  "gu"
)
export const tokensOf = (text: string): ReadonlyArray<string> => text.match(token) ?? []

const numberWords = new Map(
  "zero one two three four five six seven eight nine ten eleven twelve".split(" ").map((word, n) => [word, String(n)])
)
for (const [n, word] of "twenty thirty forty fifty sixty seventy eighty ninety".split(" ").entries()) {
  numberWords.set(word, String(20 + 10 * n))
}

/** Units by their abbreviations, as texts write them beside a number, and by their names. */
const units = new Map<string, string>()
for (const line of [
  "ms msec msecs millisecond milliseconds",
  "s sec secs second seconds",
  "min mins minute minutes",
  "h hr hrs hour hours",
  "d day days",
  "week weeks",
  "month months",
  "year years",
  "B byte bytes",
  "bit bits",
  "K k KB kB KiB kilobyte kilobytes kibibyte kibibytes",
  "M MB MiB megabyte megabytes mebibyte mebibytes",
  "G GB GiB gigabyte gigabytes gibibyte gibibytes",
  "T TB TiB terabyte terabytes tebibyte tebibytes",
  "% percent",
  "px pixel pixels"
]) {
  const [unit = "", ...rest] = line.split(" ")
  for (const word of [unit, ...rest]) units.set(word, unit)
}
/** Letters that are a unit only without a space before them: `64 K` is rare, a heading `M` is not. */
const attached = new Set(["s", "h", "d", "B", "K", "k", "M", "G", "T", "m"])

/** Thousands in groups, which one sign separates: `10,000`, `10.000`, `10 000`, `10'000`, `1,00,000`. */
const grouped =
  /^-?\d{1,3}(?:(?:,\d{2,3}){0,9},\d{3}|(?:\.\d{3}){1,9}|(?:['\u2019]\d{3}){1,9}|(?:[ \u00a0\u2009\u202f]\d{3}){1,9})$/
const withoutGroups = (digits: string): string => (grouped.test(digits) ? digits.replace(/[^\d-]/g, "") : digits)

/** What digits may mean, first as in English: `10.000` is ten, and ten thousand elsewhere; `1,5` is 1.5 to all. */
const readingsOf = (digits: string): ReadonlyArray<string> => {
  const [, whole = "", mark = "", fraction] = /^([^.,].*)([.,])(\d+)$/.exec(digits) ?? []
  const isDecimal = fraction !== undefined && !whole.includes(mark) && /^-?\d+$/.test(withoutGroups(whole))
  const decimal = isDecimal ? `${withoutGroups(whole)}.${fraction}` : digits
  if (!grouped.test(digits)) return [decimal]
  // If it is no thousand, `1.500` is 1.5.
  const plain = Number(fraction) > 0 && isDecimal ? [String(Number(decimal))] : []
  const all = withoutGroups(digits)
  return mark === "." ? [decimal, all, ...plain] : [all, decimal, ...plain]
}

interface Quantity {
  /** The number, and what else it may be elsewhere in the world. */
  readonly readings: ReadonlyArray<string>
  readonly unit: string | undefined
}

/** `1,000` and `1000` are the same number, `v1.2` and `1.2`, `.85` and `0.85` too; `64MB` has a unit; undefined: no number. */
const quantityOf = (word: string): Quantity | undefined => {
  const spelt = numberWords.get(word.toLowerCase())
  if (spelt !== undefined) return { readings: [spelt], unit: undefined }
  const plain = word
    .replace(/^[vV](?=\d)/, "")
    .replace(/^\u2212/, "-")
    .replace(/^-?(?=\.\d)/, "$&0")
  const [digits] = /^-?\d+(?:[.,'\u2019 \u00a0\u2009\u202f]\d+)*/.exec(plain) ?? []
  if (digits === undefined) return undefined
  // `3DES` and `2nd` are no numbers with a unit.
  const rest = plain.slice(digits.length).replace(/^-(?=\p{L})/u, "")
  const unit = rest === "m" ? "min" : units.get(rest)
  if (unit === undefined && !/^(?:x|\+)?$/.test(rest)) return undefined
  return { readings: readingsOf(digits), unit }
}

/** The space between two numbers that may be one: `10 050` is one, `80 443` may be two. */
export const between = / (?!0)/

/** All that a word may mean as a number; empty if it is none. */
export const numbersOf = (word: string): ReadonlyArray<string> => quantityOf(word)?.readings ?? []

/** The unit that a word names; undefined: it names none. */
export const unitOf = (word: string): string | undefined =>
  attached.has(word) ? undefined : (units.get(word) ?? units.get(word.toLowerCase()))

/** A name in the form that programs and standards use: `llm.timeout_ms`, `SCRAM-SHA-256`, `autoSelectFamily`. */
export const isIdentifier = (word: string): boolean =>
  quantityOf(word) === undefined &&
  (/_|\p{Ll}\p{Lu}|\p{L}{2}[.:/]\p{L}|\p{L}[.:/]\p{L}{2}/u.test(word) ||
    (/\d/.test(word) && /\p{L}/u.test(word)) ||
    /^\p{Lu}{2,}$/u.test(word))

/** The index terms of a text but for its words of grammar. */
export const content = (text: string): ReadonlyArray<string> => terms(text).filter((term) => !functionWords.has(term))

const negations = new Set("not no never nor neither nobody without cannot none nothing hardly".split(" "))
const isNegation = (word: string): boolean => negations.has(word) || /n['’]t$/.test(word)

/** What words do to a statement instead of naming anything, by the classes in which they agree. */
const operators = new Map<string, string>()
for (const [operator, words] of Object.entries({
  must: "must require requires required need needs needed necessary shall mandatory",
  may: "may might could possibly perhaps",
  can: "can able possible",
  should: "should recommend recommends recommended advisable suggested",
  any: "any either",
  all: "all every each always entirely whole everything both everyone anyone",
  most: "most usually typically mostly often generally normally commonly sometimes some many",
  only: "only merely solely exclusively",
  about: "about approximately roughly average around nearly almost"
})) {
  for (const word of words.split(" ")) operators.set(word, operator)
}

/** What bounds a number, by the words beside it. */
const lower =
  "least minimum more greater later higher above since starting beginning newer over larger up onwards longer"
const upper = "most maximum less fewer lower earlier below until under smaller older shorter before"
const bounds = new Map<string, string>([
  ...lower.split(" ").map((word) => [word, "lower"] as const),
  ...upper.split(" ").map((word) => [word, "upper"] as const),
  ["every", "every"],
  ["each", "every"],
  ["per", "every"],
  ["from", "from"]
])
export const boundOf = (word: string): string | undefined => bounds.get(word)

/** Words that name nothing a passage would have to name as well. */
const idle = new Set(
  "e.g i.e also then however additionally example instance currently note just simply version value thus therefore here there called get gets got".split(
    " "
  )
)

export interface Word {
  /** Lower case, as written. */
  readonly word: string
  readonly is: "content" | "number" | "operator" | "negation" | "grammar"
  /** Of content its term, of an operator its class, of a number its digits. */
  readonly term: string
  /** Of a number all that it may be, the term first. */
  readonly readings: ReadonlyArray<string>
  readonly unit: string | undefined
}

/** A name's spelling: `--max-size`, `max_size` and `MAX_SIZE` are the same. */
const nameOf = (word: string): string => word.toLowerCase().replace(/^--/, "").replaceAll("-", "_")

/** `write-ahead` is two words and `two-hour` a number with its unit; `repl-ping-period` is a name. */
const partsOf = (raw: string): ReadonlyArray<string> => {
  if (raw.startsWith("--") || isIdentifier(raw) || quantityOf(raw) !== undefined) return [raw]
  const parts = raw.split(/[-/:]/)
  // "Read-only" restricts nothing else.
  const isOne = parts.length > 2 || parts.some((part) => operators.has(part) || isNegation(part))
  return isOne && !/\d/.test(raw) ? [raw] : parts
}

const wordOf = (raw: string): Word => {
  const word = raw.toLowerCase().replaceAll("’", "'")
  const made = (is: Word["is"], term: string, unit?: string, readings = [term] as ReadonlyArray<string>): Word => ({
    word,
    is,
    term,
    readings,
    unit
  })
  const quantity = quantityOf(raw)
  if (quantity !== undefined && word !== "one")
    return made("number", quantity.readings[0]!, quantity.unit, [...quantity.readings, ...raw.split(between)])
  if (isNegation(word)) return made("negation", word)
  const operator = operators.get(word)
  if (operator !== undefined) return made("operator", operator)
  if (isIdentifier(raw) || raw.includes("-")) return made("content", nameOf(raw))
  const base = word.replace(/'s$/, "")
  const isIdle = functionWords.has(base) || functionWords.has(stem(base)) || idle.has(base)
  return isIdle ? made("grammar", base) : made("content", stem(base))
}

/** The words of a text in order, each by what it does in a sentence; a unit belongs to the number before it. */
export const wordsOf = (text: string): ReadonlyArray<Word> => {
  const found: Array<Word> = []
  for (const raw of tokensOf(text).flatMap(partsOf)) {
    const last = found.at(-1)
    const unit = unitOf(raw)
    if (unit !== undefined && last?.word === "one") {
      found[found.length - 1] = { ...last, is: "number", term: "1", readings: ["1"], unit }
    } else if (unit !== undefined && last?.is === "number" && last.unit === undefined) {
      found[found.length - 1] = { ...last, unit }
    } else {
      found.push(wordOf(raw))
    }
  }
  // "One of them" and "one client" count nothing; "passing one" does.
  return found.filter(
    ({ is, word }, at) =>
      word !== "one" || is === "number" || (found[at + 1]?.is === "grammar" && !/^o[fr]$/.test(found[at + 1]!.word))
  )
}
