import type { Hit, Quote } from "../model/SearchResult.ts"
import { openFence } from "./citations.ts"
import { capitalised } from "./sentences.ts"
import { longestPair, pointsBack, type Statement, statementsOf } from "./statements.ts"
import { queryLanguage } from "../terms/detect.ts"
import { functionWords, type Language, languageNamed, languageOf } from "../terms/languages.ts"
import { message } from "../terms/pasted.ts"
import { contentIn, inflectedIn, splitQuery, terms } from "../terms/terms.ts"

interface Candidate extends Statement {
  readonly n: number
  readonly terms: ReadonlySet<string>
  /** The terms of the headings above it. */
  readonly context: ReadonlySet<string>
  /** How well it fits the kind of answer that the question asks for. */
  readonly fit: number
  /** What it weighs by the rank of its passage. */
  readonly weight: number
}

/** The weight of a term in the headings, relative to one in the statement. */
const ofHeading = 0.6
/** If the best statement has a smaller share of the question's terms, by how likely its passage answers, there is no answer. */
const leastShare = 0.35

const isDefinition =
  /^\s*(?:what(?:'s| is| are| was| were)|who(?:'s| is| are)|define|what (?:does|do) .{1,200} (?:do|mean)\b)(?!.*\b(?:default|port|size|limit|maximum|difference)\b)/i
const isValue =
  /\b(?:how (?:many|much|long|often|large|big|old|far|deep|high|fast|wide)|default|which|when|maximum|minimum|limit|port|size)\b/i
const isCount =
  /\bhow (?:many|much|long|often|large|big|old|far|deep|high|fast|wide)\b|\b(?:maximum|minimum|limit|size)\b/i
const isHowTo = /^\s*how (?:do|can|could|to|should|does one)\b/i
/** Between what is defined and what is said of it. */
const defines =
  /\s(?:is|are|was|were|means?|refers? to|stands? for|describes?|represents?|lets?|allows?|provides?|consists? of|shows?|contains?)\s/
/** Gives what was said before a name: `this is called "x"`, `also known as x`. */
const names =
  /\b(?:called|known as|referred to as|said to be)\s(?:an?\s|the\s)?["'*_`\u201c]{0,3}([^"'*_`\u201c\u201d.,;:()]{1,60})/i
/** Begins a condition, which says what else holds and not what something is. */
const conditional = /^\W{0,4}(?:if|when|whether|unless|while|where|that|which|as|because|since)\b/i

/** Words that say how the question is asked, not what it is about: they are rare in the answer. */
const asking = new Set(
  [
    "what happens meaning mean called used uses use using want need do does work works possible way difference default",
    "advantage benefit purpose reason good",
    "many much long often large big old far deep high fast wide most allow allowed value set"
  ]
    .flatMap((words) => words.split(" "))
    .flatMap((word) => terms(word))
)
const ofAsking = 0.3

/** How much a statement says what the subject is: 0 if it does not, 1 if all that it defines is the subject. */
const definesSubject = ({ isFirst, kind, text }: Statement, above: string, subject: ReadonlySet<string>): number => {
  const of = (name: string): number => {
    const named = new Set(splitQuery(name).content)
    return named.size === 0 ? 0 : [...named].filter((term) => subject.has(term)).length / named.size
  }
  const isAllIn = (...parts: ReadonlyArray<string>): boolean => {
    const had = new Set(parts.flatMap((part) => terms(part)))
    return [...subject].every((term) => had.has(term) || asking.has(term))
  }
  if (kind === "definition") {
    const end = text.indexOf(": ")
    const own = of(text.slice(0, end))
    // An option, or a value of one, has its name from what it is about, and does not define it.
    return isFirst && isAllIn(text, above) ? own ** 2 * (/^[\W_]{0,3}(?:--?\w|<)/.test(text) ? 0.3 : 1) : 0
  }
  const verb = defines.exec(text.slice(0, 120))
  const head = verb === null ? "" : text.slice(text.lastIndexOf(", ", verb.index) + 1, verb.index)
  const named = conditional.test(head) ? 0 : of(head)
  if (isAllIn(head) && named >= 0.5) {
    return named * (/^\s(?:(?:is|are|was|were) (?:an?|the)|means?)\s/.test(text.slice(verb?.index ?? 0)) ? 1 : 0.7)
  }
  const given = names.exec(text)?.[1] ?? ""
  return given !== "" && isAllIn(given) && of(given) >= 0.5 ? 0.9 * of(given) : 0
}

/** How much more than others a statement counts that defines the subject, and nothing but it. */
const ofDefinition = 2

/** How well a statement fits the kind of answer that a question asks for: a definition, a value, steps. */
const fitting = (query: string, subject: ReadonlySet<string>) => {
  const [isDefined, values, counts, steps] = [isDefinition, isValue, isCount, isHowTo].map((kind) => kind.test(query))
  const wantsDefault = /\bdefault/i.test(query)
  return (statement: Statement, above: string): number => {
    const { kind, text } = statement
    const defined = isDefined ? definesSubject(statement, above, subject) : 0
    let fit = 1 + 2 * defined + (defined === 1 ? ofDefinition : 0)
    const hasNumber = /\d/.test(text)
    if (counts) fit *= hasNumber ? 1.5 : 0.7
    else if (values && (kind === "row" || hasNumber || text.includes("`"))) fit *= 1.25
    if (wantsDefault && /\bdefault/i.test(text)) fit *= 1.6
    if (steps && (kind === "steps" || text.includes("`"))) fit *= 1.3
    return fit
  }
}

/**
 * Names in the question, without any of which there is no answer: words with a capital within a line. In German and in
 * titles, where other words have one too, those with a capital within the word; the others are `capitals`.
 */
const namesIn = (query: string) => {
  const words = query.match(/(?<![\p{L}\p{N}])\p{L}\p{Ll}{2,}(?![\p{L}\p{N}])/gu) ?? []
  const telling = words.filter((word) => !functionWords.has(word.toLowerCase()))
  const isTitle = telling.length > 2 && telling.every((word) => /^\p{Lu}/u.test(word))
  const tells = !isTitle && languageOf(query) !== "de"
  const names: Array<string> = []
  const capitals: Array<ReadonlyArray<string>> = []
  for (const line of query.split("\n")) {
    for (const { 0: word, index } of line.matchAll(/[\p{L}\p{N}_-]+/gu)) {
      const isCapital = index > 0 && /^\p{Lu}/u.test(word) && word !== "I"
      if ((isCapital && tells) || /\p{L}\p{Lu}/u.test(word)) names.push(...terms(word))
      else if (isCapital) capitals.push(terms(word))
    }
  }
  return { names, capitals }
}

const option = /(?<![\w.-])--[a-z][\w-]*/gi

/** A value or a scrap of code, without what it belongs to. */
const isBare = (text: string): boolean => text.length < 60 && /^\W*(?:default|type|values?)\b\W*:/i.test(text)
const asks = /[?\uff1f]["'”’)\]*_]{0,3}$/
/** A heading without its id, `{#like-this}`. */
const withoutId = (heading: string): string => {
  const at = heading.lastIndexOf("{#")
  return at > 0 && heading.trimEnd().endsWith("}") ? heading.slice(0, at).trimEnd() : heading
}

/** A heading that is a name in code: `onMounted()`, `v-bind`, `app.mount()`. */
const nameOnly = /^`?(?:v-[\w-]+|(?:[a-z]+[A-Z]\w*|[a-zA-Z][a-zA-Z\d]*[._][a-zA-Z][\w.]*)(?:\(\))?|[a-zA-Z]\w*\(\))`?$/

/** What a sentence, or a passage that is not the first, does not begin with. */
const beginsWithin = /^[\p{Ll},;)]/u

/**
 * Statements that can be read by themselves: a sentence that points back follows the one before it, or its heading, and
 * is left out if there is neither. A question is no answer, but goes before the sentence that follows it.
 */
const readable = (statements: ReadonlyArray<Statement>, nearest: string, passage: string): ReadonlyArray<Statement> => {
  const flat = (text: string): string => text.replace(/\s+/g, " ")
  let before: Statement | undefined
  return statements.flatMap((statement): ReadonlyArray<Statement> => {
    const { heading, isFirst, kind, term, text } = statement
    const previous = before
    before = statement
    if (term !== undefined) return [{ ...statement, kind: "definition", text: `${term}: ${text}` }]
    if (kind === "row" || kind === "definition") return [statement]
    if (/^\W{0,4}see (?:also)?\b/i.test(text)) return []
    const under = withoutId(heading === "" ? nearest : heading)
    const headed = { ...statement, kind: "row" as const, text: `${under}: ${text}` }
    if (isBare(text)) return under === "" ? [] : [headed]
    const isOfName =
      isFirst && kind === "sentence" && nameOnly.test(under) && !text.includes(under.replace(/[`()]/g, ""))
    if (isOfName) return [{ ...headed, kind: "definition" }]
    if (kind === "sentence" && asks.test(text)) return []
    const isTorn = pointsBack.test(text)
    if (previous?.kind === "sentence" && (asks.test(previous.text) || (isTorn && !pointsBack.test(previous.text)))) {
      const both = `${previous.text} ${text}`
      if (both.length <= longestPair && flat(passage).includes(flat(both)))
        return [{ ...statement, at: previous.at, text: both }]
    }
    return isTorn ? (isFirst && heading !== "" ? [headed] : []) : [statement]
  })
}

/** What is within a line of HTML, outside of code: `<a href="x">`, `</sup>`. */
const tag = /`[^`\n]*`|<\/?(?:a|abbr|b|br|code|em|i|img|kbd|mark|s|small|span|strong|sub|sup|u)\b[^<>`]{0,500}>/gi

/** Two elements side by side, as of text in two versions, are two words. */
const adjacent = /<\/span>(?=<span\b)/gi

/** A chosen statement as it is quoted: without tags, which say nothing, and word for word if it has none. */
const quoteOf = ({ kind, n, text }: Candidate): Quote => {
  const bare =
    kind === "steps" || kind === "list"
      ? text
      : text.replace(adjacent, "$& ").replace(tag, (whole) => (whole.startsWith("`") ? whole : ""))
  const isVerbatim = bare === text && kind !== "row" && kind !== "definition"
  return { n, text: bare === text ? text : bare.replace(/ +(?=[ .,;:!?)]|$)/g, ""), isVerbatim }
}

/**
 * The best answers, at most `count`, in the order of the passages: sentences, rows with their columns' names, steps.
 * Each choice is the statement that adds most: the query's terms that no chosen one has, counting less in its headings.
 * Statements of the kind that the question asks for count more, and those of passages further down less. None if the best
 * one has too little of the query.
 */
export const extract = (asked: string, hits: ReadonlyArray<Hit>, count = 3): ReadonlyArray<Quote> => {
  const query = message(asked)
  const languages = new Map<Language, number>()
  for (const hit of hits) {
    const language = languageNamed(hit.language)
    languages.set(language, (languages.get(language) ?? 0) + 1)
  }
  const wanted = new Set(contentIn(query, queryLanguage(query, languages)))
  const readers = new Map([...languages.keys()].map((language) => [language, inflectedIn(query, language)]))
  const fit = fitting(query, wanted)
  const passages = hits.map(({ document, fence, language, passage }, index) => {
    const termsIn = readers.get(languageNamed(language))!
    const above = [document.title ?? "", ...passage.heading]
    const nearest = passage.heading.at(-1) ?? document.title ?? ""
    // Of code that begins in a passage before, only what follows is a statement.
    const endsCode = fence !== undefined && openFence(passage.text) !== undefined
    const stated = statementsOf(endsCode ? `${fence}\n${passage.text}` : passage.text, passage.tableHeader)
    const [first] = stated
    const begins = capitalised(passage.text.slice(0, 200)).trimStart()
    const isCut = passage.ordinal > 0 && first?.kind === "sentence" && first.at === 0 && beginsWithin.test(begins)
    const candidates = readable(stated, nearest, passage.text).map((statement): Candidate => ({
      ...statement,
      n: index + 1,
      // The rest of a sentence is no quote, but has what the passage is about.
      weight: isCut && statement.at === 0 ? 0 : 1 / (1 + 0.05 * index),
      terms: termsIn(statement.text),
      context: termsIn([...above, statement.heading].join("\n")),
      fit: fit(statement, nearest)
    }))
    return { candidates, has: termsIn([...above, passage.text].join("\n")) }
  })
  // The question is about its names: passages without them only share its other words.
  const named = namesIn(query)
  const names = named.names.filter((term) => wanted.has(term))
  // What all documents are about, few of their passages name.
  const isCommon = (name: string) => passages.filter(({ has }) => has.has(name)).length > 0.45 * passages.length
  const required = names.filter((name) => !isCommon(name))
  const candidates = passages
    .filter(({ has }) => required.every((name) => has.has(name)))
    .flatMap((passage) => passage.candidates)
  const isUnknown = (of: ReadonlyArray<string>) =>
    of.some((term) => wanted.has(term)) && !of.some((term) => passages.some(({ has }) => has.has(term)))
  if (named.capitals.some(isUnknown)) return []
  // Nor about options, if no passage has any of them.
  const written = (texts: ReadonlyArray<string>): string => texts.join("\n").toLowerCase().replaceAll("_", "-")
  const options = query.match(option) ?? []
  if (options.length > 0) {
    const texts = hits.map(({ document, passage }) => written([document.title ?? "", ...passage.heading, passage.text]))
    if (!options.some((name) => texts.some((text) => text.includes(written([name]))))) return []
  }
  const isUnheld = (term: string) =>
    !asking.has(term) && !candidates.some((it) => it.terms.has(term) || it.context.has(term))
  // Nothing defines what no passage names.
  if (isDefinition.test(query) && [...wanted].some(isUnheld)) return []
  // All alike: what is rare among passages that were found for the question is seldom what it is about.
  const weights = new Map([...wanted].map((term) => [term, asking.has(term) ? ofAsking : 1]))
  const all = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  const covered = new Map<string, number>()
  const share = (candidate: Candidate, discount: (term: string) => number): number => {
    let sum = 0
    for (const [term, weight] of weights) {
      if (candidate.terms.has(term)) sum += weight * discount(term)
      else if (candidate.context.has(term)) sum += weight * ofHeading * discount(term)
    }
    return sum
  }
  // Repeated terms count less, not nothing: another statement may say it better, or say more.
  const gain = (candidate: Candidate): number =>
    candidate.fit * candidate.weight * share(candidate, (term) => 0.7 ** (covered.get(term) ?? 0))
  const chosen: Array<Candidate> = []
  let first = 0
  while (chosen.length < count) {
    let best: Candidate | undefined
    let most = 0
    for (const candidate of candidates) {
      if (chosen.some(({ text }) => text.includes(candidate.text) || candidate.text.includes(text))) continue
      const value = gain(candidate)
      if (value > most) [best, most] = [candidate, value]
    }
    if (best === undefined || most < 0.45 * first) break
    if (chosen.length === 0) {
      const { relevance } = hits[best.n - 1]!
      const likely = best.weight * (relevance === undefined ? 1 : 0.3 + relevance)
      if ((likely * share(best, () => 1)) / all < leastShare) break
    }
    first ||= most
    chosen.push(best)
    for (const term of new Set([...best.terms, ...best.context])) {
      if (weights.has(term)) covered.set(term, (covered.get(term) ?? 0) + 1)
    }
  }
  return chosen.sort((a, b) => a.n - b.n || a.at - b.at).map(quoteOf)
}

/**
 * The hits behind an answer without a model, as many as `hits`, in their order, and its quotes, numbered by them. What
 * answers best may be one of `further`, found after them; it takes the place of the last ones that say nothing. Further
 * queries name what the question refers to; if nothing has enough of all, the question alone decides.
 */
export const quoting = (
  queries: readonly [string, ...ReadonlyArray<string>],
  hits: ReadonlyArray<Hit>,
  further: ReadonlyArray<Hit>
): { readonly hits: ReadonlyArray<Hit>; readonly quotes: ReadonlyArray<Quote> } => {
  const all = [...hits, ...further]
  const chosen = (from: ReadonlyArray<Hit>) => {
    const quotes = extract(queries.join("\n"), from)
    return quotes.length > 0 || queries.length === 1 ? quotes : extract(queries[0], from)
  }
  const quotes = chosen(all)
  const quoted = new Set(quotes.map(({ n }) => n - 1))
  if (quoted.size > hits.length) return { hits, quotes: chosen(hits) }
  let free = hits.length - quoted.size
  const kept = [...all.keys()].filter((at) => quoted.has(at) || free-- > 0)
  return {
    hits: kept.map((at) => all[at]!),
    quotes: quotes.map((quote) => ({ ...quote, n: kept.indexOf(quote.n - 1) + 1 }))
  }
}
