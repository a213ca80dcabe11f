import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { describeEmbedder, EmbedderIdentity, sameEmbedder } from "../model/Collection.ts"
import { type Progress, Reindexer } from "../upkeep/Reindexer.ts"
import { swept } from "../upkeep/swept.ts"
import { meant } from "./collections.ts"
import { inIndex } from "./engine.ts"
import * as Cli from "./command.ts"
import * as options from "./flags.ts"
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

const force = Cli.toggle("force", {
  summary: "Embed everything again even if the embedder is the same, for example after its weights changed"
})

/** Shows the progress of a change of embedder, and gives its last state; undefined if there was none. */
export const followed = Effect.fnUntraced(function* <E, R>(
  changes: Stream.Stream<Progress, E, R>,
  quiet: boolean,
  interrupted = "what was embedded stays, and the next run resumes from there"
) {
  const { note } = yield* Terminal
  const line = yield* progressLine
  let last: Progress | undefined
  const show = Effect.fnUntraced(function* (progress: Progress) {
    if (last === undefined && !quiet && !sameEmbedder(progress.from, progress.to)) {
      yield* note(`clew: ${describeEmbedder(progress.from)} → ${describeEmbedder(progress.to)}`)
      if (progress.done > 0) yield* note(`clew: resuming after ${count(progress.done, "passage")}`)
    }
    last = progress
    const { done, total } = progress
    if (quiet) return
    yield* line.show(() => `clew: ${numberText(done)} of ${count(total, "passage")} (${shareText(done, total)})`)
  })
  yield* Stream.runForEach(changes, show).pipe(
    Effect.ensuring(quiet ? Effect.void : line.clear),
    Effect.onInterrupt(() => note(`clew: interrupted; ${interrupted}`))
  )
  if (last !== undefined) yield* swept
  return last
})

export const reindex = Cli.define(
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
  function* (flags) {
    yield* inIndex("change", function* () {
      const collection = yield* meant(flags.collection)
      const reindexer = yield* Reindexer
      const started = yield* Clock.currentTimeMillis
      const last = yield* followed(reindexer.run(collection, { force: flags.force }), flags.quiet)
      const { changed, done, from, insists, to } = last!
      const ms = (yield* Clock.currentTimeMillis) - started
      const text = changed
        ? `Collection ${collection} now has ${describeEmbedder(to)}: ${count(done, "passage")} in ${durationText(ms)}`
        : insists
          ? `Collection ${collection} already has ${describeEmbedder(to)}`
          : `Collection ${collection} keeps ${describeEmbedder(to)}: embedding.backend is auto; to switch, set embedding.backend to the embedder you want`
      yield* printResult(ReindexReport, { collection, from, to, changed, chunks: done, reindex_time_ms: ms }, text)
    })
  }
)
