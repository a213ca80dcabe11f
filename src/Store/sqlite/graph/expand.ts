import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { Vector } from "../../../model/Passage.ts"
import { namedIn } from "../../../entities/extract.ts"
import { hashOf } from "../../../entities/key.ts"
import { linkageWanted, rareIn } from "../../../entities/measure.ts"
import type { PackedMention } from "../../../entities/pack.ts"
import { Walk } from "../../../entities/walk.ts"
import type { Mask } from "../../../model/Mask.ts"
import * as vectors from "../vectors.ts"
import { mentionsIn } from "./edges.ts"
import { entitiesOf } from "./entities.ts"
import type { Searching } from "../Database.ts"
import { type Way, waysOf } from "./ways.ts"
import type { Entity } from "../../../model/Graph.ts"

/** Places reserved for passages that the walk finds. */
const reservedPlaces = 5
const steps = 3

interface Expansion {
  readonly collection: number
  readonly documents: number
  readonly question: string
  readonly auto: boolean
  readonly vector: Vector | undefined
  readonly mask: Mask | undefined
  /** The best hits, best first, with non-negative scores. */
  readonly hits: ReadonlyArray<{ readonly key: number; readonly score: number }>
}

/**
 * The passages for the reserved places, best first, each with the path that led there. With `auto` there are none,
 * unless the question names something in the graph and the graph joins enough of the collection's documents.
 */
export const expand = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { checked, linkages }: Pick<Searching, "checked" | "linkages">,
  { auto, collection, documents, hits, mask, question, vector }: Expansion
) {
  const nothing: ReadonlyMap<number, Way> = new Map()
  if (auto && (yield* linkages.of(sql, collection)) < linkageWanted) return nothing

  const entities = new Map<number, Entity | undefined>()
  const learn = Effect.fnUntraced(function* (hashes: ReadonlyArray<number>) {
    const unknown = [...new Set(hashes)].filter((hash) => !entities.has(hash))
    const found = yield* entitiesOf(sql, collection, unknown)
    for (const hash of unknown) entities.set(hash, found.get(hash))
  })
  const entity = (hash: number) => entities.get(hash)

  const asked = namedIn(question)
  const names = asked.names.map(hashOf)
  const phrases = asked.phrases.map(hashOf)
  yield* learn([...names, ...phrases])
  // A name that occurs everywhere is no place to start from, and no sign that the graph will help.
  const rare = rareIn(documents)
  const titles = [...names, ...phrases].filter((hash) => (entity(hash)?.defining ?? 0) > 0)
  const starting = [...new Set([...titles, ...names.filter((hash) => (entity(hash)?.documents ?? Infinity) <= rare)])]
  if (auto && starting.length === 0) return nothing

  const similarities = new Map<number, number>()
  const compare = Effect.fnUntraced(function* (passages: ReadonlyArray<number>) {
    if (vector === undefined) return
    const unknown = passages.filter((passage) => !similarities.has(passage))
    for (const passage of unknown) similarities.set(passage, 0)
    if (unknown.length === 0) return
    for (const { id, score } of yield* vectors.score(sql, { checked }, collection, vector, unknown))
      similarities.set(id, score)
  })
  const similarity = (passage: number) => (vector === undefined ? 1 : (similarities.get(passage) ?? 0))
  const allowed = (passage: number) =>
    mask === undefined || (((mask.bits[passage >>> 5] ?? 0) >>> (passage & 31)) & 1) === 1

  const top = hits[0]?.score ?? 0
  const seeds = hits.map(({ key, score }) => [key, top > 0 ? Math.max(0, score) / top : 1] as const)
  const walk = new Walk(seeds, documents)
  const mentions = new Map<number, ReadonlyArray<PackedMention>>()

  const pushes = starting.map((hash) => ({
    entity: hash,
    amount: Math.max(1, seeds.length) / starting.length,
    from: undefined
  }))
  yield* compare(walk.reached(pushes, entity, allowed))
  walk.push(pushes, entity, similarity, allowed, true)

  for (let step = 0; step < steps; step++) {
    const unread = walk.front().filter((passage) => !mentions.has(passage))
    for (const [passage, found] of yield* mentionsIn(sql, unread)) mentions.set(passage, found)
    const entitiesIn = (passage: number) => [...new Set((mentions.get(passage) ?? []).map(({ entity }) => entity))]
    yield* learn(walk.front().flatMap(entitiesIn))
    const next = walk.fromFront(entitiesIn, entity)
    yield* compare(walk.reached(next, entity, allowed))
    walk.push(next, entity, similarity, allowed)
  }
  const best = walk.best(reservedPlaces, new Set(hits.map(({ key }) => key)), similarity)
  return yield* waysOf(sql, new Map(best.map((passage) => [passage, walk.wayTo(passage)])))
})
