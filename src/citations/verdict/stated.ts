import { languageOf } from "../../terms/languages.ts"
import { type Statement as Text, statementsOf as textsOf } from "../statements.ts"
import { boundOf, isIdentifier, type Word, wordsOf } from "./words.ts"

/** One thing that a passage says: a sentence by its clauses, or a table's row with a column's name. */
interface Statement {
  readonly clauses: ReadonlyArray<ReadonlyArray<Word>>
  /** The content of the label above it, as in "timeout: In seconds. Default: 60." */
  readonly label: ReadonlySet<string>
  /** The content of the two sentences before it, which "it" and "this" mean. */
  readonly before: ReadonlySet<string>
  /** The words of its table's whole row. */
  readonly row: ReadonlyArray<Word>
}

/** Where a sentence turns to something else; a comma before a number continues a list. */
const turn = /[;()[\]|]|,(?=\s\D)|:(?=\s)|\s[\u2013\u2014-]\s|\b(?:while|whereas|but|although|though|however)\b/giu
/** What excludes: the words after it are not part of what is stated. */
const exclusion = /\b(?:except|excluding|unless|other than|instead of|rather than)\b/i
const anaphora = new Set("it its this these they their them such that those default defaults both".split(" "))

const isContent = ({ is }: Word) => is === "content"
const isNumber = ({ is }: Word) => is === "number"
const contentOf = (words: ReadonlyArray<Word>): ReadonlySet<string> =>
  new Set(words.filter(isContent).map(({ term }) => term))

/** What follows "and" is a clause of its own if it has a verb of its own, or if both sides have numbers. */
const atAnd = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const part of text.split(/\b(?:and|or)\b/)) {
    const before = found.at(-1)
    const isOwn =
      /^\s(?:is|are|was|were|will|can|may|must|should|does|do|has|have|not|never)\s/.test(part) ||
      (before !== undefined && wordsOf(before).some(isNumber) && wordsOf(part).some(isNumber))
    if (before !== undefined && !isOwn) found[found.length - 1] = `${before} and ${part}`
    else found.push(part)
  }
  return found
}

const clausesOf = (sentence: string): Statement["clauses"] => {
  const parts: Array<string> = []
  let from = 0
  for (const { index } of sentence.matchAll(turn)) {
    parts.push(sentence.slice(from, index))
    from = index
  }
  parts.push(sentence.slice(from))
  return parts
    .filter((part) => !exclusion.test(part))
    .flatMap(atAnd)
    .map(wordsOf)
    .filter((words) => words.some((word) => isContent(word) || isNumber(word)))
}

const none: ReadonlySet<string> = new Set()

/** The name that a sentence begins with, as in "`timeout`: In seconds." */
const labelOf = (sentence: string): string | undefined => {
  const head = sentence.slice(0, 80)
  const name = head.slice(0, Math.max(0, head.search(/:\s/))).replace(/^[\s*-]+(?=[\s`"*])|[\s`"*]/g, "")
  return name.startsWith("--") || isIdentifier(name) ? name : undefined
}

/** "… Default: 5. retries: …" are two sentences, whose full stop no segmenter takes for an end. */
const apart = /(?<=\.)\s(?=[^\s:]{1,80}:\s)/

/** What a passage says, statement by statement. */
const statementsOf = (texts: ReadonlyArray<Text>): ReadonlyArray<Statement> => {
  const found: Array<Statement> = []
  let label: ReadonlySet<string> = none
  let last: ReadonlyArray<ReadonlySet<string>> = []
  for (const { kind, text } of texts) {
    if (kind === "row") {
      // Each column's name and cell, with what the row is about.
      const [row = "", ...cells] = text.split("; ")
      const about = row.slice(row.indexOf(": ") + 1)
      const words = wordsOf(text)
      for (const cell of cells)
        found.push({ clauses: [wordsOf(`${about} ${cell}`)], label: none, before: none, row: words })
      continue
    }
    for (const sentence of text.split(apart)) {
      const named = labelOf(sentence)
      if (named !== undefined) label = contentOf(wordsOf(named))
      const clauses = clausesOf(sentence)
      const before = new Set(last.flatMap((terms) => [...terms]))
      found.push({ clauses, label, before, row: [] })
      const plain = sentence.replace(/\([^()]{0,200}\)/g, " ")
      if (plain !== sentence) found.push({ clauses: clausesOf(plain), label, before, row: [] })
      last = [...last, contentOf(clauses.flat())].slice(-2)
    }
  }
  return found
}

/** How many words a number may be away from the word that it belongs to. */
const furthest = 20
/** A sentence of more words is compared with nothing but quotations. */
const longest = 200

/** How many words before and after a number may bound it. */
const reach = { before: 3, after: 2 }

/** The bounds of the number at `at`: "at least", "or later", "every"; and the places of their words. */
const boundsAt = (words: ReadonlyArray<Word>, at: number) => {
  const classes = new Set<string>()
  const places = new Set<number>()
  const look = (step: -1 | 1, most: number) => {
    for (let n = 1; n <= most; n++) {
      const place = at + step * n
      const it = words[place]
      if (it === undefined || isNumber(it)) return
      const bound =
        it.word === "up" && words[place + 1]?.word === "to"
          ? "upper"
          : it.word === "most" && words[place - 1]?.word !== "at"
            ? undefined
            : boundOf(it.word)
      if (bound === undefined || (bound === "from" && (step > 0 || n > 1))) continue
      classes.add(bound)
      places.add(place)
    }
  }
  look(-1, reach.before)
  look(1, reach.after)
  return { classes, places }
}

const sameSet = (a: ReadonlySet<string>, b: ReadonlySet<string>) => a.size === b.size && [...a].every((it) => b.has(it))

/** Whether the number at `at` of a claim stands in `words` with the same unit, bounds, and nearest word. */
const isBound = (claim: ReadonlyArray<Word>, at: number, words: ReadonlyArray<Word>): boolean => {
  const { term, unit } = claim[at]!
  const { classes, places } = boundsAt(claim, at)
  const there = contentOf(words)
  /** The content next to the number on one side, which the source has; `n` words from it. */
  const neighbour = (step: -1 | 1) => {
    for (let n = 1; claim[at + step * n] !== undefined && !isNumber(claim[at + step * n]!); n++) {
      const word = claim[at + step * n]!
      if (isContent(word) && !places.has(at + step * n) && there.has(word.term)) return { term: word.term, n }
    }
    return undefined
  }
  const [left, right] = [neighbour(-1), neighbour(1)]
  const isAt = (anchor: string, from: number, to: number) =>
    words.slice(Math.max(0, from), to).some((it) => isContent(it) && it.term === anchor)
  /** The place after the number before this one. */
  const since = (place: number) => words.findLastIndex((it, other) => other < place && isNumber(it)) + 1
  return words.some((word, place) => {
    if (!isNumber(word) || word.term !== term || (unit !== undefined && word.unit !== unit)) return false
    if (!sameSet(classes, boundsAt(words, place).classes)) return false
    // "1000 pages" is "a threshold of 1000 or DEFAULT pages", and "two-hour blocks" are "blocks of two hours".
    if (right?.n === 1 && !isAt(right.term, place + 1, place + 5) && !isAt(right.term, place - 2, place)) return false
    if (left?.n === 1 && !isAt(left.term, since(place), place)) return false
    const anchor = (left ?? right)?.term
    if (anchor === undefined) return true
    const isCloser = (other: number, from: number, to: number) =>
      words
        .slice(Math.max(0, from), to)
        .some((it, at) => isNumber(it) && it.unit === word.unit && Math.max(0, from) + at !== other)
    for (let distance = 1; distance <= furthest; distance++) {
      for (const other of [place - distance, place + distance]) {
        const it = words[other]
        // A number of this kind that stands closer to the word is the one it belongs to.
        if (it?.is === "content" && it.term === anchor && !isCloser(place, other - distance + 1, other + distance))
          return true
      }
    }
    return false
  })
}

/** Content terms by whether the nearest negation before them in their clause applies to them. */
const polarityOf = (clauses: Statement["clauses"]) => {
  const negated = new Set<string>()
  const stated = new Set<string>()
  for (const words of clauses) {
    let isNegated = false
    for (const word of words) {
      if (word.is === "negation") isNegated = true
      if (!isContent(word)) continue
      ;(isNegated ? negated : stated).add(word.term)
      isNegated = false
    }
  }
  return { negated, stated }
}

/** Whether one negates what the other states. */
const isDenied = (claim: Statement["clauses"], source: Statement["clauses"]): boolean => {
  const [a, b] = [polarityOf(claim), polarityOf(source)]
  const opposes = (one: typeof a, other: typeof a): boolean =>
    [...one.negated].some((term) => !one.stated.has(term) && other.stated.has(term) && !other.negated.has(term))
  return opposes(a, b) || opposes(b, a)
}

const hedges = ["may", "can", "should", "most", "about"]
const strict = ["must", "should", "any", "all", "only", "most", "about"]
const quantifiers = new Set(["any", "all", "only", "most"])

/** Whether what a claim says of "all" or "only" some is said of the same in the source. */
const quantifyAlike = (claim: Statement["clauses"], source: Statement["clauses"]): boolean => {
  const ofEach = (clauses: Statement["clauses"], most: number) =>
    clauses.flatMap((words) =>
      words.flatMap(({ is, term }, at) =>
        is === "operator" && quantifiers.has(term) && words[at + 1]?.is !== "number"
          ? [
              {
                term,
                of: words
                  .slice(at + 1)
                  .filter(isContent)
                  .slice(0, most)
              }
            ]
          : []
      )
    )
  const its = ofEach(source, 3)
  return ofEach(claim, 1).every(
    ({ of: [first], term }) =>
      first === undefined ||
      its.some(
        (it) =>
          (it.term === term || (term === "any" && it.term === "all")) && it.of.some((word) => word.term === first.term)
      )
  )
}

/** Whether the words that qualify a statement leave it as strong and as wide in the source as in the claim. */
const agree = (claim: Statement["clauses"], source: Statement["clauses"]): boolean => {
  const operators = (clauses: Statement["clauses"]) =>
    new Set(clauses.flat().flatMap(({ is, term }) => (is === "operator" ? [term] : [])))
  const [own, its] = [operators(claim), operators(source)]
  if (strict.some((it) => own.has(it) && !its.has(it) && !(it === "any" && its.has("all")))) return false
  const weak = (it: string) => (it === "can" || it === "may" ? own.has("can") || own.has("may") : own.has(it))
  if (hedges.some((it) => its.has(it) && !weak(it))) return false
  if (its.has("must") && !own.has("must") && (own.has("may") || own.has("can") || own.has("should"))) return false
  const negates = (clauses: Statement["clauses"]) => clauses.flat().some(({ is }) => is === "negation")
  return negates(claim) === negates(source) && !isDenied(claim, source) && quantifyAlike(claim, source)
}

/** Two clauses that say the like of different things: what is said of one must not be taken for the other's. */
const isMixed = (clauses: Statement["clauses"], wanted: ReadonlySet<string>): boolean => {
  const sets = clauses.map(
    (words) =>
      new Set(words.filter((it) => (isContent(it) || isNumber(it)) && wanted.has(it.term)).map(({ term }) => term))
  )
  return sets.some((one, at) =>
    sets
      .slice(at + 1)
      .some(
        (other) =>
          [...one].some((it) => other.has(it)) &&
          [...one].some((it) => !other.has(it)) &&
          [...other].some((it) => !one.has(it))
      )
  )
}

/** What adds a time, a place or a condition: such parts of a sentence may stand in any order. */
const adjuncts = new Set("since by in on at when if until with for as of during while".split(" "))

/** "Replicas ping the master" for "the master pings replicas". */
const isReversed = (claim: ReadonlyArray<Word>, source: ReadonlyArray<Word>): boolean => {
  const by = (words: ReadonlyArray<Word>) => words.some(({ word }) => word === "by")
  if (by(claim) !== by(source)) return false
  let at: Array<number> = []
  for (const word of claim) {
    if (adjuncts.has(word.word)) at = []
    const place = isContent(word) ? source.findIndex((it) => isContent(it) && it.term === word.term) : -1
    if (place < 0) continue
    if (at.some((first, n) => at.slice(n + 1).some((it) => place < it && it < first))) return true
    at = [...at, place]
  }
  return false
}

/** How a statement relates to a claim: it says it, it says the like with other numbers, or neither. */
export type Relation = "said" | "otherwise" | "open"

const relationOf = (claim: Statement["clauses"], { before, clauses, label, row }: Statement): Relation => {
  const words = claim.flat()
  const bounding = new Set(words.flatMap((word, at) => (isNumber(word) ? [...boundsAt(words, at).places] : [])))
  const wanted = contentOf(words.filter((_, at) => !bounding.has(at)))
  const numbers = words.flatMap((word, at) => (isNumber(word) ? [at] : []))
  const all = new Set([...wanted, ...numbers.map((at) => words[at]!.term)])
  const has = (part: ReadonlyArray<Word>, at: number) => part.some((it) => isNumber(it) && it.term === words[at]!.term)
  /** What the part lacks is what the claim begins with, if "it" or "this" may mean that. */
  const isCovered = (part: ReadonlyArray<Word>) => {
    const there = contentOf(part)
    const missing = [...wanted].filter((it) => !there.has(it) && !label.has(it))
    const isLinked = part.slice(0, 5).some(({ word }) => anaphora.has(word))
    const isLed = missing.every((it, at) => before.has(it) && [...wanted][at] === it)
    return missing.length === 0 || (isLinked && isLed && missing.length <= wanted.size / 2)
  }
  // One clause more than the claim has: a condition that it weaves in. Further away is something else.
  for (let size = 1; size <= Math.min(clauses.length, claim.length + 1); size++) {
    const parts = clauses.flatMap((_, from) => (from + size > clauses.length ? [] : [clauses.slice(from, from + size)]))
    const covering = parts.filter((part) => isCovered(part.flat()) && numbers.every((at) => has(part.flat(), at)))
    if (covering.length === 0) continue
    return covering.some(
      (part) =>
        numbers.every((at) => isBound(words, at, part.flat())) &&
        agree(claim, part) &&
        !isMixed(part, all) &&
        !isReversed(words, part.flat())
    )
      ? "said"
      : "open"
  }
  const source = clauses.flat()
  const mayBe = (it: Word, at: number) => isNumber(it) && it.readings.some((one) => words[at]!.readings.includes(one))
  const differs = numbers.some((at) => ![...source, ...row].some((it) => mayBe(it, at)))
  return isCovered(source) && differs && source.some(isNumber) ? "otherwise" : "open"
}

/** A sentence without quotation marks, markup and its last sign; signs before numbers count. */
const plain = (text: string) =>
  text
    .replace(/[\s`*"\u201c\u201d]+/g, " ")
    .replace(/[.!?\u2026\u3002:]{1,9} ?$/, "")
    .trim()
    .toLowerCase()

/** Fewer words may stand anywhere. */
const fewWords = 5

/** Whether a passage has a sentence word for word, from the start of one of its own to the end of one. */
const isQuoted = (quoted: string, passage: string): boolean =>
  quoted.split(" ").length >= fewWords &&
  passage.split(/\n[^\S\n]*\n/).some((paragraph) => {
    const text = plain(paragraph)
    const at = text.indexOf(quoted)
    const [before, after] = [text.slice(0, at).trimEnd(), text.slice(at + quoted.length)]
    return at >= 0 && (before === "" || /[.!?\u3002]$/.test(before)) && (after === "" || /^[.!?\u3002:]/.test(after))
  })

/** Whether a sentence negates what another states, or states what it negates. */
export const denies = (sentence: string, source: string): boolean => isDenied(clausesOf(sentence), clausesOf(source))

/** Letters of scripts whose words this does not separate. */
const unread = /[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\P{L}]/u

/**
 * Whether a passage says what a sentence says: one of its sentences, or clauses of it that follow each other, have all
 * its content, numbers with the same units, bounds and nearest words, and are negated and qualified alike. Strict: what
 * is said in other words is "open", and in a language other than English, whose negations are unknown, all that is not
 * quoted.
 */
export const relation = (sentence: string, passage: string, tableHeader?: string): Relation => {
  const claim = clausesOf(sentence)
  const texts = textsOf(passage, tableHeader, 1)
  const quoted = plain(sentence)
  if (/\p{L}{2}/u.test(quoted) && texts.some(({ text }) => plain(text) === quoted)) return "said"
  if (isQuoted(quoted, passage)) return "said"
  const isEnglish = (languageOf(sentence) ?? "en") === "en" && !unread.test(sentence)
  if (!isEnglish || exclusion.test(sentence) || !claim.flat().some(isContent)) return "open"
  if (claim.flat().length > longest) return "open"
  const found = new Set(statementsOf(texts).map((statement) => relationOf(claim, statement)))
  return found.has("said") ? "said" : found.has("otherwise") ? "otherwise" : "open"
}
