import { assert, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { numberText } from "../../src/cli/output.ts"

const formatter = new Intl.NumberFormat("en-US")

it("groups the digits of numbers as Intl.NumberFormat does", () => {
  const numbers = fc.oneof(fc.nat(), fc.maxSafeInteger(), fc.constantFrom(0, 999, 1000, 12_345, 1_000_000, 0.5, 1234.5))
  fc.assert(fc.property(numbers, (value) => assert.strictEqual(numberText(value), formatter.format(value))))
})
