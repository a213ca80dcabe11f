import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { linesOf } from "../../src/chunking/located.ts"
import { dropJson as dropEntry, parseJsonc as parse, setJson as setEntry } from "../../src/cli/mcp/formats.ts"
import { makeSplitter } from "../../src/runtime/lines.ts"
import { readLine } from "../../src/mcp/Stdio.ts"
import { decoder } from "../../src/mcp/Tool.ts"
import { tools } from "../../src/mcp/methods.ts"
import { folders } from "../../src/mcp/overview.ts"
import { toolNames, writingTools } from "../../src/mcp/toolNames.ts"

describe("frames", () => {
  it.prop(
    "are the lines, however the bytes arrive, with nothing of a long one but its ends",
    [
      FastCheck.array(FastCheck.string({ maxLength: 30 }).map((text) => text.replace(/\n/g, " "))),
      FastCheck.array(FastCheck.integer({ min: 1, max: 9 }), { minLength: 1 })
    ],
    ([lines, sizes]) => {
      const splitter = makeSplitter(16)
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""))
      const frames = []
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = sizes[turn % sizes.length] as number
        frames.push(...splitter.push(bytes.subarray(at, at + size)))
        at += size
      }
      frames.push(...splitter.end())
      assert.lengthOf(frames, lines.length)
      for (const [index, line] of lines.entries()) {
        const frame = frames[index]
        const whole = Buffer.from(line)
        if (whole.length <= 16) assert.deepStrictEqual(frame, { _tag: "Line", bytes: whole })
        else
          assert.deepStrictEqual(frame, { _tag: "TooLong", head: whole.subarray(0, 512), tail: whole.subarray(-512) })
      }
    }
  )
})

describe("the names of the tools", () => {
  it("are those of the tools", () => {
    assert.deepStrictEqual(
      tools.map(({ name }) => name),
      [...toolNames]
    )
    assert.deepStrictEqual(
      tools.filter(({ writes }) => writes).map(({ name }) => name),
      [...writingTools]
    )
  })
})

describe("linesOf", () => {
  it.prop(
    "finds each line's start, and the line of each offset",
    [
      FastCheck.array(
        FastCheck.string({ maxLength: 5 }).map((text) => text.replace(/[\n\r]/g, "")),
        { minLength: 1 }
      ),
      FastCheck.constantFrom("\n", "\r\n", "\r")
    ],
    ([parts, end]) => {
      const content = parts.join(end)
      const lines = linesOf({ content, passages: [] })
      let offset = 0
      for (const [index, part] of parts.entries()) {
        if (offset >= content.length && index > 0) break
        assert.strictEqual(lines.startOf(index + 1), offset)
        assert.strictEqual(lines.lineAt(offset), index + 1)
        assert.strictEqual(lines.endOf(index + 1), Math.min(content.length, offset + part.length + end.length))
        offset += part.length + end.length
      }
      assert.strictEqual(lines.startOf(lines.last + 1), content.length)
    }
  )

  it("puts a record on the one line of its file", () => {
    const passage = { ordinal: 0, text: "a\nb", heading: [], start: 0, end: 3, startLine: 57, endLine: 57 }
    const lines = linesOf({ content: "a\nb", passages: [passage] })
    assert.deepInclude(lines, { first: 57, last: 57 })
    assert.deepStrictEqual([lines.startOf(57), lines.startOf(58), lines.lineAt(2)], [0, 3, 57])
    assert.deepStrictEqual([lines.endOf(56), lines.endOf(57)], [0, 3])
  })

  it("gives all that may stand on lines of a page, whose lines are known per passage", () => {
    const content = "one and more\n\ntwo and more\n\nthree"
    const passages = [
      [0, 12, 1, 8],
      [14, 26, 9, 16],
      [28, 33, 17, 17]
    ].map(([start = 0, end = 0, startLine = 0, endLine = 0], ordinal) => {
      return { ordinal, text: content.slice(start, end), heading: [], start, end, startLine, endLine }
    })
    const { endOf, lineAt, startOf } = linesOf({ content, passages })
    assert.deepStrictEqual([0, 11, 14, 20, 25, 28, 32].map(lineAt), [1, 8, 9, 9, 16, 17, 17])
    const texts = [
      [4, 4],
      [9, 11],
      [1, 12],
      [1, 17]
    ].map(([from = 0, to = 0]) => content.slice(startOf(from), endOf(to)))
    assert.deepStrictEqual(texts, ["one and more", "two and more", "one and more\n\ntwo and more", content])
  })
})

describe("setEntry", () => {
  it.prop(
    "sets the entry and nothing else, in JSON of any form",
    [FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue()), FastCheck.constantFrom(undefined, 2, "\t")],
    ([object, indent]) => {
      const before = Object.fromEntries(
        Object.entries(object).filter(([key]) => key !== "servers" && key !== "__proto__")
      )
      const entry = { command: "x", args: ["y"] }
      const text = JSON.stringify(before, null, indent)
      const once = setEntry(text, ["servers"], "clew", entry)
      const wanted = { ...(JSON.parse(JSON.stringify(before)) as object), servers: { clew: entry } }
      assert.deepStrictEqual(JSON.parse(once), wanted)
      const other = setEntry(once, ["servers"], "other", {})
      assert.deepStrictEqual(JSON.parse(other), { ...wanted, servers: { clew: entry, other: {} } })
      assert.strictEqual(setEntry(other, ["servers"], "clew", entry), other)
      const bare = dropEntry(dropEntry(other, ["servers"], "clew"), ["servers"], "other")
      assert.deepStrictEqual(JSON.parse(bare), { ...wanted, servers: {} })
      assert.strictEqual(dropEntry(text, ["servers"], "clew"), text)
    }
  )

  it.prop(
    "reads what JSON reads, and refuses what it refuses",
    [FastCheck.oneof(FastCheck.json(), FastCheck.string())],
    ([text]) => {
      const read = (how: (text: string) => unknown) => {
        try {
          return { value: how(text) }
        } catch {
          return undefined
        }
      }
      const theirs = read(JSON.parse)
      const ours = read(parse)
      if (theirs !== undefined && !text.includes("__proto__")) assert.deepStrictEqual(ours, theirs)
      if (theirs === undefined && !/[,/\ufeff\s]/u.test(text)) assert.isUndefined(ours)
    }
  )
})

describe("folders", () => {
  it("are those below what all sources have in common, the fullest first", () => {
    const sources = ["/home/me/notes/a.md", "/home/me/notes/b/c.md", "/home/me/papers/x.pdf", "/home/me/y.md"]
    assert.deepStrictEqual(folders(sources, 5), ["/home/me/notes/", "/home/me/", "/home/me/papers/"])
    assert.deepStrictEqual(folders(sources, 1), ["/home/me/notes/"])
    assert.deepStrictEqual(folders(["docs/a.md", "docs/b.md"], 5), ["docs/"])
    assert.deepStrictEqual(folders(["label", "another"], 5), [])
    assert.deepStrictEqual(folders([], 5), [])
  })
})

const read = (line: string) => readLine(Buffer.from(line))
const call = (params: string) => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`

// JSON.parse took them all: a number changed in silence, a million keys were decoded one by one.
const refused: ReadonlyArray<readonly [name: string, params: string, message: RegExp]> = [
  [
    "nesting without end",
    `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    /^The message is nested deeper than 100 levels$/
  ],
  ["a number that would change", '{"n":9007199254740993}', /^params\.n: the number 9007199254740993 would change/],
  ["a number too large", '{"n":1e999}', /^params\.n: the number 1e999 is too large/],
  [
    "too many keys",
    `{${Array.from({ length: 1001 }, (_, at) => `"k${at}":1`).join(",")}}`,
    /^params: an object has at most 1000 keys$/
  ],
  ["too many values", `{"a":[${"1,".repeat(200_000)}1]}`, /^The message holds more than 200000 values/]
]

describe("a line", () => {
  for (const [name, params, message] of refused) {
    it(`is refused under its own id for ${name}`, () => {
      const found = read(call(params))
      assert.strictEqual(found?._tag, "Invalid")
      if (found?._tag !== "Invalid") return
      assert.match(found.message, message)
      assert.strictEqual(found.code, -32_600)
      assert.strictEqual(found.id, 7)
    })
  }

  it("that is no JSON is told so, without an id", () => {
    for (const line of ["{", '{"id":7,', "nonsense", "\u0000"]) {
      const found = read(line)
      assert.deepInclude(found, { _tag: "Invalid", code: -32_700, id: null })
      assert.match(found?._tag === "Invalid" ? found.message : "", /^The line is not JSON: /)
    }
    assert.deepInclude(readLine(Buffer.from([0x22, 0xff, 0x22])), { code: -32_700, message: "The line is not UTF-8" })
  })
})

describe("arguments", () => {
  const of = Schema.Struct({ documents: Schema.Array(Schema.Struct({ content: Schema.String })) })
  const fail = (documents: ReadonlyArray<unknown>) => Effect.flip(decoder(of)({ documents }))

  it.effect("have at most 20 errors told", () =>
    Effect.gen(function* () {
      const { data } = yield* fail(Array.from({ length: 100 }, () => ({ content: 1 })))
      assert.lengthOf((data as { readonly errors: ReadonlyArray<unknown> }).errors, 20)
    })
  )

  it.effect("are counted before they are decoded", () =>
    Effect.gen(function* () {
      const seen = new Array<string>()
      const document = new Proxy({}, { get: (_, key) => void seen.push(String(key)) })
      const { message } = yield* fail(Array.from({ length: 101 }, () => document))
      assert.match(message, /^documents must be .*, got 101 items$/)
      assert.lengthOf(seen, 0)
    })
  )
})
