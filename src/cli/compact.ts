import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { UpkeepStore } from "../Store.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { bytesText, printResult } from "./output.ts"

/** What `compact --json` prints. */
export const CompactReport = Schema.Struct({
  bytes_before: Schema.Int,
  bytes_after: Schema.Int,
  complete: Schema.Boolean
}).annotations({ identifier: "CompactReport" })

const still =
  "\nSome deleted words are still in the index's file: another program reads an older state, or the disk had no room to merge the keyword index; run this again then"

export const compact = define(
  {
    name: "compact",
    summary: "Make the index as small as possible, without a byte of deleted documents",
    flags: {},
    details: [
      "Merges the keyword index, rebuilds the vectors' codes and rewrites the file. Others can search meanwhile; writers wait while the file is written."
    ],
    examples: ["clew compact", "clew delete secret.md --yes && clew compact"]
  },
  () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      yield* Effect.gen(function* () {
        const { after, before, complete } = yield* (yield* UpkeepStore).compact()
        yield* printResult(
          CompactReport,
          { bytes_before: before, bytes_after: after, complete },
          Effect.succeed(`Compacted the index: ${bytesText(before)} → ${bytesText(after)}${complete ? "" : still}`)
        )
      }).pipe(Effect.provide(engine.open("shrink")))
    })
)
