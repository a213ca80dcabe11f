import * as Effect from "effect/Effect"
import type { DocumentId } from "../../model/Document.ts"
import type { Answer, Failed } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
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

/** What is read of every candidate. */
export const identity = ["id", "key", "gen", "ordinal", "of", "doc_id"]

const candidateOf = (record: CollectionRecord, { _source }: Answer): Candidate => ({
  ...(_source as Omit<Candidate, "record">),
  record
})

/** Most passages that one search returns. */
const most = 10_000

/**
 * The passages that one query has met. A search finds old and new generations of a document for a moment: its head,
 * which is read as it is now, says which one is the document. A document's head is read once for the whole query, so
 * that all its parts see the same one; what it lost meanwhile makes the query begin again (`Moved`).
 */
export class Candidates {
  private readonly met = new Map<number, Candidate>()
  private readonly heads = new Map<string, Head | undefined>()

  constructor(private readonly cluster: Cluster) {}

  private headKey({ id }: CollectionRecord, key: string): string {
    return `${id} ${key}`
  }

  /** The generation of a document that this query sees; undefined: none. */
  readonly learn = Effect.fnUntraced(function* (
    this: Candidates,
    record: CollectionRecord,
    keys: ReadonlyArray<string>
  ) {
    const unknown = [...new Set(keys)].filter((key) => !this.heads.has(this.headKey(record, key)))
    const found = yield* this.cluster.get(
      unknown.map((key) => headPlace(record, key)),
      ["gen"]
    )
    for (const [at, key] of unknown.entries()) {
      this.heads.set(this.headKey(record, key), found[at]!.found === true ? (found[at]!._source as Head) : undefined)
    }
    return new Set(unknown)
  })

  private isCurrent({ gen, key, record }: Candidate): boolean {
    return this.heads.get(this.headKey(record, key))?.gen === gen
  }

  /**
   * What a search finds of current passages: at least `wanted` if there are so many. A passage of a generation that was
   * replaced while this search ran may have hidden its successor, so that it runs once more; if others take places, it
   * looks deeper.
   */
  readonly search = Effect.fnUntraced(function* (
    this: Candidates,
    record: CollectionRecord,
    wanted: number,
    run: (size: number) => Effect.Effect<ReadonlyArray<Answer>, Failed>
  ) {
    for (let size = Math.min(most, wanted); ;) {
      const found = yield* run(size)
      const candidates = found.map((hit) => candidateOf(record, hit))
      const learnt = yield* this.learn(
        record,
        candidates.map(({ key }) => key)
      )
      const current = candidates.filter((candidate) => this.isCurrent(candidate))
      const isReplaced = candidates.some(({ gen, key }) => {
        const now = this.heads.get(this.headKey(record, key))?.gen
        return learnt.has(key) && now !== undefined && gen < now
      })
      if (isReplaced) continue
      if (current.length < Math.min(wanted, size) && found.length === size && size < most) {
        size = Math.min(most, 2 * size)
        continue
      }
      for (const candidate of current) this.add(candidate)
      return current.map(({ id }) => id)
    }
  })

  /** Those of some hits that are current, with whatever else was read of them. */
  readonly current = Effect.fnUntraced(function* <More>(
    this: Candidates,
    record: CollectionRecord,
    hits: ReadonlyArray<Answer>
  ) {
    const candidates = hits.map((hit) => candidateOf(record, hit) as Candidate & More)
    yield* this.learn(
      record,
      candidates.map(({ key }) => key)
    )
    const current = candidates.filter((candidate) => this.isCurrent(candidate))
    for (const candidate of current) this.add(candidate)
    return current
  })

  add(candidate: Candidate): void {
    this.met.set(candidate.id, { ...this.met.get(candidate.id), ...candidate })
  }

  of(id: number): Candidate {
    const found = this.met.get(id)
    if (found === undefined) throw new Error(`Passage ${id} was not met`)
    return found
  }

  /** The passages before and after, which are candidates too then. */
  beside(id: number): ReadonlyArray<number> {
    const { doc_id, gen, key, of, ordinal, record } = this.of(id)
    return [-1, 1].flatMap((step) => {
      if (ordinal + step < 0 || ordinal + step >= of) return []
      this.add({ id: id + step, doc_id, gen, key, of, ordinal: ordinal + step, record })
      return [id + step]
    })
  }

  /** Some fields of passages, as they are now; one that is gone was replaced. */
  readonly read = Effect.fnUntraced(function* (
    this: Candidates,
    ids: ReadonlyArray<number>,
    fields?: ReadonlyArray<string>
  ) {
    const wanted = ids.map((id) => this.of(id))
    const found = yield* this.cluster.get(
      wanted.map((one) => placeOf(one.record.passages, one)),
      fields
    )
    return yield* Effect.forEach(wanted, (candidate, at) =>
      found[at]!.found === true
        ? Effect.succeed({ candidate, source: found[at]!._source as PassageSource })
        : Effect.fail(new Moved())
    )
  })

  /** Fields that are read at most once of each passage. */
  readonly fill = Effect.fnUntraced(function* (
    this: Candidates,
    ids: ReadonlyArray<number>,
    fields: ReadonlyArray<"terms" | "len" | "v">
  ) {
    const missing = ids.filter((id) => fields.some((field) => !(field in this.of(id))))
    for (const { candidate, source } of yield* this.read(missing, fields)) {
      this.add({ ...candidate, ...Object.fromEntries(fields.map((field) => [field, source[field]])) })
    }
    return ids.map((id) => this.of(id))
  })

  /** The documents of passages, whole; one that changed since the query began makes it begin again. */
  readonly documents = Effect.fnUntraced(function* (this: Candidates, ids: ReadonlyArray<number>) {
    const wanted = ids.map((id) => this.of(id))
    const found = yield* this.cluster.get(wanted.map(({ key, record }) => headPlace(record, key)))
    return new Map(
      yield* Effect.forEach(wanted, ({ gen, id }, at) => {
        const head = storedHead(found[at]!)?.head
        return head?.gen === gen ? Effect.succeed([id, head] as const) : Effect.fail(new Moved())
      })
    )
  })
}
