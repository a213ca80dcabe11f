import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { defaultCollection, describeEmbedder, EmbedderIdentity, sameEmbedder } from "../model/Collection.ts"
import { type Progress, Reindexer } from "../upkeep/Reindexer.ts"
import { UpkeepStore } from "../Store.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import * as Flag from "./flag.ts"
import * as options from "./options.ts"
import { count, durationText, numberText, printResult } from "./output.ts"
import { progressLine, shareText } from "./progress.ts"
import { Terminal } from "./terminal.ts"

/** What `reindex --json` prints. */
export const ReindexReport = Schema.Struct({
  collection: Schema.String,
  from: EmbedderIdentity,
  to: EmbedderIdentity,
  /** False if the collection already has that embedder. */
  changed: Schema.Boolean,
  chunks: Schema.Int,
  reindex_time_ms: Schema.Int
}).annotations({ identifier: "ReindexReport" })

const force = Flag.toggle("force", {
  summary: "Embed everything again, even with the same embedder, such as after its weights changed"
})

export const reindex = define(
  {
    name: "reindex",
    summary: "Switch a collection to the configured embedder",
    flags: { collection: options.collection, quiet: options.quiet, force },
    examples: ["clew reindex", "clew reindex --force", "CLEW_EMBEDDING_BACKEND=ollama clew reindex -c notes"],
    details: [
      "Set embedding.backend to the new embedder: with auto, a collection keeps its own.",
      "The new vectors are written beside the old ones. Searches use the old ones until all are there; then the collection switches at once.",
      "If it is interrupted, the next run resumes where it stopped."
    ]
  },
  (flags) =>
    Effect.gen(function* () {
      const { note } = yield* Terminal
      const collection = flags.collection ?? defaultCollection
      const engine = yield* Engine

      yield* Effect.gen(function* () {
        const reindexer = yield* Reindexer
        const started = yield* Clock.currentTimeMillis
        const line = yield* progressLine
        let last: Progress | undefined

        const show = Effect.fnUntraced(function* (progress: Progress) {
          if (last === undefined && !flags.quiet && !sameEmbedder(progress.from, progress.to)) {
            yield* note(`clew: ${describeEmbedder(progress.from)} → ${describeEmbedder(progress.to)}`)
            if (progress.done > 0) yield* note(`clew: resuming after ${count(progress.done, "passage")}`)
          }
          last = progress
          const { done, total } = progress
          if (flags.quiet) return
          yield* line.show(() => `clew: ${numberText(done)} of ${count(total, "passage")} (${shareText(done, total)})`)
        })
        const clear = flags.quiet ? Effect.void : line.clear
        yield* Stream.runForEach(reindexer.run(collection, { force: flags.force }), show).pipe(
          Effect.ensuring(clear),
          Effect.onInterrupt(() =>
            note("clew: interrupted; what was embedded stays, and the next run resumes from there")
          )
        )

        const upkeep = yield* UpkeepStore
        // No later process may come to delete the old vectors.
        yield* Effect.repeat(upkeep.settle(), { while: () => upkeep.sweeping() })

        const { changed, done, from, insists, to } = last!
        const ms = (yield* Clock.currentTimeMillis) - started
        const text = changed
          ? `Collection ${collection} now has ${describeEmbedder(to)}: ${count(done, "passage")} in ${durationText(ms)}`
          : insists
            ? `Collection ${collection} already has ${describeEmbedder(to)}`
            : `Collection ${collection} keeps ${describeEmbedder(to)}: embedding.backend is auto; to switch, set embedding.backend to the embedder you want`
        yield* printResult(
          ReindexReport,
          { collection, from, to, changed, chunks: done, reindex_time_ms: ms },
          Effect.succeed(text)
        )
      }).pipe(Effect.provide(engine.open("change")))
    })
)
