import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import {
  CollectionName,
  describeDifference,
  describeEmbedder,
  EmbedderIdentity,
  sameButForDigest,
  sameEmbedder
} from "../../model/Collection.ts"
import { DocumentId } from "../../model/Document.ts"
import { because, fault, reasonOf } from "../../model/fault.ts"

/** The database cannot be used now: busy for too long, full, unreadable, damaged, or not ours. */
export class StoreUnavailable extends fault<StoreUnavailable>()("StoreUnavailable", 503, because, reasonOf) {}

/** The reason of a write for which the disk has no room. */
export const diskIsFull = "the disk is full"

/** The disk has no room for a write. */
export const isOfFullDisk = (error: { readonly message: string }): boolean => error.message.includes(diskIsFull)

export class CollectionNotFound extends fault<CollectionNotFound>()(
  "CollectionNotFound",
  404,
  {
    name: CollectionName,
    /** A collection with a similar name. */
    near: Schema.optional(CollectionName)
  },
  ({ name, near }) => `No collection named ${name}${near === undefined ? "" : ` (did you mean ${near}?)`}`
) {}

export class CollectionExists extends fault<CollectionExists>()(
  "CollectionExists",
  409,
  { name: CollectionName },
  ({ name }) => `A collection named ${name} already exists`
) {}

export class DocumentNotFound extends fault<DocumentNotFound>()(
  "DocumentNotFound",
  404,
  { docId: DocumentId },
  ({ docId }) => `No document with id ${docId}`
) {}

/** A doc_id and a source of two different stored documents, or a document that is in a batch twice. */
export class DocumentConflict extends fault<DocumentConflict>()(
  "DocumentConflict",
  400,
  {
    reason: Schema.String,
    /** Positions in the batch, from 0; two if a document is in it twice. */
    places: Schema.Array(Schema.Int)
  },
  reasonOf
) {
  /** The positions as paths in a request's body. */
  get errors() {
    const [first, second] = this.places
    const message = second === undefined ? this.reason : `is the same document as documents[${first}]`
    return first === undefined ? [] : [{ path: `documents[${second ?? first}]`, message }]
  }
}

/** The collection's vectors come from another embedder than the configured one. */
export class EmbedderMismatch extends fault<EmbedderMismatch>()(
  "EmbedderMismatch",
  409,
  {
    collection: CollectionName,
    recorded: EmbedderIdentity,
    /** Of an import, what made the export. */
    configured: EmbedderIdentity,
    isImport: Schema.optional(Schema.Boolean)
  },
  ({ collection, configured, isImport, recorded }) => {
    if (isImport === true) {
      const [own, other] = [describeEmbedder(recorded), describeEmbedder(configured)]
      return (
        `Collection ${collection} of the index has vectors by ${own}, the export's are by ` +
        `${own === other ? "another version of it, or with other prefixes" : other}. ` +
        "Configure the embedder of the export and run `clew reindex` first, or import into another index"
      )
    }
    return (
      `Collection ${collection} was ${describeDifference(recorded, configured)}. ` +
      (sameButForDigest(recorded, configured)
        ? `Run \`clew reindex\` to embed its passages again`
        : `Configure the recorded embedder, or run \`clew reindex\` to switch`)
    )
  }
) {}

/** The collection has another embedder than the one that a query's vector is from: it changed meanwhile. */
export class EmbedderChanged extends Schema.TaggedError<EmbedderChanged>()("EmbedderChanged", {
  collection: CollectionName
}) {
  override get message() {
    return `The embedder of collection ${this.collection} changed while the query was embedded; ask again`
  }
}

/** Another change of the collection's embedder began or got ahead while this one was running. */
export class ReindexTakenOver extends fault<ReindexTakenOver>()(
  "ReindexTakenOver",
  409,
  {
    collection: CollectionName,
    wanted: EmbedderIdentity,
    /** The embedder that the collection is changing to, or has changed to. */
    other: EmbedderIdentity
  },
  ({ collection, other, wanted }) =>
    sameEmbedder(other, wanted)
      ? `Another reindex of collection ${collection} to ${describeEmbedder(wanted)} is ahead of this one, which stops; run one at a time`
      : `Another reindex, to ${describeEmbedder(other)}, took over collection ${collection}; this one, to ${describeEmbedder(wanted)}, stops`
) {}

/** What a call on one collection gives. */
export type InCollection<A, E = never> = Effect.Effect<A, E | CollectionNotFound | StoreUnavailable>

/** A backup could not be made or restored; nothing was changed. */
export class BackupRefused extends Data.TaggedError("BackupRefused")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

/** All errors of a store's calls. */
export const StoreError = Schema.Union(
  CollectionExists,
  CollectionNotFound,
  DocumentConflict,
  DocumentNotFound,
  EmbedderChanged,
  EmbedderMismatch,
  ReindexTakenOver,
  StoreUnavailable
)
export type StoreError = typeof StoreError.Type
