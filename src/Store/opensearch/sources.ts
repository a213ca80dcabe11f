import * as Option from "effect/Option"
import * as Struct from "effect/Struct"
import { createHash } from "node:crypto"
import { type Text, mentionsOf } from "../../entities/extract.ts"
import { hashOf, isName, pack, searchedHeading, searchedTitle } from "../../entities/mention.ts"
import { fromStored } from "../../entities/said.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Vector } from "../../model/Passage.ts"
import type { EmbeddedPassage, IndexedPassage, PreparedDocument } from "../../model/Stored.ts"
import { fieldWeights } from "../../postings/bytes.ts"
import { type Language, languageNamed } from "../../terms/languages.ts"
import { terms } from "../../terms/terms.ts"
import { type StoredRow, toKnown } from "../core/document.ts"
import { endingBefore } from "../core/facetValues.ts"
import type { StoredAnswer } from "../core/graph.ts"
import type { Known } from "../core/identity.ts"
import { type PassagePart, headingOf, toText } from "../core/passage.ts"
import type { Answer } from "./client.ts"
import type { CollectionRecord } from "./records.ts"
import { metadataTerms, term } from "./filter.ts"

/** The length that an identifier and a route can have in any case; a doc_id may be longer. */
export const keyOf = (docId: string): string => createHash("sha256").update(docId).digest("base64url").slice(0, 32)

/** The id of a document's head, which makes a generation of its passages the document. */
export const headId = (key: string): string => `d:${key}`
/** The id of the record of which document has a source; it holds only if the document says the same. */
export const sourceId = (source: string): string => `s:${keyOf(source)}`

/** Fields by which filters find documents and their passages alike. */
interface Found {
  readonly doc_id: DocumentId
  readonly name: string
  readonly title?: string | undefined
  readonly has_source: boolean
  readonly indexed_at: number
  readonly meta: ReadonlyArray<string>
  readonly keys: ReadonlyArray<string>
}

/** The source of a document's head. `own` has what is only read. */
export interface Head extends Found {
  readonly kind: "document"
  readonly key: string
  /** Numbers the versions of all documents as they were stored; its passages have the same. */
  readonly gen: number
  readonly passages: number
  readonly first?: number | undefined
  readonly seen_run?: number | undefined
  readonly own: {
    readonly docId: DocumentId
    readonly source?: string | undefined
    readonly title?: string | undefined
    readonly origin?: string | undefined
    readonly metadata: string
    readonly fingerprint: string
    readonly line?: number | undefined
    readonly tail: string
    readonly language: Language
    readonly characters: number
  }
}

/** The source of a passage, which only its head makes part of a document. */
export interface PassageSource extends Found {
  readonly id: number
  readonly key: string
  readonly gen: number
  readonly ordinal: number
  /** The passages of its document. */
  readonly of: number
  readonly terms: string
  /** The same in base 64, which searches read. */
  readonly counts?: string | undefined
  readonly len: number
  readonly language: Language
  readonly part: PassagePart
  readonly vector?: ReadonlyArray<number> | undefined
  /** The vector's bytes in base 64. */
  readonly v?: string | undefined
  readonly mentions?: string | undefined
  readonly said?: StoredAnswer | undefined
}

export const passageId = ({ gen, ordinal }: Pick<PassageSource, "gen" | "ordinal">): string => `${gen}:${ordinal}`

/** Writes a passage anew, unless it was written since it was read. */
export const rewriting = (index: string, source: PassageSource, seq: number, term: number) => ({
  index: { _index: index, _id: passageId(source), routing: source.key, if_seq_no: seq, if_primary_term: term }
})

/** Where a passage is. */
export const placeOf = (index: string, at: Pick<PassageSource, "gen" | "key" | "ordinal">) => ({
  index,
  id: passageId(at),
  routing: at.key
})

/** The places of all of a document's passages. */
export const placesOf = (index: string, { gen, key, passages }: Pick<Head, "gen" | "key" | "passages">) =>
  Array.from({ length: passages }, (_, ordinal) => placeOf(index, { gen, key, ordinal }))

const unsafe = /[\s|%]/u

/** The analyzer cuts longer ones apart. */
const longestTerm = 200

/** A term in the form that the index has it: blanks and bars would end it. */
export const stored = (made: string): string => {
  const safe = unsafe.test(made) ? encodeURIComponent(made) : made
  return safe.length > longestTerm ? `%${createHash("sha256").update(made).digest("hex").slice(0, 32)}` : safe
}

/** Terms with their weighted counts in both forms. */
const termFields = (made: string) => ({ terms: made, counts: Buffer.from(made).toString("base64") })

/** The terms of a passage with their weighted counts as the index has them, and its length. Learn the language first. */
const postingsOf = (fields: Record<"title" | "heading" | "text", string>, language: Language) => {
  const counts = new Map<string, number>()
  let len = 0
  for (const field of ["title", "heading", "text"] as const) {
    for (const made of terms(fields[field], language)) {
      len++
      counts.set(made, (counts.get(made) ?? 0) + fieldWeights[field])
    }
  }
  return { len, ...termFields(Array.from(counts, ([made, count]) => `${stored(made)}|${count}`).join(" ")) }
}

/** How often a passage has terms: of those that begin so, together. */
export const frequency = (made: string, wanted: { readonly term: string; readonly isPrefix: boolean }): number => {
  let sum = 0
  const needle = wanted.isPrefix ? ` ${wanted.term}` : ` ${wanted.term}|`
  const text = ` ${made} `
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    const bar = text.indexOf("|", at)
    sum += Number(text.slice(bar + 1, text.indexOf(" ", bar)))
    if (!wanted.isPrefix) break
  }
  return sum
}

export const toBytes = (vector: Vector): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64")

export const fromBytes = (bytes: string): Float32Array => {
  const buffer = Buffer.from(bytes, "base64")
  const vector = new Float32Array(buffer.byteLength / 4)
  new Uint8Array(vector.buffer).set(buffer)
  return vector
}

/** Digits of a vector's values that are enough to find candidates; its bytes are exact. */
const digits = 6

/** A vector in both forms; one without a direction cannot be searched by, and is only kept. */
export const vectorFields = (vector: Option.Option<Vector>): Pick<PassageSource, "vector" | "v"> =>
  Option.match(vector, {
    onNone: () => ({}),
    onSome: (given) => ({
      v: toBytes(given),
      ...(given.some((value) => value !== 0)
        ? { vector: Array.from(given, (value) => Number(value.toPrecision(digits))) }
        : {})
    })
  })

/** A stored passage as it is written again: its columns are not in what was read of it. */
export const rewritten = (
  stored: PassageSource,
  vector: Option.Option<Vector>
): PassageSource & Record<string, unknown> => {
  const { v: _, ...source } = stored
  return { ...source, ...termFields(source.terms), ...vectorFields(vector) }
}

export const vectorIn = ({ v }: Pick<PassageSource, "v">): Option.Option<Vector> =>
  Option.map(Option.fromNullable(v), fromBytes)

const monthOf = (time: number): string => new Date(time).toISOString().slice(0, 7)

/** Names of files with the endings that a name has, also of a file of which it is one record. */
const endingsOf = (name: string): ReadonlyArray<string> => {
  const ends = [name.length]
  for (let at = name.indexOf("#"); at >= 0 && ends.length < 16; at = name.indexOf("#", at + 1)) ends.push(at)
  const found = ends.flatMap((end) => {
    const ending = endingBefore(name, end)
    return ending === undefined ? [] : [`x.${ending}${end < name.length ? "#" : ""}`]
  })
  return [...new Set(found)]
}

/** The head of a document in a new generation. */
export const toHead = (
  { fingerprint, language, line, metadata, origin, passages, source, title }: PreparedDocument,
  given: { readonly docId: DocumentId; readonly gen: number; readonly first: number; readonly indexedAt: number } & {
    readonly seenBy: number | undefined
    readonly tail: string
  }
): Head & Record<string, unknown> => {
  const { docId, first, gen, indexedAt, seenBy, tail } = given
  const name = source ?? docId
  return {
    kind: "document",
    key: keyOf(docId),
    gen,
    passages: passages.length,
    ...(passages.length === 0 ? {} : { first }),
    ...(seenBy === undefined ? {} : { seen_run: seenBy }),
    doc_id: term(docId) as DocumentId,
    name: term(name),
    ...(title === undefined ? {} : { title: term(title), title_key: title.slice(0, 80).toLowerCase() }),
    has_source: source !== undefined,
    indexed_at: indexedAt,
    ...metadataTerms(metadata),
    name_lower: term(name.toLowerCase()),
    folder: term(name.slice(0, name.lastIndexOf("/") + 1)),
    endings: endingsOf(name),
    month: monthOf(indexedAt),
    ...(origin === undefined ? {} : { origin: term(origin) }),
    fingerprint: term(fingerprint),
    own: {
      docId,
      source,
      title,
      origin,
      metadata: JSON.stringify(metadata),
      fingerprint,
      line,
      tail,
      language: languageNamed(language),
      characters: passages.at(-1)?.end ?? 0
    }
  }
}

/** A passage of a document whose head is made. Learn the language first. */
export const toPassageSource = (
  head: Head,
  passage: IndexedPassage,
  part: PassagePart,
  { id, inGraph, said }: { readonly id: number; readonly inGraph: boolean; readonly said: PassageSource["said"] }
): PassageSource & Record<string, unknown> => {
  const { language, source, title } = head.own
  const searched = searchedTitle(title, source)
  const { heading, text } = passage
  const mentions = inGraph ? graphFields({ ordinal: part.ordinal, text, heading, title, source, said }) : {}
  return {
    id,
    ...Struct.pick(head, "key", "gen", "doc_id", "name", "has_source", "indexed_at", "meta", "keys"),
    ordinal: part.ordinal,
    of: head.passages,
    ...(head.title === undefined ? {} : { title: head.title }),
    language,
    ...postingsOf({ title: searched, heading: searchedHeading(passage), text }, language),
    title_terms: [...new Set(terms(searched, language).map(stored))],
    part,
    ...vectorFields(passage.vector),
    ...mentions
  }
}

/** What a passage mentions, and what a model said about it. */
export const graphFields = ({ said, ...text }: Omit<Text, "said"> & Pick<PassageSource, "said">) => {
  const mentions = mentionsOf({ ...text, said: said && Option.getOrUndefined(fromStored(said.answer)) })
  const packed = Buffer.from(pack(mentions)).toString("base64")
  const hashes = (those: typeof mentions) => [...new Set(those.map(({ key }) => String(hashOf(key))))]
  return {
    mentions: packed,
    entities: hashes(mentions),
    defines: hashes(mentions.filter(({ relation }) => relation === "defines")),
    names: [...new Set(mentions.map(({ key }) => key).filter(isName))].map(term),
    ...(said === undefined ? {} : { said })
  }
}

/** A head as the row that other stores have of a document. */
export const rowOf = ({ first, gen, indexed_at, own, passages, seen_run }: Head): StoredRow => ({
  id: gen,
  doc_id: own.docId,
  source: own.source ?? null,
  title: own.title ?? null,
  metadata: own.metadata,
  fingerprint: own.fingerprint,
  origin: own.origin ?? null,
  line: own.line ?? null,
  tail: own.tail,
  passages,
  first_passage: first ?? null,
  seen_run: seen_run ?? null,
  indexed_at
})

/** A stored head with its version. */
export interface StoredHead extends Known {
  readonly head: Head
  readonly row: StoredRow
  readonly seq: number
  readonly term: number
}

/** Where a head is written or deleted, unless it was written since it was read. */
export const headAsRead = (
  { documents }: Pick<CollectionRecord, "documents">,
  { head, seq, term }: Pick<StoredHead, "head" | "seq" | "term">
) => ({ _index: documents, _id: headId(head.key), if_seq_no: seq, if_primary_term: term })

/** What was read of a head; undefined if there is none. */
export const storedHead = ({ _primary_term, _seq_no, _source, found }: Answer): StoredHead | undefined => {
  if (found === false || _source === undefined) return undefined
  const row = rowOf(_source)
  return { ...toKnown(row), head: _source, row, seq: _seq_no, term: _primary_term }
}

/** What is embedded of a passage. */
export const textOf = (
  { part }: Pick<PassageSource, "part">,
  title: string | undefined
): Omit<EmbeddedPassage, "vector"> =>
  toText({ title: title ?? null, heading: part.heading, table_header: part.table_header, text: part.text })

export const headingIn = ({ part }: Pick<PassageSource, "part">): ReadonlyArray<string> => headingOf(part.heading)

/** Where a document's head is read. */
export const headPlace = ({ documents }: Pick<CollectionRecord, "documents">, key: string) => ({
  index: documents,
  id: headId(key)
})
