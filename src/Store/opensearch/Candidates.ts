import * as Effect from "effect/Effect"
import type { DocumentId } from "../../model/Document.ts"
import { type Scored, byScoreAndId } from "../../model/Passage.ts"
import type { Answer, Failed } from "./client.ts"
import { type Cluster, mostHits } from "./Cluster.ts"
import { Moved } from "./errors.ts"
import type { CollectionRecord } from "./records.ts"
import { type Head, type PassageSource, headPlace, placeOf, storedHead } from "./sources.ts"

/** A passage by which documents' generations are told apart. */
export interface Candidate extends Pick<PassageSource, "id" | "key" | "gen" | "ordinal" | "of"> {
  readonly record: CollectionRecord
  readonly doc_id: DocumentId
  readonly terms?: string | undefined
  readonly len?: number | undefined
  readonly v?: string | undefined
}

/** The fields that are read of every candidate. */
export const candidateFields = ["id", "key", "gen", "ordinal", "of", "doc_id"]

/** Fields that are columns too, of which a search reads hundreds at the price of a few sources. */
const columnOf = { terms: "counts", len: "len", v: "v" } as const
type Column = keyof typeof columnOf

/** What a search asks, so that `candidateOf` finds fields of its hits. */
export const columns = (fields: ReadonlyArray<Column>) => ({
  _source: false,
  stored_fields: "_none_",
  docvalue_fields: [...candidateFields, ...fields.map((field) => columnOf[field])]
})

const candidateOf = (record: CollectionRecord, { _source, fields }: Answer): Candidate => {
  if (fields === undefined) return { ...(_source as Omit<Candidate, "record">), record }
  const { counts, ...own } = Object.fromEntries(
    Object.entries(fields as Readonly<Record<string, readonly [unknown]>>).map(([name, [value]]) => [name, value])
  ) as unknown as Omit<Candidate, "record"> & { readonly counts?: string }
  return { ...own, ...(counts === undefined ? {} : { terms: Buffer.from(counts, "base64").toString() }), record }
}

/**
 * Candidates of a leg: of 35,000 passages, the best ten were among the nearest 400 in 99 of 100 cases, in 73 among the
 * nearest 50.
 */
export const candidates = 400

/**
 * The passages that one query has met. A search finds old and new generations of a document for a moment: its head,
 * which is read as it is now, says which one is the document. A document's head is read once for the whole query, so
 * that all its parts see the same one; what it lost meanwhile makes the query begin again (`Moved`).
 */
export const makeCandidates = (cluster: Cluster) => {
  const met = new Map<number, Candidate>()
  const heads = new Map<string, Head | undefined>()
  const headKey = ({ id }: CollectionRecord, key: string): string => `${id} ${key}`

  const add = (candidate: Candidate): void => {
    met.set(candidate.id, { ...met.get(candidate.id), ...candidate })
  }

  const of = (id: number): Candidate => {
    const found = met.get(id)
    if (found === undefined) throw new Error(`Passage ${id} was not met`)
    return found
  }

  /** The generation of a document that this query sees; undefined: none. */
  const learn = Effect.fnUntraced(function* (record: CollectionRecord, keys: ReadonlyArray<string>) {
    const unknown = [...new Set(keys)].filter((key) => !heads.has(headKey(record, key)))
    const found = yield* cluster.get(
      unknown.map((key) => headPlace(record, key)),
      ["gen"]
    )
    for (const [at, key] of unknown.entries()) {
      heads.set(headKey(record, key), found[at]!.found === true ? (found[at]!._source as Head) : undefined)
    }
    return new Set(unknown)
  })

  const isCurrent = ({ gen, key, record }: Candidate): boolean => heads.get(headKey(record, key))?.gen === gen

  /**
   * The best `depth` of the current passages that a search finds, best first by `scored`, with all that tie with the
   * last. A passage of a generation that was replaced while this search ran may have hidden its successor, so that it
   * runs once more; if others take places, or equals may have been cut off, it looks deeper.
   */
  const best = Effect.fnUntraced(function* (
    record: CollectionRecord,
    { depth, wanted }: { readonly depth: number; readonly wanted: number },
    run: (size: number) => Effect.Effect<ReadonlyArray<Answer>, Failed>,
    scored: (ids: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Scored>, Failed | Moved>
  ) {
    for (let size = Math.min(mostHits, wanted); ;) {
      const hits = yield* run(size)
      const found = hits.map((hit) => candidateOf(record, hit))
      for (const candidate of found) add(candidate)
      const ranked = (yield* scored(found.map(({ id }) => id))).toSorted(byScoreAndId)
      const current: Array<Scored> = []
      let [looked, isReplaced] = [0, false]
      while (looked < ranked.length && !isReplaced) {
        const last = current[depth - 1]?.score
        const tied = ranked.findIndex(({ score }, at) => at >= looked && score !== last)
        const next = last === undefined ? looked + depth - current.length : tied < 0 ? ranked.length : tied
        if (next === looked) break
        const some = ranked.slice(looked, next).map((one) => ({ one, candidate: of(one.id) }))
        const learnt = yield* learn(
          record,
          some.map(({ candidate }) => candidate.key)
        )
        isReplaced = some.some(({ candidate: { gen, key } }) => {
          const now = heads.get(headKey(record, key))?.gen
          return learnt.has(key) && now !== undefined && gen < now
        })
        current.push(...some.flatMap(({ candidate, one }) => (isCurrent(candidate) ? [one] : [])))
        looked = next
      }
      if (isReplaced) continue
      const stale = Math.min(looked, ranked.length) - current.length
      const isCut = looked >= ranked.length && size < candidates
      if (hits.length === size && size < mostHits && (size - stale < wanted || isCut)) {
        size = Math.min(mostHits, 2 * size)
        continue
      }
      return current
    }
  })

  /** Those of some hits that are current, with whatever else was read of them. */
  const current = Effect.fnUntraced(function* <More>(record: CollectionRecord, hits: ReadonlyArray<Answer>) {
    const candidates = hits.map((hit) => candidateOf(record, hit) as Candidate & More)
    yield* learn(
      record,
      candidates.map(({ key }) => key)
    )
    const current = candidates.filter((candidate) => isCurrent(candidate))
    for (const candidate of current) add(candidate)
    return current
  })

  /** The passages before and after, which are candidates too then. */
  const beside = (id: number): ReadonlyArray<number> => {
    const one = of(id)
    return [-1, 1].flatMap((step) => {
      const [beside, ordinal] = [id + step, one.ordinal + step]
      if (ordinal < 0 || ordinal >= one.of) return []
      add({ id: beside, doc_id: one.doc_id, gen: one.gen, key: one.key, of: one.of, ordinal, record: one.record })
      return [beside]
    })
  }

  /** Some fields of passages, as they are now; one that is gone was replaced. */
  const read = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, fields?: ReadonlyArray<string>) {
    const wanted = ids.map((id) => of(id))
    const found = yield* cluster.get(
      wanted.map((one) => placeOf(one.record.passages, one)),
      fields
    )
    return yield* Effect.forEach(wanted, (candidate, at) =>
      found[at]!.found === true
        ? Effect.succeed({ candidate, source: found[at]!._source as PassageSource })
        : new Moved()
    )
  })

  /** Fields that are read at most once of each passage. */
  const fill = Effect.fnUntraced(function* (ids: ReadonlyArray<number>, fields: ReadonlyArray<Column>) {
    const lacking = (some: ReadonlyArray<number>) => some.filter((id) => fields.some((field) => !(field in of(id))))
    const missing = lacking(ids)
    const records = new Map(missing.map((id) => [of(id).record.passages, of(id).record]))
    const answers = yield* cluster.searches(
      [...records.keys()].map((index) => ({
        index,
        body: {
          ...columns(fields),
          size: missing.length,
          track_total_hits: false,
          query: { constant_score: { filter: { terms: { id: missing } } } }
        }
      }))
    )
    for (const [at, record] of [...records.values()].entries()) {
      for (const hit of answers[at].hits.hits) add(candidateOf(record, hit))
    }
    // Those without the field, and those that no search finds yet.
    for (const { candidate, source } of yield* read(lacking(missing), fields)) {
      add({ ...candidate, ...Object.fromEntries(fields.map((field) => [field, source[field]])) })
    }
    return ids.map((id) => of(id))
  })

  /** The documents of passages, whole; one that changed since the query began makes it begin again. */
  const documents = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
    const wanted = ids.map((id) => of(id))
    const found = yield* cluster.get(wanted.map(({ key, record }) => headPlace(record, key)))
    return new Map(
      yield* Effect.forEach(wanted, ({ gen, id }, at) => {
        const head = storedHead(found[at]!)?.head
        return head?.gen === gen ? Effect.succeed([id, head] as const) : new Moved()
      })
    )
  })

  return { beside, best, current, documents, fill, of, read }
}

export type Candidates = ReturnType<typeof makeCandidates>
