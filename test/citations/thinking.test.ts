import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { spoken } from "../../src/citations/thinking.ts"

const said = (fragments: ReadonlyArray<string>): string => {
  const { next, rest } = spoken()
  return fragments.map(next).join("") + rest()
}

describe("spoken", () => {
  it.each([
    ["<think>Let me see.</think>\n\nThe wind is cold [1].", "The wind is cold [1]."],
    ["\n <think></think>Cold.", "Cold."],
    ["Cold.", "Cold."],
    ["  Cold <think>is no mark here</think>", "  Cold <think>is no mark here</think>"],
    ["<thin", "<thin"],
    ["<think>never ends", ""],
    ["<think>a</think>b</think>", "b</think>"],
    ["", ""]
  ])("of %j is %j, however it is cut", (whole, wanted) => {
    assert.strictEqual(said([whole]), wanted)
    assert.strictEqual(said(whole.split("")), wanted)
  })

  it.prop(
    "does not depend on where the fragments end",
    {
      parts: FastCheck.array(FastCheck.constantFrom("<think>", "</think>", "<", "thi", " ", "word", "\n", "nk>"), {
        maxLength: 20
      })
    },
    ({ parts }) => {
      assert.strictEqual(said(parts), said(parts.join("").split("")))
    }
  )
})
