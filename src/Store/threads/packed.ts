import * as Option from "effect/Option"
import type { PreparedDocument, StoredDocument } from "../../model/Stored.ts"
import { packingPassages, packPassages, type PackedPassages, unpackPassages } from "../../model/packedPassages.ts"
import type { Steps } from "../../runtime/EventLoop.ts"
import { packVectors, type PackedVectors, unpackVectors } from "./packedVectors.ts"

/** A stored document; its passages' ordinals are implied by their order. */
export interface PackedDocument extends Omit<StoredDocument, "passages"> {
  readonly passages: PackedPassages
}

export const packDocument = ({ passages, ...document }: StoredDocument): PackedDocument => ({
  ...document,
  passages: packPassages(passages)
})

export const unpackDocument = ({ passages, ...document }: PackedDocument): StoredDocument => ({
  ...document,
  passages: unpackPassages(document.content, passages, (passage, ordinal) => ({ ordinal, ...passage }))
})

/** A document to be stored. */
export interface PackedPrepared extends Omit<PreparedDocument, "passages"> {
  readonly passages: PackedPassages
  readonly vectors: PackedVectors
}

/** In steps: a document with many passages would block everything else. */
export function* packingPrepared({ passages, ...document }: PreparedDocument): Steps<PackedPrepared> {
  const packed = yield* packingPassages(passages)
  return {
    ...document,
    passages: packed,
    vectors: packVectors(passages.map(({ vector }) => Option.getOrUndefined(vector)))
  }
}

export const unpackPrepared = ({ passages, vectors, ...document }: PackedPrepared): PreparedDocument => {
  const found = unpackVectors(vectors)
  return {
    ...document,
    passages: unpackPassages(document.content, passages, (passage, ordinal) => ({
      ...passage,
      vector: Option.fromNullable(found[ordinal])
    }))
  }
}
