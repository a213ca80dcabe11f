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

const still = "\nAnother program still reads an older state: run it again once that is done"

export const compact = define(
  {
    name: "compact",
    summary: "Make the index as small as it can be, without a byte of what was deleted",
    flags: {},
    details: [
      "Merges the keyword index, makes the vectors' codes anew, and writes the file anew. Others can search meanwhile; who wants to write waits while the file is written."
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
