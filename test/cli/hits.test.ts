import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { renderHits } from "../../src/cli/hits.ts"
import { Place } from "../../src/cli/place.ts"
import { faceOf, logTo, Terminal } from "../../src/cli/terminal.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Hit } from "../../src/model/SearchResult.ts"

const face = (isTTY: boolean) => faceOf({ isTTY }, { TERM: "xterm" })

const around = (isTTY: boolean) =>
  Layer.merge(
    Layer.mock(Terminal, { out: face(isTTY), err: face(isTTY), isInteractive: false, log: logTo(process.stderr) }),
    Layer.succeed(Place, {
      cwd: "/here",
      env: {},
      globals: { config: undefined, db: undefined, json: false, logLevel: undefined }
    })
  )

const hit = (text: string, document: Partial<Hit["document"]> = {}, span = { startLine: 10, endLine: 10 }): Hit => ({
  score: 0.75,
  vector: { rank: 2, score: 0.5 },
  passage: { ordinal: 0, text, heading: ["Sea", "Tides"], start: 0, end: text.length, ...span },
  collection: defaultCollection,
  document: { docId: DocumentId.make("d"), source: "/here/docs/sea.md", metadata: {}, ...document }
})

const shown = renderHits

describe("renderHits", () => {
  it.effect("shows place, score, headings and text", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* shown([hit("The tide rises.\n\n  Twice a day.")], "tides"),
        "1. docs/sea.md:10  0.750\n   Sea > Tides\n   The tide rises.\n     Twice a day."
      )
    }).pipe(Effect.provide(around(false)))
  )

  it.effect("marks the query's words in all their forms on a terminal", () =>
    Effect.gen(function* () {
      const { bold, yellow } = face(true).colors
      assert.include(yield* shown([hit("The tide rises.")], "tides"), `The ${bold(yellow("tide"))} rises.`)
    }).pipe(Effect.provide(around(true)))
  )

  it.effect("names the line that the excerpt begins in, but never one after the passage", () =>
    Effect.gen(function* () {
      const long = `${"Nothing here.\n".repeat(60)}The tide rises.`
      const record = yield* shown([hit(long, {}, { startLine: 7, endLine: 7 })], "tide")
      assert.include(record, "docs/sea.md:7 ")
      const line = Number(
        /sea\.md:(\d+)/.exec(yield* shown([hit(long, {}, { startLine: 1, endLine: 61 })], "tide"))?.[1]
      )
      assert.isAbove(line, 20)
      assert.isAtMost(line, 61)
    }).pipe(Effect.provide(around(false)))
  )

  it.effect("says what each leg thought of it", () =>
    Effect.gen(function* () {
      const term = { term: "tide", score: 2.5, title: 0, heading: 1, text: 1 }
      const keyword = { score: 3, contribution: 0.15, terms: [term], name_bonus: 0.2 }
      const explain = { vector: { rank: 2, score: 0.5, contribution: 0.25 }, keyword }
      assert.include(
        yield* shown([{ ...hit("The tide."), explain }], "tide"),
        "vector #2 0.500 adds 0.250, keyword unranked 3.000 adds 0.150 (tide 2.50 in heading+text, names +20 %)"
      )
    }).pipe(Effect.provide(around(false)))
  )

  it.effect("does not let a document write on the terminal", () =>
    Effect.gen(function* () {
      const evil = "\u001b[2J\u0007\u009b31m"
      const text = yield* shown([hit(`tide ${evil}`, { source: `/x${evil}\n.md`, title: evil })], "tide")
      // oxlint-disable-next-line no-control-regex
      assert.notMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    }).pipe(Effect.provide(around(false)))
  )
})
