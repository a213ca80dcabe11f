import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { JsonFault, readJson } from "../../src/model/readJson.ts"
import { limits } from "../../src/model/Limits.ts"

const read = (text: string | Buffer): unknown => {
  const reading = readJson(Buffer.from(text as string))
  for (;;) {
    const { done, value } = reading.next()
    if (done === true) return value
  }
}

const fault = (text: string | Buffer): JsonFault => {
  try {
    read(text)
  } catch (error) {
    if (error instanceof JsonFault) return error
    throw error
  }
  return assert.fail(`taken: ${String(text).slice(0, 100)}`)
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe("readJson", () => {
  it.prop("reads what JSON.parse reads", [FastCheck.jsonValue(), FastCheck.nat(3)], ([value, indent]) => {
    const text = JSON.stringify(value, null, indent)
    if (text.includes("__proto__")) return
    assert.deepStrictEqual(read(text), JSON.parse(text))
  })

  it.prop(
    "refuses what JSON.parse refuses",
    [FastCheck.string({ unit: FastCheck.constantFrom(...'{}[]",:\\u0d8a1-+.eE tnrfalse\n\u0001é😀'), maxLength: 12 })],
    ([text]) => {
      if (isJson(text)) {
        // Of a number that would change, and of that alone, we differ.
        try {
          assert.deepStrictEqual(read(text), JSON.parse(text))
        } catch (error) {
          assert.instanceOf(error, JsonFault)
          assert.include((error as JsonFault).reason, "number")
        }
      } else assert.notStrictEqual(fault(text).reason, "")
    },
    { fastCheck: { numRuns: 3000 } }
  )

  it("reads long strings piece by piece, escapes and characters whole", () => {
    for (const unit of ["x", "é", "😀", "\\n", "\\ud83d\\ude00", '\\"', "a\\\\"]) {
      const text = JSON.stringify({ a: [JSON.parse(`"${unit}"`), 1] }).slice(0, -4)
      const long = `${text.slice(0, 6)}"${`x${unit}`.repeat(60_000)}",1]}`
      assert.deepStrictEqual(read(long), JSON.parse(long), unit)
    }
  })

  it("skips the mark of byte order", () => assert.deepStrictEqual(read("\ufeff{}"), {}))

  it("keeps numbers, or refuses them by name", () => {
    assert.deepStrictEqual(
      read("[9007199254740993.0, 1e22, 12345678901234567168, 0.1, -0, 1e-300, 0e999]"),
      [9007199254740992, 1e22, 12345678901234567000, 0.1, -0, 1e-300, 0]
    )
    assert.deepInclude(fault('{"a": [1, {"b": 9007199254740993}]}'), {
      reason: "the number 9007199254740993 would change, being beyond 2^53; send it as a string",
      path: ["a", 1, "b"]
    })
    assert.include(fault("1e400").reason, "too large")
    assert.include(fault("-1e-400").reason, "too small")
    assert.include(fault("1".repeat(1_000_000)).reason, "over 400 characters")
  })

  it("keeps to its bounds", () => {
    const { depth, keys, values } = limits.json
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
    assert.deepStrictEqual(read(nested(depth)), JSON.parse(nested(depth)))
    assert.include(fault(nested(depth + 1)).reason, `deeper than ${depth} levels`)
    assert.include(fault("[".repeat(1_000_000)).reason, `deeper than ${depth} levels`)
    const list = (length: number) => JSON.stringify(Array.from({ length }, () => 0))
    assert.lengthOf(read(list(values - 1)) as Array<unknown>, values - 1)
    assert.include(fault(list(values)).reason, `more than ${values} values`)
    const object = (size: number) => `{"o":{${Array.from({ length: size }, (_, i) => `"k${i}":0`).join(",")}}}`
    assert.lengthOf(Object.keys((read(object(keys)) as { o: object }).o), keys)
    assert.deepInclude(fault(object(keys + 1)), { reason: `an object has at most ${keys} keys`, path: ["o"] })
    assert.include(fault('{"__proto__": 1}').reason, "__proto__")
  })

  it("says where it stops understanding", () => {
    assert.strictEqual(fault('{"a": }').reason, 'is not JSON: expected a value at byte 6, found "}"')
    assert.strictEqual(fault('{"a": 1').reason, "is not JSON: it ends before it is complete (byte 7)")
    assert.strictEqual(fault(Buffer.from([0x22, 0xff, 0x22])).reason, "is not UTF-8")
  })

  it("lets others have their turn", () => {
    const reading = readJson(Buffer.from(JSON.stringify(["x".repeat(1_000_000), "y".repeat(1_000_000)])))
    let turns = 0
    while (reading.next().done !== true) turns++
    assert.isAtLeast(turns, 20)
  })
})
