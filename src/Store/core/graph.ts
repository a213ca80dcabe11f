import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { createHash } from "node:crypto"
import { namedIn, titleKeys } from "../../entities/extract.ts"
import { type PackedMention, hashOf, unpack } from "../../entities/mention.ts"
import { type Asked, fromStored, questionOf, toStored } from "../../entities/said.ts"
import { type Step, Walk, namedIn as mentioned, namingWanted, rareIn } from "../../entities/walk.ts"
import type { Entity, GraphPassage, Said, ViaStep } from "../../model/Graph.ts"
import { fragment } from "../../model/Locator.ts"
import type { Scored } from "../../model/Passage.ts"
import type { PreparedDocument } from "../../model/Stored.ts"
import { type CheckedRow, type DocumentRow, checkPassage, locatorOf } from "./passage.ts"

/** A language model's answer about a passage, with the hash of the question, by which the same words find it. */
export interface StoredAnswer {
  readonly asked: string
  readonly model: string
  readonly answer: string
}

/** A hash of 128 bits of the question. */
export const askedOf = (passage: Asked): string =>
  createHash("sha256").update(questionOf(passage)).digest("hex").slice(0, 32)

/** What a model said about a passage, as it is stored. */
export const answerAbout = (passage: Asked, model: string, said: Said): StoredAnswer => ({
  asked: askedOf(passage),
  model,
  answer: toStored(said)
})

/** The answers that documents bring with them, by their questions. */
export const answersIn = (documents: ReadonlyArray<PreparedDocument>) =>
  documents.flatMap(({ passages, title }) =>
    passages.flatMap(({ heading, said, text }): ReadonlyArray<readonly [string, StoredAnswer]> => {
      if (said === undefined) return []
      const answer = answerAbout({ title, heading, text }, said.model, said)
      return [[answer.asked, answer]]
    })
  )

/** What the graph is made from. */
export interface GraphTextRow
  extends Pick<CheckedRow, "id" | "ordinal" | "text" | "heading">, Pick<DocumentRow, "title" | "source"> {}

/**
 * The words by which a passage names an entity: in its text, else its last heading, else its document's title, or its
 * source if the title is no name by which one could ask for it.
 */
const nameOf = (
  { end, relation, start }: PackedMention,
  { heading, source, text, title }: Omit<WayRow, "id" | "ordinal">
): string => {
  if (end > start) return text.slice(start, end).replace(/\s+/gu, " ")
  const headings = JSON.parse(heading) as ReadonlyArray<string>
  if (relation === "heads") return headings.at(-1) ?? ""
  const called = title ?? headings[0] ?? ""
  return titleKeys(called).length > 0 ? called : source
}

/** A passage's row with what it mentions, and a model's answer. */
export interface GraphPassageRow extends CheckedRow, Pick<DocumentRow, "doc_id" | "title" | "line"> {
  readonly source: string
  readonly mentions: Uint8Array
  readonly answer: string | null
}

/** Finds the line of an offset if the file has the passage as it is stored; else the passage's first line. */
const linesOf = ({ end_line, line, locator, start_line, text }: GraphPassageRow): ((at: number) => number) => {
  if (line !== null) return () => line
  const ends: Array<number> = []
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) ends.push(at)
  if (locator !== null || ends.length !== end_line - start_line) return () => start_line
  return (at) => {
    const next = ends.findIndex((end) => end >= at)
    return start_line + (next < 0 ? ends.length : next)
  }
}

const mentionsOf = (row: GraphPassageRow): GraphPassage["mentions"] => {
  const lineAt = linesOf(row)
  return unpack(row.mentions).map((mention) => ({
    entity: mention.entity,
    relation: mention.relation,
    name: nameOf(mention, row),
    line: lineAt(mention.start)
  }))
}

export const toGraphPassage = (row: GraphPassageRow): GraphPassage => {
  checkPassage(row)
  return {
    id: row.id,
    docId: row.doc_id,
    source: row.source,
    title: row.title ?? undefined,
    ordinal: row.ordinal,
    startLine: row.line ?? row.start_line,
    text: row.text,
    ...(row.locator === null ? {} : { locator: fragment(locatorOf(row.locator)) }),
    mentions: mentionsOf(row),
    said: Option.match(Option.flatMap(Option.fromNullable(row.answer), fromStored), {
      onNone: () => [],
      onSome: ({ relations }) => relations
    })
  }
}

type Way = ReadonlyArray<ViaStep>

/** What the words of a path are taken from. */
export type WayRow = GraphTextRow & {
  readonly source: string
}

/** Paths as they are shown: entities by the words with which the passages name them, passages by their sources. */
const waysOf = Effect.fnUntraced(function* <E>(
  reads: Pick<GraphReads<E>, "mentions" | "rows">,
  ways: ReadonlyMap<number, ReadonlyArray<Step & { readonly to: number }>>
) {
  const passages = [
    ...new Set([...ways.values()].flat().flatMap(({ from, to }) => (from === undefined ? [to] : [from, to])))
  ]
  const mentions = yield* reads.mentions(passages)
  const rows = yield* reads.rows(passages)
  const found = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    [...ways].map(([passage, steps]): readonly [number, Way] => [
      passage,
      steps.map(({ entity, from, to }) => {
        const named = [from, to].flatMap((id) => {
          const row = id === undefined ? undefined : found.get(id)
          const mention = id === undefined ? undefined : mentions.get(id)?.find((one) => one.entity === entity)
          return row === undefined || mention === undefined ? [] : [nameOf(mention, row)]
        })
        const start = from === undefined ? undefined : found.get(from)
        return {
          entity: named.find((name) => name !== "") ?? "",
          ...(start === undefined ? {} : { source: start.source, chunk_index: start.ordinal })
        }
      })
    ])
  )
})

/** Places reserved for passages that the walk finds. */
const reservedPlaces = 5
const steps = 3

/** What the walk reads of a collection's graph. */
interface GraphReads<E> {
  readonly entities: (hashes: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, Entity>, E>
  readonly mentions: (
    passages: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyMap<number, ReadonlyArray<PackedMention>>, E>
  /** The documents of which each entity is the title, if it is one of not too many. */
  readonly titled: (entities: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, unknown>, E>
  /** How similar passages are to the question; undefined if it has no vector. */
  readonly score: ((passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Scored>, E>) | undefined
  /** Whether a passage that was read may be found. */
  readonly allowed: (passage: number) => boolean
  readonly rows: (passages: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<WayRow>, E>
}

/** What a walk starts from. */
export interface Walking {
  readonly documents: number
  readonly question: string
  readonly auto: boolean
  /** The best hits, best first, with non-negative scores. */
  readonly hits: ReadonlyArray<Scored>
}

/**
 * The passages for the reserved places, best first, each with the path that led there. With `auto` there are none,
 * unless the question names something in the graph and the best hits name documents: then several may answer
 * together.
 */
export const expandBy = Effect.fnUntraced(function* <E>(
  reads: GraphReads<E>,
  { auto, documents, hits, question }: Walking
) {
  const nothing: ReadonlyMap<number, Way> = new Map()
  const entities = new Map<number, Entity | undefined>()
  const learn = Effect.fnUntraced(function* (hashes: ReadonlyArray<number>) {
    const unknown = [...new Set(hashes)].filter((hash) => !entities.has(hash))
    const found = yield* reads.entities(unknown)
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

  const mentions = new Map<number, ReadonlyArray<PackedMention>>()
  const readMentions = Effect.fnUntraced(function* (passages: ReadonlyArray<number>) {
    const unread = passages.filter((passage) => !mentions.has(passage))
    for (const [passage, found] of yield* reads.mentions(unread)) mentions.set(passage, found)
    return passages.map((passage) => mentions.get(passage) ?? [])
  })
  if (auto) {
    // Titles, be they their own: such documents are about what they name, and lead to each other.
    const best = (yield* readMentions(hits.map(({ id }) => id))).map(mentioned)
    const titles = yield* reads.titled(best.flat())
    if (best.filter((named) => named.some((entity) => titles.has(entity))).length < namingWanted) return nothing
  }

  const similarities = new Map<number, number>()
  const compare = Effect.fnUntraced(function* (passages: ReadonlyArray<number>) {
    if (reads.score === undefined) return
    const unknown = passages.filter((passage) => !similarities.has(passage))
    for (const passage of unknown) similarities.set(passage, 0)
    if (unknown.length === 0) return
    for (const { id, score } of yield* reads.score(unknown)) similarities.set(id, score)
  })
  const similarity = (passage: number) => (reads.score === undefined ? 1 : (similarities.get(passage) ?? 0))
  const { allowed } = reads

  const top = hits[0]?.score ?? 0
  const seeds = hits.map(({ id, score }) => [id, top > 0 ? Math.max(0, score) / top : 1] as const)
  const walk = new Walk(seeds, documents)

  const pushes = starting.map((hash) => ({
    entity: hash,
    amount: Math.max(1, seeds.length) / starting.length,
    from: undefined
  }))
  yield* compare(walk.reached(pushes, entity, allowed))
  walk.push(pushes, entity, similarity, allowed, true)

  for (let step = 0; step < steps; step++) {
    yield* readMentions(walk.front())
    const entitiesIn = (passage: number) => [...new Set((mentions.get(passage) ?? []).map(({ entity }) => entity))]
    yield* learn(walk.front().flatMap(entitiesIn))
    const next = walk.fromFront(entitiesIn, entity)
    yield* compare(walk.reached(next, entity, allowed))
    walk.push(next, entity, similarity, allowed)
  }
  const best = walk.best(reservedPlaces, new Set(hits.map(({ id }) => id)), similarity)
  return yield* waysOf(reads, new Map(best.map((passage) => [passage, walk.wayTo(passage)])))
})

/** At most this many passages of a document are read to measure a linkage. */
export const passagesEach = 4

/**
 * The share of so many documents that name or link another by a name it is known by: `read` has the mentions of their
 * passages, `titled` gives the documents of which each entity is the title.
 */
export const linkedShare = Effect.fnUntraced(function* <E>(
  documents: number,
  read: ReadonlyArray<{ readonly document: number; readonly mentions: ReadonlyArray<PackedMention> }>,
  titled: (entities: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, ReadonlyArray<number>>, E>
) {
  const named = read.flatMap(({ document, mentions }) => mentioned(mentions).map((entity) => ({ entity, document })))
  const defining = yield* titled(named.map(({ entity }) => entity))
  const joined = new Set<number>()
  for (const { document, entity } of named) {
    if (defining.get(entity)?.some((other) => other !== document)) joined.add(document)
  }
  return joined.size / Math.max(1, documents)
})
