import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { renderHits } from "../../src/cli/query.ts"
import { faceOf } from "../../src/cli/terminal.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Hit } from "../../src/model/SearchResult.ts"
import { learned } from "../../src/terms/stemmers.ts"
import { around } from "./around.ts"

const hit = (text: string, document: Partial<Hit["document"]> = {}, span = { startLine: 10, endLine: 10 }): Hit => ({
  score: 0.75,
  vector: { rank: 2, score: 0.5 },
  passage: { ordinal: 0, text, heading: ["Sea", "Tides"], start: 0, end: text.length, ...span },
  collection: defaultCollection,
  document: { docId: DocumentId.make("d"), source: "/here/docs/sea.md", metadata: {}, indexedAt: 0, ...document }
})

it.layer(around({}))("renderHits", (it) => {
  it.effect("shows place, score, headings and text", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* renderHits([hit("The tide rises.\n\n  Twice a day.")], "tides"),
        "1. docs/sea.md:10  0.750\n   Sea > Tides\n   The tide rises.\n     Twice a day."
      )
      assert.match(yield* renderHits([{ ...hit("The tide."), score: 0.0000123 }], "tide"), /^1\. \S+ {2}0\.00001\n/)
    })
  )

  it.effect("marks the query's words in all their forms on a terminal", () =>
    Effect.gen(function* () {
      const { bold, yellow } = faceOf({ isTTY: true }, { TERM: "xterm" }).colors
      assert.include(yield* renderHits([hit("The tide rises.")], "tides"), `The ${bold(yellow("tide"))} rises.`)
      yield* learned(["ru"])
      const russian = { ...hit("Начало прилива."), language: "ru" }
      assert.include(yield* renderHits([russian], "приливы"), `Начало ${bold(yellow("прилива"))}.`)
    }).pipe(Effect.provide(around({ isTTY: true })))
  )

  it.effect("names the line that the excerpt begins in, but never one after the passage", () =>
    Effect.gen(function* () {
      const long = `${"Nothing here.\n".repeat(60)}The tide rises.`
      const record = yield* renderHits([hit(long, {}, { startLine: 7, endLine: 7 })], "tide")
      assert.include(record, "docs/sea.md:7 ")
      const line = Number(
        /sea\.md:(\d+)/.exec(yield* renderHits([hit(long, {}, { startLine: 1, endLine: 61 })], "tide"))?.[1]
      )
      assert.isAbove(line, 20)
      assert.isAtMost(line, 61)
    })
  )

  const wide = (cell: string) => cell.padEnd(90)
  const settings = [
    `| ${wide("key")} | ${wide("what it does")} |`,
    `| ${"-".repeat(90)} | ${"-".repeat(90)} |`,
    `| ${wide("server.port")} | ${wide("Port to listen on; the port must be free, or else the server does not start, and says who has it already")} |`,
    `| ${wide("server.host")} | ${wide("Address to listen on; any but a loopback address requires a key \\| a proxy")} |`
  ]
  const rows = [
    "   - key: server.port; what it does: Port to listen on; the port must be free, or else the server does not start, and says who has it already",
    "   - key: server.host; what it does: Address to listen on; any but a loopback address requires a key | a proxy"
  ]

  it.effect("shows the rows of wide tables as `name: value`, without padding and lines of dashes", () =>
    Effect.gen(function* () {
      const text = ["Settings:", "", ...settings].join("\n")
      const lines = (yield* renderHits([hit(text, {}, { startLine: 10, endLine: 15 })], "port")).split("\n")
      assert.deepStrictEqual(lines, ["1. docs/sea.md:10  0.750", "   Sea > Tides", "   Settings:", ...rows])
    })
  )

  it.effect("names the columns also where a passage begins within the table, and the line of its row", () =>
    Effect.gen(function* () {
      const one = hit(settings.slice(2).join("\n"), {}, { startLine: 12, endLine: 13 })
      const within = { ...one, passage: { ...one.passage, tableHeader: "key | what it does" } }
      assert.deepStrictEqual((yield* renderHits([within], "host")).split("\n").slice(1), ["   Sea > Tides", ...rows])
      const unknown = { ...one, passage: { ...one.passage, tableHeader: "key" } }
      assert.include(yield* renderHits([unknown], "host"), "\n   key\n   - server.port: Port to listen on")
      const many = [settings[0], settings[1], ...Array.from({ length: 30 }, () => settings[2]), settings[3]].join("\n")
      assert.include(
        yield* renderHits([hit(many, {}, { startLine: 1, endLine: 33 })], "host loopback"),
        "docs/sea.md:31 "
      )
    })
  )

  it.effect("shows narrow tables as tables, and code as it is", () =>
    Effect.gen(function* () {
      const text =
        "| tide  |    m |\n| :---- | ---: |\n| high  |  3.1 |\n| spring |     |\n\n```\n|  a |   b |\n|----|-----|\n```"
      assert.deepStrictEqual((yield* renderHits([hit(text)], "tide")).split("\n").slice(2), [
        "   | tide | m |",
        "   | high | 3.1 |",
        "   | spring | |",
        "   ```",
        "   |  a |   b |",
        "   |----|-----|",
        "   ```"
      ])
    })
  )

  it.effect("says what each leg thought of it", () =>
    Effect.gen(function* () {
      const term = { term: "tide", score: 2.5, title: 0, heading: 1, text: 1 }
      const keyword = { score: 3, contribution: 0.15, terms: [term], name_bonus: 0.2 }
      const explain = { vector: { rank: 2, score: 0.5, contribution: 0.25 }, keyword }
      assert.include(
        yield* renderHits([{ ...hit("The tide."), explain }], "tide"),
        "0.250 by meaning: #2, score 0.500; 0.150 by words: not ranked, score 3.000 (tide 2.50 in heading and text, +20 % for names as written)"
      )
    })
  )

  it.effect("does not let a document write on the terminal", () =>
    Effect.gen(function* () {
      const evil = "\u001b[2J\u0007\u009b31m\u202edm.exe\u2066"
      const text = yield* renderHits([hit(`tide ${evil}`, { source: `/x${evil}\n.md`, title: evil })], "tide")
      // oxlint-disable-next-line no-control-regex
      assert.notMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
    })
  )
})
