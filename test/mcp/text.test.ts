import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { dropEntry, parse, setEntry } from "../../src/cli/mcp/jsonc.ts"
import { tools } from "../../src/mcp/catalog.ts"
import { makeSplitter } from "../../src/mcp/frames.ts"
import { toolNames, writingTools } from "../../src/mcp/toolNames.ts"
import { linesOf } from "../../src/chunking/documentLines.ts"

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
        FastCheck.string({ maxLength: 5 }).map((text) => text.replace(/\n/g, "")),
        { minLength: 1 }
      )
    ],
    ([parts]) => {
      const content = parts.join("\n")
      const lines = linesOf({ content, passages: [] })
      let offset = 0
      for (const [index, part] of parts.entries()) {
        if (offset >= content.length && index > 0) break
        assert.strictEqual(lines.startOf(index + 1), offset)
        assert.strictEqual(lines.lineAt(offset), index + 1)
        offset += part.length + 1
      }
      assert.strictEqual(lines.startOf(lines.last + 1), content.length)
    }
  )

  it("puts a record on the one line of its file", () => {
    const passage = { ordinal: 0, text: "a\nb", heading: [], start: 0, end: 3, startLine: 57, endLine: 57 }
    const lines = linesOf({ content: "a\nb", passages: [passage] })
    assert.deepInclude(lines, { first: 57, last: 57 })
    assert.deepStrictEqual([lines.startOf(57), lines.startOf(58), lines.lineAt(2)], [0, 3, 57])
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
      const once = setEntry(text, "servers", "clew", entry)
      const wanted = { ...(JSON.parse(JSON.stringify(before)) as object), servers: { clew: entry } }
      assert.deepStrictEqual(JSON.parse(once), wanted)
      const other = setEntry(once, "servers", "other", {})
      assert.deepStrictEqual(JSON.parse(other), { ...wanted, servers: { clew: entry, other: {} } })
      assert.strictEqual(setEntry(other, "servers", "clew", entry), other)
      const bare = dropEntry(dropEntry(other, "servers", "clew"), "servers", "other")
      assert.deepStrictEqual(JSON.parse(bare), { ...wanted, servers: {} })
      assert.strictEqual(dropEntry(text, "servers", "clew"), text)
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
