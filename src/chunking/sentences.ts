import { isSpace } from "../entries/scanning.ts"
import { lazily } from "../model/lazily.ts"

const segmenter = lazily(() => new Intl.Segmenter("en", { granularity: "sentence" }))

const isAscii = /^[\0-\x7f]*$/

/** What the rules for the ends of sentences tell apart of ASCII. */
const [other, lower, upper, digit, space, closing, continuing, stop, mark] = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const

const classes = lazily(() => {
  // Whether a semicolon continues a sentence differs between versions of Unicode.
  const [first] = segmenter().segment("A. ;B")
  const continues = first?.segment.length === 5 ? ",-:;" : ",-:"
  return Uint8Array.from({ length: 128 }, (_, code) => {
    const character = String.fromCharCode(code)
    if (/[a-z]/.test(character)) return lower
    if (/[A-Z]/.test(character)) return upper
    if (/\d/.test(character)) return digit
    if (/[\t\v\f ]/.test(character)) return space
    if ("\"'()[]{}".includes(character)) return closing
    if (continues.includes(character)) return continuing
    return character === "." ? stop : "!?".includes(character) ? mark : other
  })
})

/**
 * The end of the sentence that begins at `at` in ASCII without line ends, as `Intl.Segmenter` finds it (UAX #29, rules SB6
 * to SB11): a segment as an object costs more than finding it.
 */
export const endOfAscii = (text: string, at: number): number => {
  const known = classes()
  const classAt = (i: number): number => known[text.charCodeAt(i)]!
  for (let i = at; i < text.length;) {
    const found = classAt(i)
    if (found < stop) {
      i++
      continue
    }
    let next = i + 1
    if (found === stop && next < text.length) {
      const after = classAt(next)
      const before = i > at ? classAt(i - 1) : other
      if (after === digit || (after === upper && (before === lower || before === upper))) {
        i = next
        continue
      }
    }
    while (next < text.length && classAt(next) === closing) next++
    while (next < text.length && classAt(next) === space) next++
    if (next === text.length) return next
    if (classAt(next) >= continuing) {
      i = next
      continue
    }
    if (found === stop) {
      let letter = next
      while (letter < text.length && !isLetterOrEnd(classAt(letter))) letter++
      if (letter < text.length && classAt(letter) === lower) {
        i = letter
        continue
      }
    }
    return next
  }
  return text.length
}

const isLetterOrEnd = (found: number): boolean => found === lower || found === upper || found >= stop

/** Characters passed to the segmenter at once: its cost per character grows with the length of the string. */
const windowLength = 2048

const lineBreaks = /[\n\r\u0085\u2028\u2029]/g

/** Words whose full stop never ends a sentence. */
const abbreviations = new Set(
  (
    "mr mrs ms dr prof rev gen sen rep gov capt lt col sgt st mt vs viz cf e.g i.e eg ie fig figs eq eqs sec secs ref " +
    "refs tab ch chap vol vols no nos pp ed eds approx ca dept univ assn resp incl excl esp trans " +
    "jan feb apr jun jul aug sep sept oct nov dec bzw z.b d.h u.a s.o abb nr bd vgl evtl ggf mme mlle"
  ).split(" ")
)

/** Words whose full stop does not end a sentence before a number or a bracket, but may elsewhere. */
const softAbbreviations = new Set("al etc inc ltd co corp jr sr u.s u.k ph.d a.m p.m approx v p".split(" "))

/** German months, which are written large after the day's full stop. */
const month =
  /^(?:jan(?:uar)?|jän(?:ner)?|feb(?:ruar)?|märz|apr(?:il)?|mai|juni?|juli?|aug(?:ust)?|sept?(?:ember)?|okt(?:ober)?|nov(?:ember)?|dez(?:ember)?)(?!\p{L})/iu

/** Longer words are neither. */
const longest = Math.max(...Array.from([...abbreviations, ...softAbbreviations], ({ length }) => length))

const isDigit = (code: number) => code >= 48 && code <= 57

/** Whether the full stop at `stop` belongs to an abbreviation, an initial, an item's number or a day. */
const abbreviates = (text: string, stop: number, next: number): boolean => {
  let from = stop
  while (from > 0 && stop - from < 10 && !isSpace(text.charCodeAt(from - 1)) && text[from - 1] !== "(") from--
  if (stop - from > longest) return false
  const word = text.slice(from, stop)
  if (/^\d\d?$/.test(word) && month.test(text.slice(next, next + 10))) return true
  if (word.length === 1) return /\p{L}/u.test(word) && word !== "I"
  if (word.length <= 3 && from === 0 && /^\d+$/.test(word)) return true
  const lower = word.toLowerCase()
  if (abbreviations.has(lower)) return true
  const code = text.charCodeAt(next)
  return softAbbreviations.has(lower) && (isDigit(code) || code === 40 || code === 91)
}

/** Whether a reader would agree with the segmenter's boundary at `at`, in `text` of one paragraph. */
const ends = (text: string, at: number): boolean => {
  let last = at - 1
  while (last > 0 && isSpace(text.charCodeAt(last))) last--
  const code = text.charCodeAt(last)
  // Full-width marks end a sentence alone; ASCII marks need white space, or "foo.Bar" and "a?b:c" would be cut.
  if (code > 0x7f) return true
  if (last === at - 1) return false
  return code !== 46 || !abbreviates(text, last, at)
}

/**
 * Calls `visit` with the end of each sentence of a paragraph, in order, the last time with `to`; a sentence includes
 * its trailing white space. Boundaries are those of `Intl.Segmenter`, without the false ones at line ends and
 * abbreviations.
 */
export const eachSentence = (text: string, from: number, to: number, visit: (end: number) => void): void => {
  let base = from
  while (base < to) {
    const windowEnd = Math.min(base + windowLength, to)
    const slice = text.slice(base, windowEnd)
    const flat = slice.replace(lineBreaks, " ")
    const segments = isAscii.test(flat) ? undefined : segmenter().segment(flat)
    let at = 0
    let open = 0
    while (at < flat.length) {
      if (segments === undefined) at = endOfAscii(flat, at)
      else {
        const found = segments.containing(at)
        at = found === undefined ? flat.length : found.index + found.segment.length
      }
      if (at === flat.length && windowEnd < to) break
      if (at < flat.length && !ends(flat, at)) continue
      open = at
      visit(base + at)
    }
    // An open sentence is read again from its start; one longer than the window continues beyond it.
    base = open > 0 ? base + open : windowEnd
  }
}
