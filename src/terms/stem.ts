/** Source: M. Porter and R. Boulton, the English (Porter2) stemmer, snowballstem.org/algorithms/english/stemmer.html */
const irregular = new Map(
  Object.entries({
    skis: "ski",
    skies: "sky",
    dying: "die",
    lying: "lie",
    tying: "tie",
    idly: "idl",
    gently: "gentl",
    ugly: "ugli",
    early: "earli",
    only: "onli",
    singly: "singl"
  })
)
for (const word of ["sky", "news", "howe", "atlas", "cosmos", "bias", "andes"]) irregular.set(word, word)
const finished = new Set(["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"])

interface Ending {
  readonly ending: string
  readonly becomes: string
  /** One of these letters must precede the ending. */
  readonly after?: string | undefined
}

/** Endings by their last letter, longest first; written as `ending>replacement` or `letters|ending>replacement`. */
const endings = (rules: string): ReadonlyMap<string, ReadonlyArray<Ending>> => {
  const found = new Map<string, Array<Ending>>()
  for (const rule of rules.split(" ")) {
    const [, after, ending = "", becomes = ""] = /^(?:(\w+)\|)?(\w+)>(\w*)$/.exec(rule) ?? []
    const last = ending.slice(-1)
    found.set(last, [...(found.get(last) ?? []), { ending, becomes, after }])
  }
  for (const group of found.values()) group.sort((a, b) => b.ending.length - a.ending.length)
  return found
}
const step2 = endings(
  "tional>tion enci>ence anci>ance abli>able entli>ent izer>ize ization>ize ational>ate ation>ate ator>ate alism>al " +
    "aliti>al alli>al fulness>ful ousli>ous ousness>ous iveness>ive iviti>ive biliti>ble bli>ble l|ogi>og fulli>ful " +
    "lessli>less cdeghkmnrt|li>"
)
const step3 = endings("tional>tion ational>ate alize>al icate>ic iciti>ic ical>ic ful> ness> ative>")
const step4 = endings(
  "al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ism> ate> iti> ous> ive> ize> st|ion>"
)

const isVowel = (c: string): boolean => c === "e" || c === "a" || c === "i" || c === "o" || c === "u" || c === "y"

/** The start of the region after the first vowel and consonant. */
const regionAfter = (word: string, from: number): number => {
  let i = from
  while (i < word.length && !isVowel(word.charAt(i))) i++
  while (i < word.length && isVowel(word.charAt(i))) i++
  return Math.min(i + 1, word.length)
}

const hasVowel = (word: string, end: number): boolean => {
  for (let i = 0; i < end; i++) if (isVowel(word.charAt(i))) return true
  return false
}

const endsInShortSyllable = (word: string, end: number): boolean => {
  const last = word.charAt(end - 1)
  if (end < 2 || isVowel(last) || !isVowel(word.charAt(end - 2))) return false
  return end === 2 || (!isVowel(word.charAt(end - 3)) && last !== "w" && last !== "x" && last !== "Y")
}

const plural = (word: string): string => {
  if (word.endsWith("sses")) return word.slice(0, -2)
  if (word.endsWith("ies") || word.endsWith("ied")) return word.slice(0, word.length > 4 ? -2 : -1)
  const kept = !word.endsWith("s") || word.endsWith("ss") || word.endsWith("us") || !hasVowel(word, word.length - 2)
  return kept ? word : word.slice(0, -1)
}

const past = (word: string, r1: number): string => {
  const base = word.endsWith("ly") ? word.slice(0, -2) : word
  if (base.endsWith("eed")) return base.length - 3 >= r1 ? base.slice(0, -1) : word
  const length = base.length - (base.endsWith("ed") ? 2 : base.endsWith("ing") ? 3 : 0)
  if (length === base.length || !hasVowel(base, length)) return word
  const root = base.slice(0, length)
  const two = root.slice(-2)
  if (two === "at" || two === "bl" || two === "iz") return `${root}e`
  if (two.length === 2 && two[0] === two[1] && "bdfgmnprt".includes(two.charAt(0))) return root.slice(0, -1)
  return r1 >= length && endsInShortSyllable(root, length) ? `${root}e` : root
}

/** Removes or replaces the longest ending, if it lies in the region. */
const change = (word: string, step: ReturnType<typeof endings>, r1: number, r2: number): string => {
  for (const { after, becomes, ending } of step.get(word.slice(-1)) ?? []) {
    if (!word.endsWith(ending)) continue
    const at = word.length - ending.length
    if (after !== undefined && !(at > 0 && after.includes(word.charAt(at - 1)))) continue
    return at < (ending === "ative" ? r2 : r1) ? word : word.slice(0, at) + becomes
  }
  return word
}

const lastLetter = (word: string, r1: number, r2: number): string => {
  const at = word.length - 1
  const removed = word.endsWith("e")
    ? at >= r2 || (at >= r1 && !endsInShortSyllable(word, at))
    : word.endsWith("ll") && at >= r2
  return removed ? word.slice(0, at) : word
}

/** The stem of an English word of lower-case ASCII letters. */
export const stem = (input: string): string => {
  if (input.length <= 2) return input
  const known = irregular.get(input)
  if (known !== undefined) return known
  // A consonant y is written Y until the end.
  let word = input.includes("y") ? input.replace(/^y|(?<=[aeiouy])y/g, "Y") : input
  const prefix = /^(?:gener|commun|arsen)/.exec(word)
  const r1 = prefix === null ? regionAfter(word, 0) : prefix[0].length
  const r2 = regionAfter(word, r1)
  word = plural(word)
  if (finished.has(word)) return word
  word = past(word, r1)
  if (/..[yY]$/.test(word) && !isVowel(word.charAt(word.length - 2))) word = `${word.slice(0, -1)}i`
  word = change(change(change(word, step2, r1, r2), step3, r1, r2), step4, r2, r2)
  return lastLetter(word, r1, r2).toLowerCase()
}
