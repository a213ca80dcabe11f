import * as Arr from "effect/Array"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import type { CollectionName, EmbedderIdentity } from "../model/Collection.ts"
import { sameEmbedder } from "../model/Collection.ts"
import { longestSource, metadataFault, Source, withinLimits } from "../model/Document.ts"
import { isWellFormed, pathText, valueText } from "../model/kinds.ts"
import { ExportedPassage, ExportEnd, ExportHeader, ExportLine, exportVersion, UndecodedLine } from "../model/Export.ts"
import type {
  DamagedDocument,
  DocumentRef,
  ExportedDocument,
  ExportPosition,
  IndexedPassage,
  PreparedDocument,
  StoredRef
} from "../model/Stored.ts"
import { inTurns, sharingWrites, type Steps } from "../runtime/EventLoop.ts"
import { EmbedderMismatch, GraphStore, Store, StoreUnavailable } from "../Store.ts"
import { documentLanguage } from "../terms/detect.ts"
import { version } from "../version.ts"
import { fault } from "../model/fault.ts"

/** An invalid export, of which nothing is stored. */
export class NotAnExport extends fault<NotAnExport>()(
  "NotAnExport",
  400,
  { line: Schema.Int, reason: Schema.String },
  ({ line, reason }) => `${line === 0 ? "The export" : `Line ${line} of the export:`} ${reason}`
) {}

export interface Transferred {
  readonly documents: number
  readonly passages: number
}

/** What an import took: its documents, how many of them were there already, and how many more held no text. */
export interface Taken extends Transferred {
  readonly unchanged: number
  readonly skipped: number
}

const pageSize = 50
/** Documents stored in one transaction, unless their lines are too long together. */
const batchSize = 512
const batchLength = 16 * 1024 * 1024

const bytesOf = (vector: Float32Array) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

const toLine = (collection: CollectionName, document: ExportedDocument): ExportLine => ({
  ...document,
  collection,
  passages: document.passages.map((passage) => ({ ...passage, vector: Option.map(passage.vector, bytesOf) }))
})

/** The first fault that decoding met, in a few words, whatever the value. */
const faultOf = (issue: ParseResult.ParseIssue, path: ReadonlyArray<PropertyKey> = []): string => {
  switch (issue._tag) {
    case "Pointer":
      return faultOf(issue.issue, [...path, ...[issue.path].flat()])
    case "Composite":
      return faultOf([issue.issues].flat()[0] as ParseResult.ParseIssue, path)
    case "Refinement":
    case "Transformation":
      return faultOf(issue.issue, path)
    default: {
      const what = issue._tag === "Missing" ? "is missing" : (issue.message ?? `cannot be ${valueText(issue.actual)}`)
      return [pathText(path), what].filter((part) => part !== "").join(": ")
    }
  }
}

const isSource = Schema.is(Source)

/** So many times a document's passages may hold its content, which each repeats as far as they overlap. */
const mostOverlap = 1000

const decodePassage = Schema.decodeUnknownEither(ExportedPassage)

/** A line's passages, one after the other, or what is wrong with one. */
const passagesOf = function* (
  { content, passages: given }: UndecodedLine,
  dimensions: number
): Steps<Either.Either<ReadonlyArray<IndexedPassage>, string>> {
  const passages: Array<IndexedPassage> = []
  let length = 0
  for (const [index, each] of given.entries()) {
    const decoded = decodePassage(each)
    if (Either.isLeft(decoded)) return Either.left(faultOf(decoded.left.issue, ["passages", index]))
    const passage = decoded.right
    const { end, endLine, start, startLine } = passage
    if (end < start || end > content.length) {
      return Either.left(`passage ${index} is outside the content: ${start} to ${end}`)
    }
    length += end - start + 1
    if (length > mostOverlap * (content.length + 1)) {
      return Either.left(`its passages repeat the content more than ${mostOverlap} times`)
    }
    if (endLine < startLine) {
      return Either.left(`passage ${index} ends before it begins: lines ${startLine} to ${endLine}`)
    }
    // A copy, so that the bytes are aligned for float32.
    const bytes = Option.map(passage.vector, (vector) => Uint8Array.from(vector))
    if (Option.exists(bytes, ({ byteLength }) => byteLength !== dimensions * 4)) {
      const numbers = Option.getOrThrow(bytes).byteLength / 4
      return Either.left(`passage ${index} has a vector of ${numbers} numbers, not ${dimensions}`)
    }
    const vector = Option.map(bytes, ({ buffer }) => new Float32Array(buffer))
    if (Option.exists(vector, (numbers) => numbers.some((number) => !Number.isFinite(number)))) {
      return Either.left(`passage ${index} has a vector with a value that is not a number`)
    }
    const text = content.slice(start, end)
    if (!isWellFormed(text)) {
      return Either.left(`passage ${index} begins or ends within a surrogate pair: ${start} to ${end}`)
    }
    passages.push({ ...passage, text, vector })
    yield
  }
  return Either.right(passages)
}

const fromLine = Effect.fnUntraced(function* (
  line: UndecodedLine,
  dimensions: number
): Effect.fn.Return<ExportedDocument, string> {
  // Here and not in the schema, by which an index that holds such a document is exported.
  const metadata = withinLimits(line.metadata)
  const fault = metadataFault(metadata)
  if (fault !== undefined) {
    return yield* Effect.fail([pathText(["metadata", ...fault.path]), fault.message].join(": "))
  }
  if (line.source !== undefined && !isSource(line.source)) {
    return yield* Effect.fail(`source has more than ${longestSource} characters`)
  }
  if (line.origin?.includes("\0") === true) {
    return yield* Effect.fail("origin has a NUL character, so it is no file's path")
  }
  const passages = yield* yield* inTurns(() => passagesOf(line, dimensions))
  return { ...line, metadata, derivedId: line.docId, passages }
})

const encodeHeader = Schema.encodeSync(Schema.parseJson(ExportHeader))
const encodeLine = Schema.encodeSync(Schema.parseJson(ExportLine))
const encodeEnd = Schema.encodeSync(Schema.parseJson(ExportEnd))
const decodeHeader = Schema.decodeUnknownEither(Schema.parseJson(ExportHeader))
const parse = Schema.decodeUnknownEither(Schema.parseJson())
const decodeEnd = Schema.decodeUnknownEither(ExportEnd)
const decodeLine = Schema.decodeUnknownEither(UndecodedLine)
const decodeRest = (text: string) =>
  Either.flatMap(parse(text), (given): Either.Either<ExportEnd | UndecodedLine, ParseResult.ParseError> =>
    Predicate.hasProperty(given, "end") ? decodeEnd(given) : decodeLine(given)
  )

interface Read extends Transferred {
  readonly line: number
  readonly header: ExportHeader | undefined
  readonly isEnded: boolean
}

const unread: Read = { line: 0, header: undefined, isEnded: false, documents: 0, passages: 0 }

interface Batch {
  readonly collection: CollectionName
  readonly embedder: EmbedderIdentity
  readonly documents: ReadonlyArray<ExportedDocument>
}

/** What was read up to the next line, and the batch of that line's document. */
const next = Effect.fnUntraced(function* (
  read: Read,
  text: string
): Effect.fn.Return<readonly [Read, Batch?], NotAnExport> {
  const line = read.line + 1
  const wrong = (reason: string) => new NotAnExport({ line, reason })
  if (read.header === undefined) {
    const header = Either.getOrUndefined(decodeHeader(text))
    if (header === undefined) {
      return yield* wrong("this is not an export by Clew: its first line is not the header of one")
    }
    if (header.version !== exportVersion) {
      return yield* wrong(`the format has version ${header.version}, but this program reads version ${exportVersion}`)
    }
    const names = header.collections.map(({ name }) => name)
    const twice = names.find((name, at) => names.indexOf(name) !== at)
    return twice === undefined ? [{ ...read, line, header }] : yield* wrong(`it names collection ${twice} twice`)
  }
  if (read.isEnded) return yield* wrong("there are lines after its end")
  const decoded = decodeRest(text)
  if (Either.isLeft(decoded)) {
    return yield* wrong(faultOf(decoded.left.issue))
  }
  const found = decoded.right
  if ("end" in found) {
    return found.documents === read.documents && found.passages === read.passages
      ? [{ ...read, line, isEnded: true }]
      : yield* wrong(
          `it should have ${found.documents} documents with ${found.passages} passages, ` +
            `but has ${read.documents} with ${read.passages}`
        )
  }
  const { collection } = found
  const embedder = read.header.collections.find(({ name }) => name === collection)?.embedding
  if (embedder === undefined) return yield* wrong(`collection ${collection} is not in the first line`)
  const document = yield* Effect.mapError(fromLine(found, embedder.dimensions), wrong)
  const [documents, passages] = [read.documents + 1, read.passages + document.passages.length]
  return [
    { ...read, line, documents, passages },
    { collection, embedder, documents: [document] }
  ]
})

const inItsLanguage = (document: ExportedDocument): PreparedDocument => ({
  ...document,
  language: documentLanguage(document.passages)
})

/** Whether a document is stored so; what a model said of it may be newer. */
const isStored = (document: ExportedDocument, stored: Option.Option<StoredRef>): boolean =>
  Option.exists(
    stored,
    ({ docId, fingerprint, line, passages, source }) =>
      docId === document.docId &&
      source === document.source &&
      fingerprint === document.fingerprint &&
      line === document.line &&
      passages === document.passages.length &&
      document.passages.every(({ said }) => said === undefined)
  )

/** Reads a whole export, and hands on its documents in batches, with their first line and their last. */
const reading = Effect.fnUntraced(function* <E, R, E2, R2>(
  given: Stream.Stream<string, E, R>,
  use: (batch: Batch, lines: readonly [first: number, last: number]) => Effect.Effect<unknown, E2, R2>
) {
  let read = unread
  let batch: (Batch & { readonly documents: Array<ExportedDocument> }) | undefined
  let length = 0
  const flush = Effect.suspend(() => {
    const full = batch
    batch = undefined
    length = 0
    return full === undefined ? Effect.void : use(full, [read.line - full.documents.length + 1, read.line])
  })
  yield* Stream.runForEach(given, (text) =>
    Effect.gen(function* () {
      const [after, one] = yield* next(read, text)
      const isFull =
        batch !== undefined &&
        (one?.collection !== batch.collection ||
          batch.documents.length >= batchSize ||
          length + text.length > batchLength)
      if (isFull) yield* flush
      read = after
      if (one === undefined) return
      batch ??= { ...one, documents: [] }
      batch.documents.push(...one.documents)
      length += text.length
    })
  )
  if (read.line === 0)
    return yield* new NotAnExport({
      line: 0,
      reason: "is empty; see whether the command that should have written it failed"
    })
  if (!read.isEnded) {
    return yield* new NotAnExport({
      line: read.line,
      reason: "it ends here, before its last line: the file is truncated"
    })
  }
  return read
})

const refOf = ({ docId, source }: ExportedDocument): DocumentRef => ({ derivedId: docId, docId, source })

/** 72 bits of a name's hash: millions of long names would need too much memory. */
const shortOf = (name: string): string => createHash("sha256").update(name).digest("base64").slice(0, 12)

const names = () => {
  const known = new Set<string>()
  return (name: string): boolean => {
    const before = known.size
    return known.add(shortOf(name)).size > before
  }
}

/** What to do about a damaged document, which is left out. */
type OnDamaged = (damage: StoreUnavailable) => Effect.Effect<void, StoreUnavailable>

/** Exports all documents with their passages and vectors as JSON Lines, and imports such lines. */
export class Transfer extends Effect.Service<Transfer>()("clew/Transfer", {
  effect: Effect.gen(function* () {
    const store = yield* Store
    const graph = yield* GraphStore

    const damagedAs = (collection: CollectionName, { name, reason }: DamagedDocument) =>
      new StoreUnavailable({
        reason: `Document ${name} of collection ${collection} is damaged: ${reason}; index it again, or remove it with \`clew delete\``
      })

    /** In the order in which they were stored. A document that changes meanwhile is written in its old version or its new. */
    const documentsOf = (collection: CollectionName, onDamaged: OnDamaged) => {
      const isNew = names()
      return Stream.filter(
        Stream.paginateChunkEffect(undefined as ExportPosition | undefined, (from) =>
          store.exported(collection, { limit: pageSize, from }).pipe(
            Effect.tap(({ damaged = [] }) =>
              Effect.forEach(damaged, (document) => onDamaged(damagedAs(collection, document)))
            ),
            Effect.map(({ documents, next }) => [Chunk.fromIterable(documents), Option.fromNullable(next)])
          )
        ),
        ({ docId, source }) => {
          const isFirst = isNew(`doc_id ${docId}`)
          return (source === undefined || isNew(`source ${source}`)) && isFirst
        }
      )
    }

    /** The lines of an export. Unless told else, it fails over the first damaged document. */
    const lines = (only?: CollectionName, onDamaged: OnDamaged = Effect.fail) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const all = yield* store.collections
          const chosen = only === undefined ? all : [yield* store.collection(only)]
          const total = { documents: 0, passages: 0 }
          const header = encodeHeader({
            format: "clew-export",
            version: exportVersion,
            clew: version,
            collections: yield* Effect.forEach(chosen, ({ embedder, name }) =>
              Effect.map(graph.linkage(name), (linkage) => ({ name, embedding: embedder, linkage }))
            )
          })
          const documents = Stream.flatMap(Stream.fromIterable(chosen), ({ name }) =>
            Stream.map(documentsOf(name, onDamaged), (document) => {
              total.documents++
              total.passages += document.passages.length
              return encodeLine(toLine(name, document))
            })
          )
          return Stream.make(header).pipe(
            Stream.concat(documents),
            Stream.concat(Stream.suspend(() => Stream.make(encodeEnd({ end: true, ...total }))))
          )
        })
      )

    /** Finds everything that could stop an import halfway; the collections that are there already, by their names. */
    const check = Effect.fnUntraced(function* <E, R>(given: Stream.Stream<string, E, R>) {
      const there = new Map((yield* store.collections).map((collection) => [collection.name, collection]))
      const isNew = names()
      const read = yield* reading(given, (batch, [first, last]) =>
        Effect.gen(function* () {
          const { collection, documents } = batch
          const wrong = (reason: string, line: number) => new NotAnExport({ line, reason })
          for (const [at, { docId, source }] of documents.entries()) {
            for (const name of [`doc_id ${docId}`, ...(source === undefined ? [] : [`source ${source}`])]) {
              if (!isNew(`${collection} ${name}`)) {
                return yield* wrong(`the ${name} is in an earlier line of collection ${collection} too`, first + at)
              }
            }
          }
          if (there.has(collection)) {
            const looking = store.lookup(collection, documents.map(refOf))
            yield* Effect.catchTag(looking, "DocumentConflict", ({ places: [at], reason }) =>
              wrong(`the index has another document: ${reason}`, at === undefined ? last : first + at)
            )
          }
        })
      )
      for (const { embedding, name } of read.header!.collections) {
        const recorded = there.get(name)?.embedder
        if (recorded !== undefined && !sameEmbedder(recorded, embedding)) {
          return yield* new EmbedderMismatch({ collection: name, recorded, configured: embedding, isImport: true })
        }
      }
      return { header: read.header!, there }
    })

    /** Those that are not in the index as they are, which an import that broke off has left to do. */
    const missing = (collection: CollectionName, documents: ReadonlyArray<ExportedDocument>) =>
      Effect.map(store.lookup(collection, documents.map(refOf)), (stored) =>
        documents.filter((document, at) => !isStored(document, stored[at]!))
      )

    /**
     * Stores the documents of an export, which is read twice: nothing is stored unless all of it can be. Existing
     * documents are replaced unless they are unchanged, or deleted if they hold no text; others stay. Nothing is
     * embedded. An import that broke off is continued by doing it again.
     */
    const take = Effect.fn("Transfer.take")(function* <E, R>(given: Stream.Stream<string, E, R>) {
      const { header, there } = yield* check(given)
      for (const { embedding, name } of header.collections) {
        if (!there.has(name)) yield* store.createCollection(name, embedding)
      }
      const share = sharingWrites()
      const taken = new Map<CollectionName, number>()
      let unchanged = 0
      let skipped = 0
      const { documents, passages } = yield* reading(given, ({ collection, documents, embedder }) =>
        Effect.gen(function* () {
          const filled = documents.filter(({ content }) => /\S/.test(content))
          const blank = documents.filter((document) => !filled.includes(document))
          skipped += blank.length
          if (there.has(collection) && blank.length > 0) {
            for (const found of Arr.getSomes(yield* store.lookup(collection, blank.map(refOf)))) {
              yield* Effect.catchTag(
                store.deleteDocument(collection, found.docId),
                "DocumentNotFound",
                () => Effect.void
              )
            }
          }
          taken.set(collection, (taken.get(collection) ?? 0) + filled.length)
          const left = there.has(collection) ? yield* missing(collection, filled) : filled
          unchanged += filled.length - left.length
          if (left.length > 0) yield* store.put(collection, left.map(inItsLanguage), { embedder })
          yield* share
        })
      )
      for (const { linkage, name } of header.collections) {
        const isWhole = (yield* store.collection(name)).documents === (taken.get(name) ?? 0)
        if (linkage !== undefined && isWhole) yield* graph.keepLinkage(name, linkage)
      }
      return { documents: documents - skipped, passages, unchanged, skipped } satisfies Taken
    })

    return { lines, take }
  })
}) {}
