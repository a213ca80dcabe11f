import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { code, formats, plain } from "../../../src/files/Loader/formats.ts"
import * as JsonLines from "../../../src/files/Loader/JsonLines.ts"
import * as Markdown from "../../../src/files/Loader/Markdown.ts"
import * as Records from "../../../src/files/Loader/Records.ts"
import { fileFormatContract, loaded, sourceFile } from "../../contracts/FileFormat.ts"

const file = (path: string, text: string) => ({ path, bytes: new TextEncoder().encode(text) })
const utf16 = (path: string, text: string) => ({
  path,
  bytes: Uint8Array.from(Buffer.from(`\ufeff${text}`, "utf16le"))
})

fileFormatContract(plain, {
  takes: [
    file("/n/a.txt", "Grüße\r\nAlso 日本"),
    file("/n/README", "# Title\n"),
    utf16("/n/b.log", "Grüße\n"),
    file("/n/c.json", "{}"),
    // Comments that no picture follows once took for ever.
    file("/n/comments.txt", `${"<!---->".repeat(500)}x`),
    file("/n/open.txt", `<!DOCTYPE html>${"<!--".repeat(1000)}`)
  ],
  leaves: [file("/n/a.txt", "%PDF-1.7\n"), file("/n/a.ipynb", '{"cells": []}')]
})

fileFormatContract(Markdown.format, {
  takes: [
    file("/n/a.md", "---\ntitle: A\nsource: b\n---\n# A\n"),
    file("/n/b.markdown", "text"),
    file("/n/c.txt", "\ufeff---\ntags: [a]\n---\n# A\n"),
    file("/n/broken.md", "---\ntitle: a: b\n---\ntext"),
    utf16("/n/d.MD", "+++\ntitle = 'T'\n+++\n")
  ],
  leaves: [
    file("/n/a.txt", "# not by its name"),
    file("/n/a.txt", "---\na: 1\n---\nno heading"),
    file("/n/a.py", "# comment")
  ]
})

fileFormatContract(code, {
  takes: [
    file("/n/a.py", "def f(): pass\n"),
    file("/n/Makefile", "all:\n"),
    file("/n/CMakeLists.txt", "project(x)"),
    file("/n/run", "#!/bin/sh\necho\n"),
    file("/n/x.TS", "export {}")
  ],
  leaves: [file("/n/a.txt", "#!/bin/sh\n"), file("/n/run", "echo"), file("/n/a.md", "def f(): pass")]
})

fileFormatContract(JsonLines.format, {
  takes: [
    file(
      "/n/a.jsonl",
      '\ufeff{"_id": "ä", "text": "日本語"}\r\n\nbad\n{"id": 2, "text": "b", "source": 1, "title": "t"}'
    ),
    utf16("/n/b.ndjson", '{"text": "Grüße"}\n[1]\n'),
    file("/n/c.jsonl", "[1]\n")
  ],
  leaves: [
    file("/n/a.jsonl", "prose\nmore"),
    file("/n/lines.jsonl", `x${"\n".repeat(60_000)}x`),
    file("/n/a.json", '{"text": "a"}\n{"text": "b"}')
  ]
})

fileFormatContract(Records.format, {
  takes: [
    file("/n/a.json", '\ufeff[{"id": "ä", "text": "日本語"},\n{"text": 1},\n{"id": 2, "content": "b", "title": "t"}]'),
    file("/n/b.yaml", "# notes\n- id: a\n  text: |\n    Words: of\n    two lines\n- *none\n- {text: b}\n"),
    utf16("/n/c.json", '[{"title": "Grüße", "text": "aus Köln"}')
  ],
  leaves: [
    file("/n/a.json", '[{"name": "a", "version": "1"}]'),
    file("/n/b.json", '{"text": "a"}'),
    file("/n/c.json", '[1, 2, "text"]'),
    file("/n/d.yaml", "text: a\n"),
    file("/n/e.yaml", "---\ntext: a\n---\ntext: b\n"),
    file("/n/f.txt", '[{"text": "a"}]')
  ]
})

describe("records", () => {
  it.effect("a list of records is a document a record, each with its line", () =>
    Effect.gen(function* () {
      const text =
        '[\n  {"id": "a", "text": "One [1], and {two}.", "year": 1913},\n  {"id": "b"},\n\n  {"text": "Three"}\n]\n'
      const records = yield* loaded(Records.format, yield* sourceFile("/n/a.json", new TextEncoder().encode(text)))
      const given = (metadata: object) => ({ _tag: "Loaded", format: "text", title: undefined, metadata })
      assert.deepStrictEqual(records as ReadonlyArray<unknown>, [
        { ...given({ year: 1913 }), record: "a", line: 2, content: "One [1], and {two}." },
        { _tag: "Rejected", line: 3, reason: 'no text: there is no string "text", "content" or "body"' },
        { ...given({}), record: "L5", line: 5, content: "Three" }
      ])
      const notes = "- id: a\n  text: |\n    - no item\n    end\n\n# next\n- text: b\n"
      const more = yield* loaded(Records.format, yield* sourceFile("/n/b.yml", new TextEncoder().encode(notes)))
      assert.deepStrictEqual(
        more.map((each) => each._tag === "Loaded" && [each.record, each.line, each.content]),
        [
          ["a", 1, "- no item\nend\n"],
          ["L6", 6, "b"]
        ]
      )
    })
  )

  const read = (path: string, text: string) =>
    Effect.gen(function* () {
      const source = yield* sourceFile(path, new TextEncoder().encode(text))
      if (!Records.format.accepts(source)) return "left"
      return (yield* loaded(Records.format, source)).map((each) =>
        each._tag === "Loaded" ? [each.record, each.line, each.title, each.content, each.metadata] : each.reason
      )
    })

  it.effect("TOML that is one list of tables with a text, their own tables with them", () =>
    Effect.gen(function* () {
      const text =
        '[[posts]]\nid = "p1"\ntext = "Smoke calms."\nday = 2024-01-05\n[posts.place]\ntown = "Ulm"\n\n# next\n[[posts]]\ntext = "Wax melts."\n[[posts]]\nid = \n'
      assert.deepStrictEqual(yield* read("/n/a.toml", text), [
        ["p1", 1, undefined, "Smoke calms.", { day: "2024-01-05", place: { town: "Ulm" } }],
        ["L8", 8, undefined, "Wax melts.", {}],
        "not valid TOML: Invalid TOML document: invalid value"
      ])
      assert.strictEqual(yield* read("/n/b.toml", '[server]\nport = 1\n[[posts]]\ntext = "a"\n'), "left")
      assert.strictEqual(yield* read("/n/c.toml", '[[bin]]\nname = "a"\n[[bin]]\nname = "b"\n'), "left")
    })
  )

  it.effect("XML whose outermost element holds elements of one name with a text", () =>
    Effect.gen(function* () {
      const text =
        '<?xml version="1.0"?>\n<posts>\n<post id="p1"><title>Smoke</title><text>It &amp; bees <b>calm</b>.</text><tag>a</tag><tag>b</tag></post>\n<post text="Wax melts."/>\n<post><text>open</post>\n</posts>\n'
      const found = yield* read("/n/a.xml", text)
      assert.deepStrictEqual(found.slice(0, 2) as ReadonlyArray<unknown>, [
        ["p1", 3, "Smoke", "It & bees calm.", { tag: ["a", "b"] }],
        ["L4", 4, undefined, "Wax melts.", {}]
      ])
      assert.match(String(found[2]), /^not valid XML: malformed XML/)
      assert.strictEqual(
        yield* read("/n/b.xml", "<rss><channel><item><text>a</text></item><item/></channel></rss>"),
        "left"
      )
      assert.strictEqual(yield* read("/n/c.xml", "<a><b><name>x</name></b><b/></a>"), "left")
    })
  )

  it.effect("a list of issues has their bodies; one of other things with a body is one document", () =>
    Effect.gen(function* () {
      const issues = '[{"body":"It stings.","number":7,"title":"Bee"},\n{"body":"","number":8,"title":"Wasp"}]'
      assert.deepStrictEqual(yield* read("/n/issues.json", issues), [
        ["L1", 1, "Bee", "It stings.", { number: 7 }],
        ["L2", 2, "Wasp", "Wasp", { number: 8 }]
      ])
      assert.strictEqual(yield* read("/n/stars.json", '[{"name":"Vega","body":"star"}]'), "left")
    })
  )

  it.effect("records without an id on one line are numbered after the first", () =>
    Effect.gen(function* () {
      const namesOf = (path: string, text: string) =>
        Effect.map(read(path, text), (found) => Array.from(found, ([name]) => name))
      const json = '[{"text":"a"},{"id":"b","text":"b"},{"text":"c"},\n{"text":"d"},{"text":"e"}]'
      assert.deepStrictEqual(yield* namesOf("/n/a.json", json), ["L1", "b", "L1.2", "L2", "L2.2"])
      const xml = "<a><b><text>a</text></b><b><text>b</text></b></a>"
      assert.deepStrictEqual(yield* namesOf("/n/a.xml", xml), ["L1", "L1.2"])
    })
  )

  it.effect("ids beyond 2^53 keep their digits in YAML and TOML, and smaller numbers are numbers", () =>
    Effect.gen(function* () {
      const yaml = [890, 891].map((end) => `- id: 12345678901234567${end}\n  text: a\n  year: 1984\n`).join("")
      assert.deepStrictEqual(yield* read("/n/a.yaml", yaml), [
        ["12345678901234567890", 1, undefined, "a", { year: 1984 }],
        ["12345678901234567891", 4, undefined, "a", { year: 1984 }]
      ])
      const toml = '[[posts]]\nid = 9223372036854775807\ntext = "a"\nyear = 1984\n'
      assert.deepStrictEqual(yield* read("/n/a.toml", toml), [
        ["9223372036854775807", 1, undefined, "a", { year: 1984 }]
      ])
    })
  )

  it.effect("a list in its head that holds something else further down is one document", () =>
    Effect.gen(function* () {
      const text = `${'[[posts]]\ntext = "a"\n'.repeat(5000)}[other]\nb = 1\n`
      const [only, ...more] = (yield* read("/n/a.toml", text)) as ReadonlyArray<ReadonlyArray<unknown>>
      assert.strictEqual(only?.[3], text)
      assert.lengthOf(more, 0)
    })
  )
})

describe("formats", () => {
  it("ends with the one that takes every text", () => {
    assert.strictEqual(formats(() => Effect.never).at(-1), plain)
  })
})
