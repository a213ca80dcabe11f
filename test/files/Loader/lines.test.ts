import { assert, describe, it } from "@effect/vitest"
import { makeReader } from "../../../src/files/Loader/JsonLines.ts"

const read = (text: string, size: number, limit: number) => {
  const bytes = new TextEncoder().encode(text)
  const { end, push } = makeReader(limit)
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size)
  )
  return [...pieces.flatMap(push), ...end()].map((loaded) =>
    loaded._tag === "Loaded" ? [loaded.line, loaded.content] : [loaded.line]
  )
}

describe("makeReader", () => {
  it("reads lines with and without a byte order mark, however they are cut", () => {
    for (const size of [1, 2, 100]) {
      assert.deepStrictEqual(read('\ufeff{"text":"é"}\n\ufeff{"text":"b"}\n\n{"text":"漢"}', size, 100), [
        [1, "é"],
        [2, "b"],
        [4, "漢"]
      ])
    }
  })

  it("rejects a line over the limit by its number, and reads the lines around it whole", () => {
    const text = `{"text":"a"}\n${"x".repeat(60)}\n{"text":"b"}\n${"y".repeat(13)}`
    for (const size of [1, 3, 7, 100]) {
      assert.deepStrictEqual(read(text, size, 12), [[1, "a"], [2], [3, "b"], [4]])
    }
  })
})
