import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { IndexingBusy, InvalidRequest } from "../api/errors.ts"
import type { IndexRequest, IndexResponse } from "../api/Documents.ts"
import { LimitsConfig } from "../Config.ts"
import { type Compared, Indexer } from "../Indexer.ts"
import { defaultCollection } from "../model/Collection.ts"
import { makeTurns } from "../runtime/Turn.ts"
import * as metrics from "./metrics.ts"

/** What is chunked, embedded and stored at a stretch, before others get their turn. */
const slice = { documents: 16, characters: 50_000 }

/** Batches that are under way or wait; each holds its body in memory. */
const mostBatches = 16

const pause = Effect.sleep(0)

const slices = (batch: ReadonlyArray<Compared>): ReadonlyArray<ReadonlyArray<Compared>> => {
  const all: Array<Array<Compared>> = []
  let characters = Infinity
  for (const next of batch) {
    const last = all.at(-1)
    const { length } = next.draft.content
    if (last === undefined || last.length === slice.documents || characters + length > slice.characters) {
      all.push([next])
      characters = length
    } else {
      last.push(next)
      characters += length
    }
  }
  return all
}

/**
 * Indexes a batch, slice by slice: each document is replaced at once, the batch is not. Conflicts are found before
 * anything is stored. One batch at a time, so that no other one of this process can bring up a conflict later.
 */
export class Indexing extends Effect.Service<Indexing>()("clew/http/Indexing", {
  effect: Effect.gen(function* () {
    const indexer = yield* Indexer
    const { maxBatch } = yield* LimitsConfig
    const turns = makeTurns(1)

    const run = Effect.fn("Indexing.run")(function* ({
      collection: name = defaultCollection,
      documents
    }: IndexRequest) {
      if (documents.length > maxBatch) {
        const message = `at most ${maxBatch} documents at once (limits.max_batch), got ${documents.length}`
        return yield* new InvalidRequest({ errors: [{ path: "documents", message }] })
      }
      const started = yield* Clock.currentTimeMillis
      const collection = yield* indexer.open(name)
      const drafts = yield* indexer.draftAll(documents)
      const compared = yield* indexer.compare(name, drafts)
      const indexed = yield* Effect.forEach(slices(compared), (part) =>
        // The rest of the process gets its turn before each part, and between embedding and storing it.
        pause.pipe(
          Effect.zipRight(indexer.prepare(collection, part)),
          Effect.zipLeft(pause),
          Effect.flatMap((prepared) => indexer.put(collection, prepared))
        )
      )
      const outcomes = indexed.flat()
      const statuses = { created: 0, updated: 0, unchanged: 0 }
      for (const { status } of outcomes) statuses[status]++
      const chunks = outcomes.reduce((sum, { passages, status }) => sum + (status === "unchanged" ? 0 : passages), 0)
      yield* metrics.indexed(statuses, chunks)
      return {
        indexed: statuses.created + statuses.updated,
        unchanged: statuses.unchanged,
        chunks,
        documents: outcomes.map(({ docId, passages, source, status }) => ({
          doc_id: docId,
          ...(source === undefined ? {} : { source }),
          status,
          chunks: passages
        })),
        index_time_ms: (yield* Clock.currentTimeMillis) - started
      } satisfies IndexResponse
    })

    const bounded = Effect.fnUntraced(function* (request: IndexRequest) {
      if (turns.size() >= mostBatches) return yield* new IndexingBusy({ limit: mostBatches })
      return yield* turns.urgent(run(request))
    })
    return { run: bounded }
  })
}) {}
