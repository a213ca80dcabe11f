import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { forTerminal, faceOf } from "../../src/cli/terminal.ts"
import { define } from "../../src/cli/command.ts"
import { help } from "../../src/cli/help.ts"
import { renderFiles, renderHits } from "../../src/cli/query.ts"
import { displayPath } from "../../src/cli/engine.ts"
import { widthOf, wrapLine } from "../../src/cli/wrap.ts"
import { hit } from "../hits.ts"
import { around } from "./around.ts"

describe("output", () => {
  it.prop(
    "is wrapped between words, and loses none",
    {
      words: FastCheck.array(FastCheck.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 }),
      width: FastCheck.integer({ min: 12, max: 80 })
    },
    ({ width, words }) => {
      const lines = wrapLine(words.join(" "), width)
      assert.strictEqual(lines.join(" "), words.join(" "))
      for (const line of lines) assert.isAtMost(widthOf(line), width)
    }
  )

  it("counts the columns of East Asian marks, and breaks no line before one that closes or after one that opens", () => {
    const text = "「データベース」、または（インデックス）とは。".repeat(5)
    assert.strictEqual(widthOf("「、。ー・」！（￥）"), 20)
    assert.strictEqual(widthOf("ｱ·—…“x”"), 7)
    for (let width = 20; width <= 80; width++) {
      const lines = wrapLine(text, width)
      assert.strictEqual(lines.join(""), text)
      for (const line of lines) {
        // Every character of it takes two columns.
        assert.isAtMost(2 * line.length, width)
        assert.notMatch(line, /^[」、。ー）]|[「（]$/)
      }
    }
    for (const odd of ["「「「「「「「「「「「「", "「abc」 (d) 「", "。。。 。", "x「"]) {
      assert.strictEqual(wrapLine(odd.repeat(9), 20).join("").replaceAll(" ", ""), odd.repeat(9).replaceAll(" ", ""))
    }
  })

  it.effect("fits a terminal of 60 and of 80 columns, in any script", () =>
    Effect.gen(function* () {
      const text =
        "The tide rises twice a day, and what it leaves on the shore is gathered by those who wait for it. ".repeat(3)
      const japanese = "潮は一日に二度満ちて、岸に残すものは待つ人々に集められる。".repeat(4)
      for (const columns of [60, 80]) {
        const shown = yield* Effect.provide(
          renderHits(
            [
              hit({
                text,
                title: "The long title of a document about the sea and what it does to the shore, told at length"
              }),
              hit({ text: japanese })
            ],
            "tides rise"
          ),
          around({ isTTY: true, columns })
        )
        for (const line of shown.split("\n")) assert.isAtMost(widthOf(line), columns, line)
      }
    })
  )

  it.effect("says headings once, and names files alone where that is asked for", () =>
    Effect.gen(function* () {
      const hits = [
        hit({ text: "# Sea\n\n## Tides\n\nThey rise.", title: "Sea", heading: ["Sea", "Tides"], source: "/here/a.md" }),
        hit({ text: "More.", source: "/here/a.md" }),
        hit({ text: "Other.", source: "/here/b\u001b[31m.md" })
      ]
      const shown = yield* renderHits(hits.slice(0, 1), "nothing")
      assert.notInclude(shown, "##")
      assert.strictEqual(shown.split("Tides").length, 2)
      assert.strictEqual(yield* renderFiles(hits), "a.md\nb [31m.md")
    }).pipe(Effect.provide(around({ isTTY: true, columns: 80 })))
  )

  it("lets no escape sequence of a name through, wherever it is printed", () => {
    const evil = "x\u001b]0;title\u0007\u001b[2J\u009b1m\r\u202e\u001b[31mred"
    // oxlint-disable-next-line no-control-regex
    const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/
    assert.notMatch(displayPath("/", evil), control)
    assert.notMatch(forTerminal(evil, false), control)
    assert.notMatch(forTerminal(evil, true).replaceAll("\u001b[31m", ""), control)
  })

  it("of --help fits a narrow terminal, and its examples are still commands", () => {
    const examples = [
      "clew benchmark --judgements judgements.jsonl --baseline quality.json --tolerance 0.02",
      "clew mcp --db notes.db --name Notes --description 'Lab notes since 2019'"
    ]
    const about = { name: "compact", summary: "Make the index as small as possible, without a byte of it", examples }
    const compact = define({ ...about, flags: {} }, function* () {})
    const text = help([compact, compact], "1.0.0", faceOf({ isTTY: true, columns: 60 }, {}))
    for (const line of text.split("\n")) assert.isAtMost(widthOf(line), 60, line)
    const joined = text.replaceAll(/ \\\n +/g, " ")
    for (const example of examples) assert.include(joined, example)
  })
})
