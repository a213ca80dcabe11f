import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { CollectionName, EmbedderIdentity } from "../model/Collection.ts"
import { sameEmbedder } from "../model/Collection.ts"
import type { DocumentId } from "../model/Document.ts"
import { ExportEnd, ExportHeader, ExportLine, exportVersion } from "../model/Export.ts"
import type { ExportedDocument, IndexedPassage } from "../model/Stored.ts"
import { sharingWrites } from "../runtime/EventLoop.ts"
import { EmbedderMismatch, Store } from "../Store.ts"
import { version } from "../version.ts"

/** An invalid export; documents of earlier lines stay. */
export class NotAnExport extends Data.TaggedError("NotAnExport")<{ readonly line: number; readonly reason: string }> {
  override get message() {
    return `Line ${this.line} of the export: ${this.reason}`
  }
}

export interface Transferred {
  readonly documents: number
  readonly passages: number
}

/** Documents read per page; all are in memory. */
const pageSize = 50
/** Documents stored in one transaction, unless their lines are too long together. */
const batchSize = 100
const batchLength = 16 * 1024 * 1024

const bytesOf = (vector: Float32Array) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

const toLine = (collection: CollectionName, document: ExportedDocument): ExportLine => ({
  collection,
  doc_id: document.docId,
  source: document.source,
  title: document.title,
  metadata: document.metadata,
  fingerprint: document.fingerprint,
  origin: document.origin,
  line: document.line,
  content: document.content,
  passages: document.passages.map(({ end, endLine, heading, locator, start, startLine, tableHeader, vector }) => ({
    start,
    end,
    start_line: startLine,
    end_line: endLine,
    heading,
    ...(locator === undefined ? {} : { locator }),
    ...(tableHeader === undefined ? {} : { table_header: tableHeader }),
    ...Option.match(vector, { onNone: () => ({}), onSome: (found) => ({ vector: bytesOf(found) }) })
  }))
})

/** The document of a line, or its mistake. */
const fromLine = (line: ExportLine, dimensions: number): Either.Either<ExportedDocument, string> =>
  Either.gen(function* () {
    let before = 0
    const passages: Array<IndexedPassage> = []
    for (const [index, passage] of line.passages.entries()) {
      const { end, end_line, heading, locator, start, start_line, table_header, vector } = passage
      if (start < before || end < start || end > line.content.length) {
        return yield* Either.left(`passage ${index} is outside the content, or out of order: ${start} to ${end}`)
      }
      if (vector !== undefined && vector.byteLength !== dimensions * 4) {
        return yield* Either.left(
          `passage ${index} has a vector of ${vector.byteLength / 4} numbers, not ${dimensions}`
        )
      }
      // A copy, so that the bytes are aligned for float32.
      const numbers = vector === undefined ? undefined : new Float32Array(Uint8Array.from(vector).buffer)
      if (numbers?.some((number) => !Number.isFinite(number))) {
        return yield* Either.left(`passage ${index} has a vector with a value that is not a number`)
      }
      before = start
      passages.push({
        text: line.content.slice(start, end),
        heading,
        start,
        end,
        startLine: start_line,
        endLine: end_line,
        ...(locator === undefined ? {} : { locator }),
        ...(table_header === undefined ? {} : { tableHeader: table_header }),
        vector: Option.fromNullable(numbers)
      })
    }
    const { content, doc_id, fingerprint, metadata, origin, source, title } = line
    return {
      docId: doc_id,
      derivedId: doc_id,
      source,
      title,
      metadata,
      fingerprint,
      origin,
      line: line.line,
      content,
      passages
    }
  })

const encodeHeader = Schema.encodeSync(Schema.parseJson(ExportHeader))
const encodeLine = Schema.encodeSync(Schema.parseJson(ExportLine))
const encodeEnd = Schema.encodeSync(Schema.parseJson(ExportEnd))
const decodeHeader = Schema.decodeUnknownEither(Schema.parseJson(ExportHeader))
const decodeRest = Schema.decodeUnknownEither(Schema.parseJson(Schema.Union(ExportEnd, ExportLine)))

/** Exports all documents with their passages and vectors as JSON Lines, and imports such lines. */
export class Transfer extends Effect.Service<Transfer>()("clew/Transfer", {
  effect: Effect.gen(function* () {
    const store = yield* Store

    /** Documents by doc_id, in pages. A document that changes meanwhile is written in its old or its new version. */
    const documentsOf = (collection: CollectionName) =>
      Stream.paginateChunkEffect(undefined as DocumentId | undefined, (after) =>
        Effect.map(store.exported(collection, { limit: pageSize, after }), (page) => [
          Chunk.fromIterable(page),
          page.length < pageSize ? Option.none() : Option.some(page.at(-1)!.docId)
        ])
      )

    /** The lines of an export, without their ends. */
    const lines = (only?: CollectionName) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const all = yield* store.collections
          const chosen = only === undefined ? all : [yield* store.collection(only)]
          const total = { documents: 0, passages: 0 }
          const header = encodeHeader({
            format: "clew-export",
            version: exportVersion,
            clew: version,
            collections: chosen.map(({ embedder, name }) => ({ name, embedding: embedder }))
          })
          const documents = Stream.flatMap(Stream.fromIterable(chosen), ({ name }) =>
            Stream.map(documentsOf(name), (document) => {
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

    /** Creates a collection of an export; an existing one must have the same embedder. */
    const prepare = Effect.fnUntraced(function* (name: CollectionName, embedder: EmbedderIdentity) {
      const { embedder: recorded } = yield* Effect.catchTag(store.collection(name), "CollectionNotFound", () =>
        store.createCollection(name, embedder)
      )
      if (!sameEmbedder(recorded, embedder)) {
        return yield* new EmbedderMismatch({ collection: name, recorded: embedder, configured: recorded })
      }
    })

    /** Stores the documents of an export; existing ones are replaced, others stay. Nothing is embedded. */
    const take = Effect.fn("Transfer.take")(function* <E, R>(given: Stream.Stream<string, E, R>) {
      const embedders = new Map<CollectionName, EmbedderIdentity>()
      let batch: Array<ExportedDocument> = []
      let [at, length] = [0, 0]
      let into: CollectionName | undefined
      let total: Transferred = { documents: 0, passages: 0 }
      let end: ExportEnd | undefined
      const wrong = (reason: string) => new NotAnExport({ line: at, reason })
      const share = sharingWrites()
      const flush = Effect.suspend(() => {
        const [documents, collection] = [batch, into]
        batch = []
        length = 0
        if (documents.length === 0 || collection === undefined) return Effect.void
        total = {
          documents: total.documents + documents.length,
          passages: total.passages + documents.reduce((sum, { passages }) => sum + passages.length, 0)
        }
        return Effect.zipRight(store.put(collection, documents, { embedder: embedders.get(collection) }), share)
      })
      const header = Effect.fnUntraced(function* (text: string) {
        const read = yield* Either.mapLeft(decodeHeader(text), () =>
          wrong("this is not an export by Clew: its first line is not the header of one")
        )
        if (read.version !== exportVersion) {
          return yield* wrong(`the format has version ${read.version}, but this program reads version ${exportVersion}`)
        }
        for (const { embedding, name } of read.collections) {
          yield* prepare(name, embedding)
          embedders.set(name, embedding)
        }
      })
      const one = Effect.fnUntraced(function* (text: string) {
        at++
        if (at === 1) return yield* header(text)
        if (end !== undefined) return yield* wrong("there are lines after its end")
        const read = yield* Either.mapLeft(decodeRest(text), (error) =>
          wrong(ParseResult.ArrayFormatter.formatErrorSync(error)[0]?.message ?? "it cannot be read")
        )
        if ("end" in read) return void (end = read)
        const embedder = embedders.get(read.collection)
        if (embedder === undefined) return yield* wrong(`collection ${read.collection} is not in the first line`)
        const document = yield* Either.mapLeft(fromLine(read, embedder.dimensions), wrong)
        if (read.collection !== into || batch.length >= batchSize || length + text.length > batchLength) yield* flush
        into = read.collection
        batch.push(document)
        length += text.length
      })
      yield* Stream.runForEach(given, one)
      yield* flush
      if (end === undefined) return yield* wrong("it ends here, before its last line: the file is truncated")
      if (end.documents !== total.documents || end.passages !== total.passages) {
        return yield* wrong(`it should have ${end.documents} documents, but has ${total.documents}`)
      }
      return total
    })

    return { lines, take }
  })
}) {}
