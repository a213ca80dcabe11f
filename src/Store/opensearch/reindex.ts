import * as Effect from "effect/Effect"
import { ReindexTakenOver } from "../../Store.ts"
import { type CollectionName, type EmbedderIdentity, sameEmbedder } from "../../model/Collection.ts"
import type { Embedded, ReindexPosition, ReindexState, Unembedded } from "../../model/Stored.ts"
import type { Answer } from "./client.ts"
import { type Cluster, type Write, makeIndex, mostHits } from "./Cluster.ts"
import { passagesIndex } from "./mapping.ts"
import { type CollectionRecord, change, countsOf, find, nextGeneration } from "./records.ts"
import { rowsAfter } from "./rows.ts"
import { type PassageSource, passageId, rewritten, textOf } from "./sources.ts"

/** How far the change to an embedder has come; fails if the collection is changing to another one, or to none. */
const progress = ({ embedder, name, next }: CollectionRecord, wanted: EmbedderIdentity) =>
  next !== undefined && sameEmbedder(next.embedder, wanted)
    ? Effect.succeed(next)
    : Effect.fail(new ReindexTakenOver({ collection: name, wanted, other: next?.embedder ?? embedder }))

/** Starts a change of embedder, in a new index of passages, or resumes an interrupted one to the same embedder. */
export const begin = Effect.fnUntraced(function* (cluster: Cluster, name: CollectionName, embedder: EmbedderIdentity) {
  const record = yield* find(cluster, name)
  const [counts] = yield* countsOf(cluster, [record])
  const total = counts!.passages
  if (record.next !== undefined && sameEmbedder(record.next.embedder, embedder)) {
    return { done: record.next.done, total } satisfies ReindexState
  }
  const { next: abandoned } = yield* change(cluster, name, (now) =>
    Effect.gen(function* () {
      const generation = Math.max(now.generation, nextGeneration(now)) + 1
      const passages = cluster.names.passages(now.id, generation)
      yield* cluster.send("DELETE", `/${passages}`, { allow: [404] })
      yield* makeIndex(cluster, passages, passagesIndex(embedder.dimensions))
      return { ...now, next: { embedder, passages, through: 0, done: 0 } }
    })
  )
  if (abandoned !== undefined) yield* cluster.send("DELETE", `/${abandoned.passages}`, { allow: [404] })
  return { done: 0, total } satisfies ReindexState
})

/** Gives up a change of embedder. */
export const cancel = Effect.fnUntraced(function* (cluster: Cluster, name: CollectionName) {
  const { next: abandoned } = yield* change(cluster, name, (now) => Effect.succeed({ ...now, next: undefined }))
  if (abandoned !== undefined) yield* cluster.send("DELETE", `/${abandoned.passages}`, { allow: [404] })
})

/** The next passages without a new vector, in order. */
export const pending = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  embedder: EmbedderIdentity,
  limit: number
) {
  const { through } = yield* progress(record, embedder)
  const position: ReindexPosition = { embedder, through }
  const rows = yield* rowsAfter(cluster, record, through, limit)
  return {
    position,
    passages: rows.map(({ head, source }): Unembedded => ({ id: source.id, ...textOf(source, head.own.title) }))
  }
})

/** Stores passages with new vectors in the new index; all up to the last of them are then done. */
export const add = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  embedded: ReadonlyArray<Embedded>,
  { embedder, through }: ReindexPosition
) {
  const next = yield* progress(record, embedder)
  const overtaken = new ReindexTakenOver({ collection: record.name, wanted: embedder, other: embedder })
  if (next.through !== through) return yield* overtaken
  const last = embedded.at(-1)
  if (last === undefined) return
  const { hits } = yield* cluster.search(record.passages, {
    size: mostHits,
    query: { terms: { id: embedded.map(({ id }) => id) } }
  })
  const sources = new Map(
    (hits.hits as ReadonlyArray<Answer>).map(({ _source }) => [_source.id as number, _source as PassageSource])
  )
  const writes = embedded.flatMap(({ id, vector }): ReadonlyArray<Write> => {
    const source = sources.get(id)
    if (source === undefined) return []
    return [
      {
        action: { index: { _index: next.passages, _id: passageId(source), routing: source.key } },
        source: rewritten(source, vector)
      }
    ]
  })
  yield* cluster.bulk(writes)
  yield* change(
    cluster,
    record.name,
    (now) =>
      now.next?.passages === next.passages && now.next.through === through
        ? Effect.succeed({ ...now, next: { ...now.next, through: last.id, done: now.next.done + writes.length } })
        : Effect.fail(overtaken),
    // The next step reads the record by its id; a wait for searches would be a second for each.
    "false"
  )
})

/** Searches use the new index from one moment on, unless passages were added that it has not yet. */
export const finish = Effect.fnUntraced(function* (cluster: Cluster, name: CollectionName, embedder: EmbedderIdentity) {
  const record = yield* find(cluster, name)
  const next = yield* progress(record, embedder)
  const [counts] = yield* countsOf(cluster, [record])
  const passages = counts!.passages
  yield* cluster.refreshed(next.passages)
  if ((yield* rowsAfter(cluster, record, next.through, 1)).length > 0) return { changed: false, passages }
  const { passages: before } = yield* change(cluster, name, (now) =>
    now.next?.passages === next.passages && now.next.through === next.through
      ? Effect.succeed({
          ...now,
          embedder: next.embedder,
          passages: next.passages,
          generation: nextGeneration(now),
          next: undefined
        })
      : Effect.fail(new ReindexTakenOver({ collection: name, wanted: embedder, other: embedder }))
  )
  const alias = cluster.names.alias(record.id)
  yield* cluster.send("POST", "/_aliases", {
    body: {
      actions: [{ remove: { index: before, alias, must_exist: false } }, { add: { index: next.passages, alias } }]
    }
  })
  yield* cluster.send("DELETE", `/${before}`, { allow: [404] })
  return { changed: true, passages }
})
