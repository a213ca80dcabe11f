/*
 * How passages are ranked, in any store: which legs run and how deep, which passages get the other leg's score, how the
 * legs are fused, how ties are broken, and where the graph leads from the best. A store implements `Snapshot`.
 */
import * as Effect from "effect/Effect"
import { identicalEmbedder } from "../model/Collection.ts"
import { present } from "../model/Damaged.ts"
import { limits } from "../model/Limits.ts"
import type { Hit } from "../model/SearchResult.ts"
import type { Found, RankRequest } from "../model/Stored.ts"
import { spanning } from "../runtime/tracing.ts"
import { byRank, fuse, type Ranked } from "./fusion.ts"
import { namesGain, namesIn } from "../terms/codeNames.ts"
import { along } from "./along.ts"
import { inContext } from "./context.ts"
import { explain, type ScoreIn, Stages } from "./explain.ts"
import { byRecency } from "./recency.ts"
import { alone, idsOf, toCandidates, toLeg, without } from "./legs.ts"
import type { Searched, Snapshot } from "./Snapshot.ts"
import { tied, TieOrder } from "./ties.ts"

/** Both legs, their fusion and the hits' texts, over all requested collections. Run it in one snapshot. */
export const rank = Effect.fnUntraced(function* <E>(snapshot: Snapshot<E>, request: RankRequest) {
  const stages = new Stages()
  const asked = yield* stages.during("mask", snapshot.searched(request))
  if (asked.length === 0) return { hits: [], led: [], near: [] } satisfies Found as Found
  const hasVectors = asked.some(({ vector }) => vector !== undefined)
  const asks = hasVectors && request.wordsAlone !== true
  const both = asks && request.keyword !== undefined
  const groups = byEmbedder(asked)
  // The order of one embedder's vectors is final; fusion, names and age also move up what is below.
  const isFinal = request.keyword === undefined && request.recency === undefined && groups.length === 1
  const depth = both ? limits.legDepth : Math.max(isFinal ? 0 : limits.legDepth, request.limit)
  // Scores of different embedders are not comparable; ranks are.
  const method = groups.length > 1 ? "rrf" : request.fusion
  const crosswise = both && method === "score"

  const nearest = asks
    ? yield* stages.during(
        "vector",
        Effect.forEach(groups, (group) => nearestOf(snapshot, group, depth))
      )
    : []
  const { keyword } = request
  const { matching, near } = keyword
    ? yield* stages.during(
        "keyword",
        Effect.gen(function* () {
          const near = request.spelling === true ? yield* snapshot.near(asked, keyword) : []
          const also = crosswise ? idsOf(nearest.flat()) : []
          return { near, matching: yield* snapshot.matching(asked, keyword, { depth, near, also }) }
        })
      )
    : { matching: [], near: [] }
  const unseen = crosswise ? without(matching, nearest.flat()) : []
  const nearToo = unseen.length === 0 ? [] : yield* stages.during("vector", scoresOf(snapshot, asked, unseen))

  const ties = new TieOrder(snapshot)
  const legs = nearest.map(toCandidates)
  const { gains, ranked: matched } =
    keyword === undefined ? unnamed([]) : yield* naming(snapshot, keyword, toCandidates(matching))
  const ranked = both ? depth : request.limit
  yield* ties.learn([...legs, matched].flatMap((leg) => tied(leg, ranked)))
  const together = legs.length > 1 ? byRank(legs.map((leg) => leg.sort(ties.best).slice(0, depth))) : (legs[0] ?? [])
  if (legs.length > 1) yield* ties.learn(tied(together, ranked))
  const vectorLeg = toLeg(together.sort(ties.best), nearToo, depth)
  const keywordLeg = toLeg(matched.sort(ties.best), [], depth)
  const { alpha, rrfK } = request
  const order = both
    ? yield* stages.during(
        "fuse",
        Effect.sync(() => fuse(vectorLeg, keywordLeg, { alpha, method, k: rrfK, tieOrder: ties.compare }))
      )
    : asks
      ? alone("vector", vectorLeg)
      : alone("keyword", keywordLeg)
  const scoreIn: ScoreIn = (name, key) => {
    const leg = name === "vector" ? vectorLeg : keywordLeg
    return leg.scores.get(key)
  }
  const { beside, order: placed } =
    crosswise && request.context === true
      ? yield* stages.during(
          "context",
          inContext(snapshot, order, scoreIn, (ids) => scoresOf(snapshot, asked, ids), ties)
        )
      : { order, beside: undefined }
  const complete = (yield* ties.learn(tied(placed, request.limit))) ? placed.toSorted(ties.best) : placed
  const { ages, order: timely } =
    request.recency === undefined
      ? { ages: undefined, order: complete }
      : yield* byRecency(snapshot, complete, request.recency, ties, request.limit)
  const { led, ways } = yield* spanning(along(snapshot, asked, request, timely), "Store.graph")
  const ranking = timely.slice(0, request.limit)
  const best = [...ranking, ...led]

  const shown = yield* stages.during("read", snapshot.shown(best.map((hit) => hit.key)))
  const names = new Map(asked.map(({ id, name }) => [id, name]))
  const strangers = hasVectors ? best.flatMap(({ key }) => (scoreIn("vector", key) === undefined ? [key] : [])) : []
  const others = new Map(
    strangers.length === 0 ? [] : (yield* scoresOf(snapshot, asked, strangers)).map(({ id, score }) => [id, score])
  )
  const all = best.map(({ key, keyword, score, vector }, at): Hit => {
    const what = present(shown.get(key), () => `passage ${key}, or its document,`)
    const collection = present(names.get(what.collection), () => `the collection of passage ${key}`)
    const via = at < ranking.length ? undefined : ways.get(key)
    const similarity = scoreIn("vector", key) ?? others.get(key)
    return {
      score,
      vector,
      keyword,
      collection,
      ...what.hit,
      ...(similarity === undefined ? {} : { similarity }),
      ...(via === undefined ? {} : { via })
    }
  })
  const found = (hits: ReadonlyArray<Hit>): Found => ({
    hits: hits.slice(0, ranking.length),
    led: hits.slice(ranking.length),
    near
  })
  if (request.explain !== true) return found(all)

  const languages = best.map(({ key }) => shown.get(key)!.language)
  const explained = yield* explain(snapshot, asked, request, best, all, {
    scoreIn,
    gains,
    ages,
    beside,
    near,
    languages
  })
  const left = asked.reduce((sum, { mask, passages }) => sum + (mask?.count ?? passages), 0)
  return {
    ...found(all.map((hit, at) => ({ ...hit, explain: explained[at]! }))),
    report: {
      passages: asked.reduce((sum, { passages }) => sum + passages, 0),
      ...(asked.some(({ mask }) => mask !== undefined) ? { filtered: left } : {}),
      unchecked: asked.reduce((sum, { unchecked = 0 }) => sum + unchecked, 0),
      depth,
      candidates: { vector: vectorLeg.ranked.length, keyword: keywordLeg.ranked.length },
      ...(both ? { alpha, ...(method === "rrf" ? { rrf_k: rrfK ?? 10 } : {}) } : {}),
      stages_us: stages.us
    }
  } satisfies Found as Found
})

/** The best of the keyword leg that are checked for names; they can only rise. */
const lookedAt = 30

const unnamed = (ranked: ReadonlyArray<Ranked<number>>) => ({
  ranked: [...ranked],
  gains: new Map<number, number>()
})

/** Moves passages up that contain the query's names literally, those that define them first. */
const naming = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  query: string,
  sorted: ReadonlyArray<Ranked<number>>
) {
  const names = namesIn(query)
  const best = sorted.slice(0, lookedAt)
  if (names.length === 0 || best.length < 2) return unnamed(sorted)
  const rows = yield* snapshot.texts(best.map(({ key }) => key))
  const gains = new Map(rows.map((row) => [row.id, namesGain(names, row)]))
  const risen = best.map(({ key, score }) => ({ key, score: score * (1 + (gains.get(key) ?? 0)) }))
  return { ranked: [...risen.sort((a, b) => b.score - a.score), ...sorted.slice(lookedAt)], gains }
})

/** The nearest passages of collections that share one embedder. */
const nearestOf = <E>(snapshot: Snapshot<E>, group: ReadonlyArray<Searched>, depth: number) =>
  Effect.map(
    Effect.forEach(group, (asked) =>
      asked.vector === undefined ? Effect.succeed([]) : snapshot.nearest(asked, asked.vector, depth)
    ),
    (found) => found.flat()
  )

/** The similarity of passages in any of the collections. */
const scoresOf = <E>(snapshot: Snapshot<E>, asked: ReadonlyArray<Searched>, ids: ReadonlyArray<number>) =>
  Effect.map(
    Effect.forEach(asked, (each) =>
      each.vector === undefined ? Effect.succeed([]) : snapshot.similarity(each, each.vector, ids)
    ),
    (found) => found.flat()
  )

/** The collections that have a vector to search with, grouped by embedder. */
const byEmbedder = (asked: ReadonlyArray<Searched>): ReadonlyArray<ReadonlyArray<Searched>> => {
  const groups: Array<Array<Searched>> = []
  for (const each of asked) {
    if (each.vector === undefined) continue
    const group = groups.find(([first]) => identicalEmbedder(first!.embedder, each.embedder))
    if (group === undefined) groups.push([each])
    else group.push(each)
  }
  return groups
}
