import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { mentionsOf } from "../entities/extract.ts"
import type { Mention } from "../entities/mention.ts"
import type { PreparedDocument } from "../model/Stored.ts"
import { inTurns } from "../runtime/EventLoop.ts"

/** Whether the store takes mentions that documents bring with them. */
export class TakesMentions extends Context.Reference<TakesMentions>()("clew/Indexer/TakesMentions", {
  defaultValue: () => false
}) {}

/** Milliseconds of a turn: finding mentions is of use only while something else is slower. */
const turn = 1

/** Most passages of a document whose mentions it brings: they are encoded, and decoded, in one piece. */
const mostPassages = 1000

/**
 * Finds what the documents' passages mention, as long as the store is busy with other documents. The store finds the
 * rest, so that neither waits for the other.
 */
export const mentioning = (
  documents: ReadonlyArray<PreparedDocument>,
  isBusy: () => boolean
): Effect.Effect<Array<PreparedDocument>> =>
  inTurns(function* () {
    const made = [...documents]
    for (const [at, { passages, source, title }] of documents.entries()) {
      const found: Array<ReadonlyArray<Mention>> = []
      for (const [ordinal, { heading, text }] of passages.slice(0, mostPassages).entries()) {
        if (!isBusy()) break
        found.push(mentionsOf({ ordinal, text, heading, title, source }))
        yield
      }
      if (found.length > 0) made[at] = { ...documents[at]!, mentions: JSON.stringify(found) }
      if (!isBusy()) break
    }
    return made
  }, turn)
