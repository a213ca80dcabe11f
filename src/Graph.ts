import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as asking from "./Graph/asking.ts"
import type { AskingPlan } from "./Graph/asking.ts"
import * as ranking from "./Graph/network.ts"
import { Llm } from "./Llm.ts"
import { orEmpty } from "./Collections.ts"
import { GraphStore, Store } from "./Store.ts"
import { hashOf, keyOf } from "./entities/mention.ts"
import type { Network } from "./entities/network.ts"
import { isCut, weightOf } from "./entities/walk.ts"
import { type CollectionName, defaultCollection } from "./model/Collection.ts"
import type { Asked, Entity, GraphBuilt, GraphEntity, GraphPassage, GraphPath, Relation } from "./model/Graph.ts"
import { nearest } from "./terms/nearest.ts"
import { fault } from "./model/fault.ts"

/** The collection's graph has no entity of this name. */
export class EntityNotFound extends fault<EntityNotFound>()(
  "EntityNotFound",
  404,
  {
    name: Schema.String,
    /** An entity with a similar name. */
    near: Schema.optional(Schema.String)
  },
  ({ name, near }) => {
    const meant = near === undefined ? "" : ` (did you mean ${JSON.stringify(near)}?)`
    return `The graph has no entity named ${JSON.stringify(name)}${meant}; \`clew graph build\` adds documents indexed before there was a graph`
  }
) {}

/** Passages per step of building: a transaction of a few milliseconds. */
const buildPage = 500
const passagesRead = 50
const longestPath = 6
/** Names with the same beginning among which the one that is meant is looked for. */
const suggested = 100
/** Most entities that a search for a path or neighbours expands at each step. */
const widest = 200

interface Parent {
  readonly from: number
  readonly passage: GraphPassage
}

const placeIn = (passage: GraphPassage, entity: number) => ({
  source: passage.source,
  start_line: passage.startLine,
  line: passage.mentions.find((mention) => mention.entity === entity)?.line ?? passage.startLine,
  ...(passage.locator === undefined ? {} : { locator: passage.locator })
})

/** That of an entity's documents more may be there than were counted. */
const atLeast = (entities: ReadonlyArray<Entity>) => (entities.some(isCut) ? { at_least: true } : {})

/** What a language model read in a passage about an entity and one of others, if it was asked. */
const saysOf = ({ said }: GraphPassage, entity: number, others: ReadonlySet<number>): { readonly says?: string } => {
  const found = said.find(({ object, subject }) => {
    const [from, to] = [hashOf(keyOf(subject)), hashOf(keyOf(object))]
    return (from === entity && others.has(to)) || (to === entity && others.has(from))
  })
  return found === undefined ? {} : { says: `${found.subject} ${found.relation} ${found.object}` }
}

/** Builds, queries and exports the knowledge graph. */
export class Graph extends Effect.Service<Graph>()("clew/Graph", {
  effect: Effect.gen(function* () {
    const documentStore = yield* Store
    const store = yield* GraphStore
    const asked = asking.make(store, yield* Llm)

    const named = Effect.fnUntraced(function* (collection: CollectionName, name: string) {
      const hashes = ranking.hashesOf(name)
      const known = yield* store.graphEntities(collection, hashes)
      const [found] = [...known].sort(([a], [b]) => hashes.indexOf(a) - hashes.indexOf(b))
      if (found === undefined) {
        const alike = yield* store.suggest([collection], name.slice(0, Math.ceil(name.length / 2)), suggested)
        const [near] = nearest(
          name,
          alike.map(({ text }) => text)
        )
        // A title may be none.
        const isKnown = near !== undefined && (yield* store.graphEntities(collection, ranking.hashesOf(near))).size > 0
        return yield* new EntityNotFound({ name, ...(isKnown ? { near } : {}) })
      }
      return { hash: found[0], entity: found[1] }
    })

    const placesOf = (entity: Entity): ReadonlyArray<number> =>
      [...new Set(entity.places.map(({ passage }) => passage))].slice(0, passagesRead)

    /** What else, and no others, the documents with this title are called: by the file's name, and by paths to them. */
    const alsoCalled = Effect.fnUntraced(function* (
      collection: CollectionName,
      hash: number,
      passages: ReadonlyArray<GraphPassage>
    ) {
      const names = passages.flatMap(({ mentions }) => {
        const defining = mentions.flatMap(({ entity, relation }) => (relation === "defines" ? [entity] : []))
        return defining.includes(hash) ? defining : []
      })
      return [...(yield* store.graphEntities(collection, names))].filter(([, { defining }]) => defining === 1)
    })

    /** The entities that passages join to others, rarest first. */
    const joined = Effect.fnUntraced(function* (
      collection: CollectionName,
      documents: number,
      passages: ReadonlyArray<GraphPassage>,
      kinds: ReadonlySet<Relation> | undefined
    ) {
      const found = new Map<number, { name: string; relation: Relation; passage: GraphPassage }>()
      for (const passage of passages) {
        for (const { entity, name, relation } of passage.mentions) {
          if (kinds !== undefined && !kinds.has(relation)) continue
          if (!found.has(entity)) found.set(entity, { name, relation, passage })
        }
      }
      const known = yield* store.graphEntities(collection, [...found.keys()])
      return [...known]
        .map(([hash, entity]) => ({ hash, entity, weight: weightOf(entity, documents), ...found.get(hash)! }))
        .filter(({ weight }) => weight > 0)
        .sort((a, b) => b.weight - a.weight || a.hash - b.hash)
    })

    return {
      /**
       * Adds passages that are not in the graph yet, step by step, then lets a model read them if it is to; `told` hears how
       * many it has seen. If interrupted, the next run resumes.
       */
      build: Effect.fn("Graph.build")(function* <E, R, E2, R2>(
        collection: CollectionName,
        told: (seen: number) => Effect.Effect<void, E, R>,
        read?: Effect.Effect<Asked, E2, R2>
      ) {
        const started = yield* Clock.currentTimeMillis
        const steps = asking.stepping((after) =>
          orEmpty(collection, { added: 0, seen: 0, through: after })(store.extendGraph(collection, after, buildPage))
        )
        const { added, seen } = yield* Stream.runFoldEffect(steps, { added: 0, seen: 0 }, (sum, step) => {
          const next = { added: sum.added + step.added, seen: sum.seen + step.seen }
          return Effect.as(told(next.seen), next)
        })
        const llm = read && (yield* read)
        return {
          collection,
          added_chunks: added,
          chunks: seen,
          linkage: yield* orEmpty(collection, 0)(store.linkage(collection)),
          ...(llm && { llm }),
          build_time_ms: (yield* Clock.currentTimeMillis) - started
        } satisfies GraphBuilt as GraphBuilt
      }),

      asking: asked,

      /** Lets a model read what it has not, by a plan or a new one; `told` hears how many of the calls are done. */
      ask: Effect.fn("Graph.ask")(function* <E, R>(
        collection: CollectionName,
        model: string | undefined,
        told: (done: number, total: number, found: Asked) => Effect.Effect<void, E, R>,
        planned?: AskingPlan
      ) {
        const plan = planned ?? (yield* asked.plan(collection, model))
        const nothing: Asked = { model: plan.model, calls: 0, unusable: 0, entities: 0, relations: 0 }
        return yield* Stream.runFoldEffect(asked.run(collection, plan, model), nothing, (sum, one) => {
          const next: Asked = {
            ...sum,
            calls: sum.calls + 1,
            unusable: sum.unusable + (one.usable ? 0 : 1),
            entities: sum.entities + one.entities,
            relations: sum.relations + one.relations
          }
          return Effect.as(told(next.calls, plan.calls, next), next)
        })
      }),

      /** What is known about a name, and the entities at most `hops` passages away, by relations of these kinds. */
      entity: Effect.fn("Graph.entity")(function* (
        collection: CollectionName,
        name: string,
        {
          hops = 1,
          kinds,
          limit = 20
        }: { hops?: number | undefined; kinds?: ReadonlySet<Relation> | undefined; limit?: number | undefined } = {}
      ) {
        const { entity, hash } = yield* named(collection, name)
        const { documents } = yield* documentStore.stats(collection)
        const own = yield* store.graphPassages(collection, placesOf(entity))
        const all = new Map<number, Entity>([[hash, entity], ...(yield* alsoCalled(collection, hash, own))])
        const read = new Set(own.map(({ id }) => id))
        const passages = [
          ...own,
          ...(yield* store.graphPassages(
            collection,
            [...new Set([...all.values()].flatMap(placesOf))].filter((id) => !read.has(id)).slice(0, passagesRead)
          ))
        ]
        const relation = new Map(
          [...all.values()]
            .toReversed()
            .flatMap(({ places }) => places.toReversed().map((place) => [place.passage, place.relation] as const))
        )
        const mentions = passages
          .flatMap((passage) =>
            passage.mentions
              .filter(({ entity }) => all.has(entity))
              // By the name itself rather than by what else it is called.
              .toSorted((a, b) => Number(b.entity === hash) - Number(a.entity === hash))
              .slice(0, 1)
              .map((mention) => ({
                order: relation.get(passage.id) ?? 0,
                mention: {
                  ...placeIn(passage, mention.entity),
                  doc_id: passage.docId,
                  chunk_index: passage.ordinal,
                  relation: mention.relation,
                  name: mention.name
                },
                passage
              }))
          )
          .sort((a, b) => a.order - b.order)
        const seen = new Set(all.keys())
        const neighbours: Array<GraphEntity["neighbours"][number]> = []
        let front: ReadonlyArray<GraphPassage> = passages
        for (let hop = 1; hop <= hops && neighbours.length < limit; hop++) {
          const next = (yield* joined(collection, documents, front, kinds)).filter(({ hash }) => !seen.has(hash))
          const before = new Set(seen)
          for (const { entity, hash, name, passage, relation } of next) {
            seen.add(hash)
            neighbours.push({
              name,
              documents: entity.documents,
              ...atLeast([entity]),
              hops: hop,
              relation,
              ...placeIn(passage, hash),
              ...saysOf(passage, hash, before)
            })
          }
          front = yield* store.graphPassages(collection, [
            ...new Set(next.slice(0, widest / 10).flatMap(({ entity }) => placesOf(entity)))
          ])
        }
        const first = mentions[0]
        const defines = first?.mention.relation === "defines"
        // What several documents are called is none of their titles.
        const isTitle = defines && entity.defining === 1
        return {
          name: first === undefined || (defines && !isTitle) ? name : first.mention.name,
          ...(isTitle ? { description: first.passage.text.slice(0, 300) } : {}),
          documents: Math.max(...[...all.values()].map((each) => each.documents)),
          ...atLeast([...all.values()]),
          mentions: mentions.map(({ mention }) => mention),
          neighbours: neighbours.slice(0, limit)
        } satisfies GraphEntity
      }),

      /** A shortest path from one entity to another, of at most six passages. */
      path: Effect.fn("Graph.path")(function* (collection: CollectionName, from: string, to: string) {
        const start = yield* named(collection, from)
        const end = yield* named(collection, to)
        const { documents } = yield* documentStore.stats(collection)
        const names = new Map([
          [start.hash, from],
          [end.hash, to]
        ])
        const parents = new Map<number, Parent>()
        const read = new Set<number>()
        let front: ReadonlyArray<Entity> = [start.entity]
        const reached = new Set([start.hash])
        for (let step = 0; step < longestPath && !reached.has(end.hash) && front.length > 0; step++) {
          const ids = front.flatMap(placesOf).filter((id) => !read.has(id))
          for (const id of ids) read.add(id)
          const passages = yield* store.graphPassages(collection, [...new Set(ids)])
          const goal = passages.find(({ mentions }) => mentions.some(({ entity }) => entity === end.hash))
          const next = (yield* joined(collection, documents, passages, undefined))
            .filter(({ hash }) => !reached.has(hash))
            .slice(0, widest)
          const through = (passage: GraphPassage) =>
            passage.mentions.find(({ entity }) => reached.has(entity))?.entity ?? start.hash
          // The goal may join too many passages to be expanded, but it can still be reached.
          if (goal !== undefined) parents.set(end.hash, { from: through(goal), passage: goal })
          for (const { hash, name, passage } of next) {
            names.set(hash, names.get(hash) ?? name)
            if (!parents.has(hash)) parents.set(hash, { from: through(passage), passage })
          }
          for (const { hash } of next) reached.add(hash)
          if (goal !== undefined) reached.add(end.hash)
          front = next.map(({ entity }) => entity)
        }
        const steps: Array<GraphPath["steps"][number]> = []
        for (let at = end.hash; at !== start.hash;) {
          const parent = parents.get(at)
          if (parent === undefined) return { steps: [] } satisfies GraphPath
          steps.unshift({
            from: names.get(parent.from) ?? from,
            to: names.get(at) ?? to,
            ...placeIn(parent.passage, at),
            chunk_index: parent.passage.ordinal,
            ...saysOf(parent.passage, at, new Set([parent.from])),
            text: parent.passage.text
          })
          at = parent.from
        }
        return { steps } satisfies GraphPath
      }),

      /** A page of entities by PageRank, all or those with a prefix, comparing only letters and digits. */
      entities: yield* ranking.rankingEntities(store, documentStore),

      /** The whole graph: documents, the entities that join at least two of them, and PageRank of both. */
      whole: (collection: CollectionName) => ranking.load(store, collection),

      placed: (network: Network) =>
        Effect.map(
          Effect.promise(() => import("./Graph/layout.ts")),
          ({ placed }) => placed(network)
        ),

      linkage: store.linkage,

      /** The linkage of a collection, by default of the default one; empty if it does not exist. */
      linkageIn: (collection: CollectionName | undefined) =>
        store.linkage(collection ?? defaultCollection).pipe(
          Effect.map((linkage): { readonly linkage?: number } => ({ linkage })),
          Effect.catchTag("CollectionNotFound", () => Effect.succeed<{ readonly linkage?: number }>({}))
        )
    }
  })
}) {}
