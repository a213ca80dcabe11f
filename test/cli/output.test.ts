import { assert, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { bytesText, durationText, numberText } from "../../src/cli/output.ts"

const formatter = new Intl.NumberFormat("en-US")

it("groups the digits of numbers as Intl.NumberFormat does", () => {
  const numbers = fc.oneof(fc.nat(), fc.maxSafeInteger(), fc.constantFrom(0, 999, 1000, 12_345, 1_000_000, 0.5, 1234.5))
  fc.assert(fc.property(numbers, (value) => assert.strictEqual(numberText(value), formatter.format(value))))
})

it("shows no thousand of a unit where there is a larger one, and no sixty seconds", () => {
  const sizes = [0, 999, 1000, 1234, 9949, 9950, 12_345, 999_499, 999_500, 1_000_000, 999_999_999, 2e15]
  assert.deepStrictEqual(sizes.map(bytesText), [
    "0 B",
    "999 B",
    "1.0 KB",
    "1.2 KB",
    "9.9 KB",
    "10 KB",
    "12 KB",
    "999 KB",
    "1.0 MB",
    "1.0 MB",
    "1.0 GB",
    "2000 TB"
  ])
  const times = [0, 59_949, 59_950, 60_000, 80_900, 3_599_999, 3_600_000]
  assert.deepStrictEqual(times.map(durationText), [
    "0.0 s",
    "59.9 s",
    "1 m 0 s",
    "1 m 0 s",
    "1 m 20 s",
    "59 m 59 s",
    "1 h 0 m"
  ])
})
