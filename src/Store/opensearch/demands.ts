import * as Effect from "effect/Effect"
import type { Demands } from "../../model/SearchResult.ts"
import { phraseTest, plainTerms, writes } from "../../terms/phrase.ts"
import { isLoneCharacter } from "../../terms/scan.ts"
import { headingOf } from "../core/passage.ts"
import { searchedHeading, searchedTitle } from "../../entities/mention.ts"
import type { Answer } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
import { type Query, all, not } from "./filter.ts"
import type { Within } from "./within.ts"
import { type PassageSource, headPlace, stored, storedHead } from "./sources.ts"

/** Most passages read for a phrase, best first by its words, so that no phrase takes seconds. */
const mostRead = 5000
/** Most passages read to find how they write a word. */
const mostLookedThrough = 500
const mostTerms = 16

const termsOf = (text: string) => plainTerms(text).slice(0, mostTerms)

const termIn = (field: "terms" | "title_terms", term: string): Query =>
  isLoneCharacter(term) ? { prefix: { [field]: term } } : { term: { [field]: stored(term) } }

/** Passages that have all words of a text. */
const held = (text: string, field: "terms" | "title_terms"): Query =>
  all(termsOf(text).map((term) => termIn(field, term)))

/** Those of a query's passages with a field that passes, as a query, and how many were left unread. */
const passing = Effect.fnUntraced(function* (
  cluster: Cluster,
  { record }: Pick<Within, "record">,
  query: Query,
  wanted: string,
  { most, test }: { readonly most: number; readonly test: (field: string) => boolean }
) {
  const { hits } = yield* cluster.search(record.passages, {
    size: most,
    track_total_hits: true,
    _source: ["id", "key", "part.text", "part.heading", "part.table_header"],
    query: { bool: { filter: query, should: termsOf(wanted).map((term) => termIn("terms", term)) } }
  })
  const rows = (hits.hits as ReadonlyArray<Answer>).map(({ _source }) => _source as PassageSource)
  const keys = [...new Set(rows.map(({ key }) => key))]
  const heads = yield* cluster.get(
    keys.map((key) => headPlace(record, key)),
    ["own.title", "own.source"]
  )
  const titles = new Map(
    heads.map((answer, at) => {
      const own = answer._source === undefined ? undefined : storedHead(answer)!.head.own
      return [keys[at]!, searchedTitle(own?.title, own?.source)]
    })
  )
  const ids = rows.flatMap(({ id, key, part }) => {
    const heading = searchedHeading({ heading: headingOf(part.heading), tableHeader: part.table_header ?? undefined })
    return test(part.text) || test(heading) || test(titles.get(key) ?? "") ? [id] : []
  })
  return { query: { terms: { id: ids } } as Query, count: ids.length, unread: hits.total.value - rows.length }
})

/** What the filter and the demands leave of a collection: a query, its passages, and how many were left unread. */
export const demanded = Effect.fnUntraced(function* (
  cluster: Cluster,
  within: Within,
  { phrases, titles, without }: Demands
) {
  let unchecked = 0
  const having = Effect.fnUntraced(function* (phrase: string, among: ReadonlyArray<Query>) {
    const holding = held(phrase, "terms")
    const test = phraseTest(phrase)
    if (test === undefined) return holding
    const { query, unread } = yield* passing(cluster, within, all([...among, holding]), phrase, {
      test,
      most: mostRead
    })
    unchecked += unread
    return query
  })
  const parts: Array<Query> = within.filter === undefined ? [] : [within.filter]
  for (const title of titles) parts.push(held(title, "title_terms"))
  for (const phrase of phrases) parts.push(yield* having(phrase, parts))
  for (const { in: where, text } of without) {
    if (termsOf(text).length === 0) continue
    parts.push(
      not(where === "phrase" ? yield* having(text, parts) : held(text, where === "title" ? "title_terms" : "terms"))
    )
  }
  if (parts.length === 0) return { filter: undefined, count: undefined, unchecked }
  const filter = all(parts)
  const { hits } = yield* cluster.search(within.record.passages, { size: 0, track_total_hits: true, query: filter })
  return { filter, count: hits.total.value as number, unchecked }
})

/** Which words occur literally in a passage, among the passages that have their terms. */
export const written = (cluster: Cluster, within: Pick<Within, "record">, words: ReadonlyArray<string>) =>
  Effect.filter(words, (word) =>
    Effect.map(
      passing(cluster, within, held(word, "terms"), word, {
        test: (field) => writes(field, word),
        most: mostLookedThrough
      }),
      ({ count }) => count > 0
    )
  )
