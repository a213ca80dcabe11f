/*
 * How passages are ranked, in any store: which legs run and how deep, which passages get the other leg's score, how the
 * legs are fused, how ties are broken, and where the graph leads from the best. A store implements `Snapshot`.
 */
import * as Effect from "effect/Effect"
import { identicalEmbedder } from "../model/Collection.ts"
import { present } from "../model/Damaged.ts"
import { noFacets } from "../model/Facets.ts"
import { lazily } from "../model/lazily.ts"
import { limits } from "../model/Limits.ts"
import { type Scored, byScore } from "../model/Passage.ts"
import type { Hit } from "../model/SearchResult.ts"
import type { FindRequest, Found, RankRequest } from "../model/Stored.ts"
import { spanning } from "../runtime/tracing.ts"
import { isNames, namesGain, namesIn } from "../terms/codeNames.ts"
import { isInOtherLetters } from "../terms/detect.ts"
import type { Compared, Searched, Snapshot, Ways } from "./Snapshot.ts"
import { inContext } from "./context.ts"
import { type ScoreIn, Stages, explain } from "./explain.ts"
import { listed, relevantTo, wantedFor, withLed } from "./folding.ts"
import { type Fused, type Leg, byRank, fuse, usualK } from "./fusion.ts"
import { byRecency } from "./recency.ts"
import { judging, unscaled } from "./relevance.ts"
import { TieOrder, tied } from "./ties.ts"

/** The passages of a list of scores. */
const idsOf = (scored: ReadonlyArray<Scored>): ReadonlyArray<number> => scored.map((hit) => hit.id)

/** The passages of `some` that are not in `others`. */
export const without = (some: ReadonlyArray<Scored>, others: ReadonlyArray<Scored>): ReadonlyArray<number> => {
  const known = new Set(idsOf(others))
  return idsOf(some).filter((id) => !known.has(id))
}

/** The best `depth` passages of a leg as its ranking; the others keep their scores, for fusion by score. */
const toLeg = (
  sorted: ReadonlyArray<Scored>,
  others: ReadonlyArray<Scored>,
  depth: number
): Leg & { readonly scoreOf: (id: number) => number | undefined } => {
  const scores = lazily(() => {
    const all = new Map<number, number>()
    for (const some of [others, sorted]) for (const { id, score } of some) all.set(id, score)
    return all
  })
  return { ranked: sorted.slice(0, depth), scoreOf: (id) => scores().get(id) }
}

/** The ranking of the only leg. */
export const alone = (name: "vector" | "keyword", leg: Leg): ReadonlyArray<Fused> =>
  leg.ranked.map(({ id, score }, index) => {
    const place = { rank: index + 1, score }
    return name === "vector"
      ? { id, score, second: score, vector: place, keyword: undefined, parts: { vector: score, keyword: 0 } }
      : { id, score, second: score, vector: undefined, keyword: place, parts: { vector: 0, keyword: score } }
  })

const noWays: Ways = new Map()

const unranked = {
  score: 0,
  second: 0,
  vector: undefined,
  keyword: undefined,
  parts: { vector: 0, keyword: 0 }
} as const

/**
 * The passages that the graph leads to from the best of a ranking, best first, and the paths that led there; one that
 * no leg ranked has no score of theirs. Of several collections, only the graph of the one with the best hit is used,
 * since two graphs have nothing in common.
 */
const along = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  asked: ReadonlyArray<Searched>,
  { graph }: Pick<RankRequest, "graph">,
  ranked: ReadonlyArray<Fused>
) {
  if (graph === undefined || ranked.length < limits.graph.first) return { led: [], ways: noWays }
  const head = ranked.slice(0, limits.graph.first)
  const homes = asked.length === 1 ? undefined : yield* snapshot.homes(idsOf(head))
  const home = asked.find(({ id }) => homes === undefined || id === homes.get(head[0]!.id))
  const walked = present(home, () => `the document of passage ${head[0]!.id}`)
  const hits = homes === undefined ? head : head.filter(({ id }) => homes.get(id) === walked.id)
  const ways = yield* snapshot.expand(walked, graph, hits)
  if (ways.size === 0) return { led: [], ways }
  const known = new Map(ranked.map((hit) => [hit.id, hit]))
  return { led: Array.from(ways.keys(), (id): Fused => known.get(id) ?? { id, ...unranked }), ways }
})

/** The passages whose vectors are nearest, of each group of collections. */
const nearestOf = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  groups: ReadonlyArray<ReadonlyArray<Searched>>,
  depth: number
) {
  const found: Array<ReadonlyArray<Scored>> = []
  for (const group of groups) found.push(yield* scoredIn(group, (one) => snapshot.nearest(one, depth)))
  return found
})

/** The passages that have words of a query, or words like those. */
const matchingOf = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  asked: ReadonlyArray<Searched>,
  keyword: string,
  hasNear: boolean,
  { also, depth }: { readonly also: ReadonlyArray<number>; readonly depth: number }
) {
  const near = hasNear ? yield* snapshot.near(asked, keyword) : []
  const { found, known, language, rarity } = yield* snapshot.matching(asked, keyword, { depth, near, also })
  return { near, matching: found, share: known, language, rarity }
})

/** The best `limit` passages over all requested collections, and where the graph leads from them. */
const order = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  asked: ReadonlyArray<Searched>,
  request: RankRequest,
  limit: number,
  stages: Stages
) {
  const hasVectors = asked.some(({ vector }) => vector !== undefined)
  const asks = hasVectors && request.wordsAlone !== true
  const both = asks && request.keyword !== undefined
  const groups = byEmbedder(asked)
  // The order of one embedder's vectors is final; fusion, names and age also move up what is below.
  const isFinal = request.keyword === undefined && request.recency === undefined && groups.length === 1
  const depth = both ? limits.legDepth : Math.max(isFinal ? 0 : limits.legDepth, limit)
  // Scores of different embedders are not comparable; ranks are.
  const method = groups.length > 1 ? "rrf" : request.fusion
  const crosswise = both && method === "score"
  const similarity = (ids: ReadonlyArray<number>) => scoredIn(asked, (one) => snapshot.similarity(one, ids))
  const kind = asked.every(({ background }) => background !== undefined) ? "above" : "plain"

  const nearest = asks ? yield* stages.during("vector", nearestOf(snapshot, groups, depth)) : []
  const { keyword } = request
  const { language, matching, near, rarity, share } = keyword
    ? yield* stages.during(
        "keyword",
        matchingOf(snapshot, asked, keyword, request.spelling === true, {
          depth,
          also: crosswise ? idsOf(nearest.flat()) : []
        })
      )
    : { matching: [], near: [], share: 1, language: "en", rarity: new Map<string, number>() }
  const unseen = crosswise ? without(matching, nearest.flat()) : []
  const nearToo = unseen.length === 0 ? [] : yield* stages.during("vector", similarity(unseen))

  const ties = new TieOrder(snapshot)
  const legs = nearest.map((leg) => leg.toSorted(byScore))
  const { gains, ranked: matched } =
    keyword === undefined ? unnamed([]) : yield* naming(snapshot, keyword, matching.toSorted(byScore))
  const ranked = both ? depth : limit
  yield* ties.learn([...legs, matched].flatMap((leg) => tied(leg, ranked)))
  const together = legs.length > 1 ? byRank(legs.map((leg) => leg.sort(ties.best).slice(0, depth))) : (legs[0] ?? [])
  if (legs.length > 1) yield* ties.learn(tied(together, ranked))
  const vectorLeg = toLeg(together.sort(ties.best), nearToo, depth)
  const keywordLeg = toLeg(matched.sort(ties.best), [], depth)
  const { foreignAlpha = request.alpha, rrfK } = request
  const isForeign = language !== "en" || isInOtherLetters(keyword ?? "")
  const alpha = request.isMultilingual === true ? risen(request.alpha, share) : isForeign ? foreignAlpha : request.alpha
  const order = both
    ? yield* stages.during(
        "fuse",
        Effect.sync(() => fuse(vectorLeg, keywordLeg, { alpha, method, k: rrfK, tieOrder: ties.compare }))
      )
    : asks
      ? alone("vector", vectorLeg)
      : alone("keyword", keywordLeg)
  const scoreIn: ScoreIn = (name, id) => (name === "vector" ? vectorLeg : keywordLeg).scoreOf(id)
  const { beside, order: placed } =
    crosswise && request.context === true
      ? yield* stages.during("context", inContext(snapshot, order, scoreIn, similarity, ties, kind))
      : { order, beside: undefined }
  const complete = (yield* ties.learn(tied(placed, limit))) ? placed.toSorted(ties.best) : placed
  const { ages, order: timely } =
    request.recency === undefined
      ? { ages: undefined, order: complete }
      : yield* byRecency(snapshot, complete, request.recency, ties, limit)
  const { led, ways } = yield* spanning(along(snapshot, asked, request, timely), "Store.graph")
  const best = timely.slice(0, limit)
  const strangers = hasVectors
    ? [...best, ...led].flatMap(({ id }) => (scoreIn("vector", id) === undefined ? [id] : []))
    : []
  const others = new Map(
    strangers.length === 0 ? [] : (yield* similarity(strangers)).map(({ id, score }) => [id, score])
  )
  return {
    best,
    led,
    ways,
    near,
    rarity,
    similarity: (id: number) => scoreIn("vector", id) ?? others.get(id),
    details: { scoreIn, gains, ages, beside, near },
    report: {
      depth,
      candidates: { vector: vectorLeg.ranked.length, keyword: keywordLeg.ranked.length },
      ...(both ? { alpha, ...(method === "rrf" ? { rrf_k: rrfK ?? usualK } : {}) } : {})
    }
  }
})

/** Some of an order's passages as hits, with what they show; those that the graph leads to come last. */
const read = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  asked: ReadonlyArray<Searched>,
  { best, led, similarity, ways }: Pick<Ordered, "best" | "led" | "similarity" | "ways">,
  stages: Stages
) {
  const all = [...best, ...led]
  const shown = yield* stages.during("read", snapshot.shown(idsOf(all)))
  return all.map((ranked, at) => {
    const { id, keyword, score, vector } = ranked
    const what = present(shown.get(id), () => `passage ${id}, or its document,`)
    const { name: collection } = present(
      asked.find((each) => each.id === what.collection),
      () => `the collection of passage ${id}`
    )
    const via = at < best.length ? undefined : ways.get(id)
    const alike = similarity(id)
    const hit: Hit = {
      score,
      vector,
      keyword,
      collection,
      ...what.hit,
      ...(what.language === "en" ? {} : { language: what.language }),
      ...(alike === undefined ? {} : { similarity: alike }),
      ...(via === undefined ? {} : { via })
    }
    return { hit, ranked, language: what.language }
  })
})

type Ordered = Effect.Effect.Success<ReturnType<typeof order>>

/** A list of passages over all requested collections: ranked, judged, and folded. Run it in one snapshot. */
export const find = Effect.fnUntraced(function* <E>(snapshot: Snapshot<E>, request: FindRequest) {
  const { list } = request
  const stages = new Stages()
  const asked = yield* stages.during("mask", snapshot.searched(request))
  const { facets: names } = request
  if (asked.length === 0) {
    const facets = names && noFacets(names)
    return { hits: [], near: [], rarity: new Map(), unscaled: [], unchecked: 0, facets } satisfies Found as Found
  }
  const filter = request.demands === undefined ? request.filter : undefined
  const facets = names && (yield* stages.during("facets", snapshot.facets(asked, names, filter)))
  for (let wanted = wantedFor(list); ; wanted *= 4) {
    const ordered = yield* order(snapshot, asked, request, wanted, stages)
    const { best, near, rarity, report } = ordered
    const strange = unscaled(asked)
    const relevanceOf = judging(asked, strange, list.question, near)
    const listing = (some: ReadonlyArray<{ readonly hit: Hit }>) => {
      const hits = some.map(({ hit }) => hit)
      return listed(list, hits, relevanceOf, wanted)
    }
    const first = best.slice(0, list.places)
    const early = yield* read(snapshot, asked, { ...ordered, best: first }, stages)
    const behind = early.slice(first.length)
    const ranked = early.slice(0, first.length)
    let filled = listing(ranked)
    // What says the same as a better one leaves a gap: then some more are read.
    while (ranked.length < best.length && filled !== undefined && filled.open < list.places) {
      const more = best.slice(ranked.length, ranked.length + 2 * (list.places - filled.open) + 1)
      ranked.push(...(yield* read(snapshot, asked, { ...ordered, best: more, led: [] }, stages)))
      filled = listing(ranked)
    }
    if (filled === undefined) continue
    const { open, places } = filled
    const along = behind.filter(({ hit }) => relevantTo(list, relevanceOf)(hit))
    const all = [...places, ...along.map(({ hit }) => ({ hit, shown: { ...hit, relevance: relevanceOf(hit) } }))]
    const found = {
      near,
      rarity,
      unscaled: strange,
      facets,
      unchecked: asked.reduce((sum, { unchecked = 0 }) => sum + unchecked, 0),
      ...(places.length > 0 || ranked.length === 0
        ? {}
        : { best: Math.max(...ranked.map(({ hit }) => relevanceOf(hit))) })
    }
    const joined = (shown: ReadonlyArray<Hit>): Pick<Found, "hits" | "led" | "open"> => {
      const [plain, led] = [shown.slice(0, places.length), shown.slice(places.length)]
      return { open, ...(list.apart === true ? { hits: plain, led } : { hits: withLed(led, plain, list) }) }
    }
    if (request.explain !== true) {
      return { ...found, ...joined(all.map(({ shown }) => shown)) } satisfies Found as Found
    }
    const sources = new Map([...ranked, ...behind].map((source) => [source.hit, source]))
    const own = all.map(({ hit }) => hit)
    const known = own.map((hit) => sources.get(hit)!)
    const keyed = known.map(({ ranked }) => ranked)
    const languages = known.map(({ language }) => language)
    const explained = yield* explain(snapshot, asked, request, keyed, own, { ...ordered.details, languages })
    const left = asked.reduce((sum, { mask, passages }) => sum + (mask?.count ?? passages), 0)
    return {
      ...found,
      ...joined(all.map(({ shown }, at) => ({ ...shown, explain: explained[at]! }))),
      report: {
        passages: asked.reduce((sum, { passages }) => sum + passages, 0),
        ...(asked.some(({ mask }) => mask !== undefined) ? { filtered: left } : {}),
        ...report,
        stages_us: stages.us
      }
    } satisfies Found as Found
  }
})

/** From this share of a query's terms on, the words decide as much as ever. */
const enough = 0.7

/**
 * The weight of the vector leg if the collections have only this share of the query's terms: it is probably in another
 * language than they are, and a few words that happen to be the same must not decide.
 */
const risen = (alpha: number, share: number): number => {
  const words = (1 - alpha) * Math.min(1, share / enough) ** 2
  return alpha === 0 ? 0 : alpha / (alpha + words)
}

/** The best of the keyword leg that are checked for names; they can only rise. */
const lookedAt = { usual: 30, names: 100 }

const unnamed = (ranked: ReadonlyArray<Scored>) => ({
  ranked: [...ranked],
  gains: new Map<number, number>()
})

/** Moves passages up that contain the query's names literally, those that define them first. */
const naming = Effect.fnUntraced(function* <E>(snapshot: Snapshot<E>, query: string, sorted: ReadonlyArray<Scored>) {
  const names = namesIn(query)
  if (names.length === 0 || sorted.length < 2) return unnamed(sorted)
  const isAlone = isNames(query)
  const best = sorted.slice(0, isAlone ? lookedAt.names : lookedAt.usual)
  const rows = yield* snapshot.texts(idsOf(best))
  const gains = new Map(rows.map((row) => [row.id, namesGain(names, row, isAlone)]))
  const risen = best.map(({ id, score }) => ({ id, score: score * (1 + (gains.get(id) ?? 0)) }))
  return { ranked: [...risen.sort(byScore), ...sorted.slice(best.length)], gains }
})

const hasVector = (asked: Searched): asked is Compared => asked.vector !== undefined

/** The scores that those of the collections give that have a vector to search with. */
const scoredIn = Effect.fnUntraced(function* <E>(
  asked: ReadonlyArray<Searched>,
  scores: (asked: Compared) => Effect.Effect<ReadonlyArray<Scored>, E>
) {
  const found: Array<Scored> = []
  for (const each of asked) if (hasVector(each)) found.push(...(yield* scores(each)))
  return found
})

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
