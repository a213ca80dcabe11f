import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { Mask } from "../../model/Passage.ts"
import type { Demands } from "../../model/SearchResult.ts"
import { holding } from "../../postings/load.ts"
import { phraseTest, plainTerms, writes } from "../../terms/phrase.ts"
import { isLoneCharacter } from "../../terms/scan.ts"
import { countOf, idsOf } from "./Masks.ts"
import { Cancelled } from "./Cancelled.ts"
import * as keyword from "./keyword.ts"
import { inList, list } from "./rows.ts"
import { segmentsOn } from "./segments.ts"

/** Most passages read for a phrase, best first by its words, so that no phrase takes seconds. */
const mostRead = 5000
/** Most passages read to find how they write a word. */
const mostLookedThrough = 500
const mostTerms = 16
const page = 500

type Bits = Uint32Array

const meet = (a: Bits, b: Bits): Bits => a.map((word, at) => word & (b[at] ?? 0))
const less = (a: Bits, b: Bits): Bits => a.map((word, at) => word & ~(b[at] ?? 0))

const termsOf = (text: string) => plainTerms(text).slice(0, mostTerms)

/** The passages that have all words of a text; all passages if it has none. */
const held = (sql: SqlClient.SqlClient, collection: number, text: string, field: "any" | "title") =>
  Effect.flatMap(Cancelled, (isCancelled) =>
    holding(
      segmentsOn(sql),
      collection,
      termsOf(text).map((term) => ({ term, isPrefix: isLoneCharacter(term) })),
      { field, isCancelled }
    )
  )

/** Those of the passages with a field that passes, and how many were left unread. */
const passing = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  candidates: Bits,
  wanted: string,
  { most, test }: { readonly most: number; readonly test: (field: string) => boolean }
) {
  const count = countOf(candidates)
  const ids =
    count <= most
      ? [...idsOf(candidates)]
      : (yield* keyword.search(sql, [collection], wanted, { depth: most, mask: { bits: candidates }, also: [] }))
          .slice(0, most)
          .map(({ id }) => id)
  const isCancelled = yield* Cancelled
  const bits = new Uint32Array(candidates.length)
  for (let from = 0; from < ids.length; from += page) {
    if (isCancelled()) return yield* Effect.interrupt
    const rows = yield* sql.unsafe<keyword.SearchedRow>(
      `SELECT ${keyword.searchedColumns}
       FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE p.id ${inList}`,
      [list(ids.slice(from, from + page))]
    )
    for (const { heading, id, text, title } of rows.map(keyword.toKeywordRow)) {
      if (test(text) || test(heading) || test(title)) bits[id >>> 5]! |= 1 << (id & 31)
    }
  }
  return { bits, unread: count - ids.length }
})

/** The passages of a collection, or of a mask, that meet the demands, and how many were left unread. */
export const demanded = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  mask: Mask | undefined,
  { phrases, titles, without }: Demands
) {
  let unchecked = 0
  const having = Effect.fnUntraced(function* (phrase: string, among: Bits | undefined) {
    const holding = yield* held(sql, collection, phrase, "any")
    const test = phraseTest(phrase)
    if (test === undefined) return holding
    const candidates = among === undefined ? holding : meet(holding, among)
    const { bits, unread } = yield* passing(sql, collection, candidates, phrase, { test, most: mostRead })
    unchecked += unread
    return bits
  })

  let bits = mask?.bits
  const restrict = (to: Bits) => {
    bits = bits === undefined ? to : meet(to, bits)
  }
  for (const title of titles) restrict(yield* held(sql, collection, title, "title"))
  for (const phrase of phrases) restrict(yield* having(phrase, bits))
  for (const { in: where, text } of without) {
    if (termsOf(text).length === 0) continue
    bits ??= yield* held(sql, collection, "", "any")
    bits = less(bits, where === "phrase" ? yield* having(text, bits) : yield* held(sql, collection, text, where))
  }
  const left = bits === undefined ? mask : { bits, count: countOf(bits) }
  return { mask: left, unchecked }
})

/** Which words occur literally in a passage, among the passages that have their terms. */
export const written = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  words: ReadonlyArray<string>
) {
  return yield* Effect.filter(words, (word) =>
    Effect.gen(function* () {
      const candidates = yield* held(sql, collection, word, "any")
      const test = (field: string) => writes(field, word)
      const { bits } = yield* passing(sql, collection, candidates, word, { test, most: mostLookedThrough })
      return bits.some((some) => some !== 0)
    })
  )
})
