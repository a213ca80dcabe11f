import type { Entity, Place } from "../model/Graph.ts"

/** An entity in more places joins nothing, except the documents that have it as title. */
export const mostPlaces = 128

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

/** How strongly an entity joins documents, by its rarity; 0 if it joins nothing. A title counts half as much again. */
export const weightOf = (entity: Entity, documents: number): number => {
  if (entity.documents < 2) return 0
  const rare = entity.places.length <= mostPlaces && entity.documents <= rareIn(documents)
  if (!rare && entity.defining === 0) return 0
  return Math.log(1 + documents / entity.documents) * (entity.defining > 0 ? 1.5 : 1)
}

/**
 * The places that a walk reaches from an entity, with their weights: the document with that title counts three times.
 */
export const targetsOf = (entity: Entity, documents: number): ReadonlyMap<number, number> => {
  const targets = new Map<number, number>()
  const rare = entity.places.length <= mostPlaces && entity.documents <= rareIn(documents)
  for (const { passage, relation } of entity.places) {
    if (relation === 0 && entity.defining > 0) targets.set(passage, (targets.get(passage) ?? 0) + (rare ? 3 : 2))
    else if (rare && !targets.has(passage)) targets.set(passage, 1)
  }
  return targets
}

/** Documents read for a collection's linkage, spread evenly over it. */
export const sampledDocuments = 256

/**
 * From this linkage on, `auto` uses the graph. Measured: .39 for questions that need several documents (MuSiQue), and
 * .08, .01 and .01 for questions that need one (CISI, Cranfield, SciFact).
 */
export const linkageWanted = 0.2
