import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { type Line, Lines } from "../../../src/files/Loader/JsonLines.ts"

const cut = (bytes: Uint8Array, size: number, limit: number): Array<Line> => {
  const lines = new Lines(limit)
  const found: Array<Line> = []
  for (let at = 0; at < bytes.length; at += size) found.push(...lines.push(bytes.subarray(at, at + size)))
  return [...found, ...lines.end()]
}

describe("Lines", () => {
  it.prop(
    "are the text's lines, however it is cut",
    [
      FastCheck.array(FastCheck.string({ unit: FastCheck.constantFrom(..."aé漢😀\r ") })),
      FastCheck.integer({ min: 1, max: 9 })
    ],
    ([texts, size]) => {
      const whole = texts.join("\n")
      const expected = whole.split("\n")
      if (expected.at(-1) === "") expected.pop()
      assert.deepStrictEqual(
        cut(new TextEncoder().encode(whole), size, 1000),
        expected.map((text, i) => ({ number: i + 1, text }))
      )
    }
  )

  it("drops a byte order mark from the first line alone", () => {
    const lines = cut(new TextEncoder().encode("\ufeffa\n\ufeffb"), 2, 100)
    assert.deepStrictEqual(
      lines.map(({ text }) => text),
      ["a", "\ufeffb"]
    )
  })

  it("gives a line over the limit without its text, and the lines around it whole", () => {
    for (const size of [1, 3, 7, 100]) {
      assert.deepStrictEqual(
        cut(new TextEncoder().encode(`12345\n${"x".repeat(60)}\n1234567890\n${"y".repeat(11)}`), size, 10),
        [
          { number: 1, text: "12345" },
          { number: 2, text: undefined },
          { number: 3, text: "1234567890" },
          { number: 4, text: undefined }
        ]
      )
    }
  })
})
