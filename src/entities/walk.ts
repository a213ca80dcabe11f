import type { Entity, Place } from "../model/Graph.ts"
import type { PackedMention } from "./mention.ts"

/** An entity in more places joins nothing, except the documents that have it as title. */
export const mostPlaces = 128

/** Whether it may have more places than were read. */
export const isCut = ({ places }: Entity): boolean => places.length > mostPlaces

/** A title of more documents names none of them. */
export const mostDefining = 6

export const toEntity = (places: ReadonlyArray<Place>): Entity => {
  const documents = new Set<number>()
  const defining = new Set<number>()
  for (const { document, relation } of places) {
    documents.add(document)
    if (relation === 0) defining.add(document)
  }
  return { places, documents: documents.size, defining: defining.size > mostDefining ? 0 : defining.size }
}

/** A name joins documents if it occurs in at most this many: one in a hundred, at least 6, at most 32. */
export const rareIn = (documents: number): number => Math.max(6, Math.min(32, Math.floor(documents / 100)))

const isRare = (entity: Entity, all: number): boolean => !isCut(entity) && entity.documents <= rareIn(all)

/** How strongly an entity joins documents, by its rarity; 0 if it joins nothing. A title counts half as much again. */
export const weightOf = (entity: Entity, documents: number): number => {
  if (entity.documents < 2) return 0
  if (!isRare(entity, documents) && entity.defining === 0) return 0
  return Math.log(1 + documents / entity.documents) * (entity.defining > 0 ? 1.5 : 1)
}

/** The places that a walk reaches from an entity, with their weights; the document with that title counts more. */
const targetsOf = (entity: Entity, documents: number): ReadonlyMap<number, number> => {
  const targets = new Map<number, number>()
  const rare = isRare(entity, documents)
  for (const { passage, relation } of entity.places) {
    if (relation === 0 && entity.defining > 0) targets.set(passage, (targets.get(passage) ?? 0) + (rare ? 3 : 2))
    else if (rare && !targets.has(passage)) targets.set(passage, 1)
  }
  return targets
}

/** Documents read for a collection's linkage, spread evenly over it. */
export const sampledDocuments = 256

/**
 * So many of the five best hits name a document where a question needs several: for most questions of MuSiQue and HotpotQA,
 * and for hardly one of collections whose questions need one (docs/quality.md has how many).
 */
export const namingWanted = 2

/** What a passage names or links, apart from what it is about. */
export const namedIn = (mentions: ReadonlyArray<Pick<PackedMention, "entity" | "relation">>): ReadonlyArray<number> =>
  mentions.flatMap(({ entity, relation }) => (relation === "defines" || relation === "heads" ? [] : [entity]))

/** How a walk reached a passage: through an entity, from a passage, or undefined if the question names the entity. */
export interface Step {
  readonly entity: number
  readonly from: number | undefined
}

/** A single push: a share of a passage's weight, or of the question's, to everything that an entity joins. */
interface Push extends Step {
  readonly amount: number
}

/** Passages from which a step continues, and entities that it passes through: those with the greatest weight. */
const front = 20
const widest = 64

/** The share of the weight reaching a passage that moves on. */
const damping = 0.5

const leastSimilarity = 0.01

/**
 * Personalised PageRank by pushing (Andersen, Chung and Lang 2006), one step at a time, so that a caller can look up
 * what the next step needs. Weight starts at the seeds and moves from passage to entity to passage: it is shared among
 * a passage's entities by their rarity, and among an entity's passages by their relation to it and their similarity to
 * the question.
 */
export class Walk {
  /** The weight at each passage that the next step distributes. */
  private mass: Map<number, number>
  /** The total weight that each passage has received. */
  readonly total: Map<number, number>
  private readonly came = new Map<number, Push>()

  constructor(
    seeds: Iterable<readonly [passage: number, weight: number]>,
    private readonly documents: number
  ) {
    this.mass = new Map(seeds)
    this.total = new Map(this.mass)
  }

  /** The passages from which the next step continues. */
  front(): ReadonlyArray<number> {
    return [...this.mass]
      .sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .slice(0, front)
      .map(([passage]) => passage)
  }

  /** The pushes from the front, given each passage's entities. */
  fromFront(entitiesOf: (passage: number) => ReadonlyArray<number>, entity: (hash: number) => Entity | undefined) {
    const pushes: Array<Push> = []
    for (const from of this.front()) {
      const weighed = entitiesOf(from).flatMap((hash) => {
        const known = entity(hash)
        const weight = known === undefined ? 0 : weightOf(known, this.documents)
        return weight > 0 ? [{ hash, weight }] : []
      })
      const all = weighed.reduce((sum, { weight }) => sum + weight, 0)
      const mass = (this.mass.get(from) ?? 0) * damping
      for (const { hash, weight } of weighed) pushes.push({ entity: hash, amount: (mass * weight) / all, from })
    }
    return pushes.sort((a, b) => b.amount - a.amount).slice(0, widest)
  }

  /** The passages that pushes lead to. */
  reached(
    pushes: ReadonlyArray<Push>,
    entity: (hash: number) => Entity | undefined,
    allowed: (passage: number) => boolean
  ): ReadonlyArray<number> {
    const passages = new Set<number>()
    for (const push of pushes) {
      for (const passage of targetsOf(entity(push.entity)!, this.documents).keys()) {
        if (passage !== push.from && allowed(passage)) passages.add(passage)
      }
    }
    return [...passages]
  }

  /** Moves weight. The next step distributes the moved weight; with `keep`, also what was there before. */
  push(
    pushes: ReadonlyArray<Push>,
    entity: (hash: number) => Entity | undefined,
    similarity: (passage: number) => number,
    allowed: (passage: number) => boolean,
    keep = false
  ): void {
    const next = keep ? new Map(this.mass) : new Map<number, number>()
    for (const { amount, entity: hash, from } of pushes) {
      const shares: Array<readonly [passage: number, share: number]> = []
      let all = 0
      for (const [passage, weight] of targetsOf(entity(hash)!, this.documents)) {
        if (passage === from || !allowed(passage)) continue
        const share = weight * Math.max(leastSimilarity, similarity(passage))
        shares.push([passage, share])
        all += share
      }
      for (const [passage, share] of shares) {
        const moved = (amount * share) / all
        next.set(passage, (next.get(passage) ?? 0) + moved)
        this.total.set(passage, (this.total.get(passage) ?? 0) + moved)
        if (moved > (this.came.get(passage)?.amount ?? 0)) this.came.set(passage, { entity: hash, from, amount: moved })
      }
    }
    this.mass = next
  }

  /** The best passages outside `except`: by weight times the root of the similarity, ties by id. */
  best(wanted: number, except: ReadonlySet<number>, similarity: (passage: number) => number): ReadonlyArray<number> {
    return [...this.total]
      .filter(([passage]) => !except.has(passage) && this.came.has(passage))
      .map(
        ([passage, weight]) => [passage, weight * Math.sqrt(Math.max(leastSimilarity, similarity(passage)))] as const
      )
      .sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .slice(0, wanted)
      .map(([passage]) => passage)
  }

  /** The path to a passage, first step first; a path longer than the walk's number of steps is cut. */
  wayTo(passage: number, longest = 4): ReadonlyArray<Step & { readonly to: number }> {
    const way: Array<Step & { readonly to: number }> = []
    const seen = new Set<number>()
    for (let at: number | undefined = passage; at !== undefined && !seen.has(at) && way.length < longest;) {
      seen.add(at)
      const step = this.came.get(at)
      if (step === undefined) break
      way.unshift({ entity: step.entity, from: step.from, to: at })
      at = step.from
    }
    return way
  }
}
