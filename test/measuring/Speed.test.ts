import { assert, describe, it } from "vitest"
import { meanRecall, recallAgainst } from "../../src/measuring/Speed.ts"
import { hit } from "../hits.ts"

const hits = (...scores: ReadonlyArray<number>) => scores.map((score) => hit({ text: "", score }))

describe("recall", () => {
  it("counts the places of the exact ranking that are filled as well", () => {
    assert.strictEqual(recallAgainst(hits(0.9, 0.8, 0.7, 0.6), hits(0.9, 0.8, 0.7, 0.6)), 1)
    assert.strictEqual(recallAgainst(hits(0.9, 0.8, 0.7, 0.6), hits(0.9, 0.7, 0.5, 0.4)), 0.5)
    assert.strictEqual(recallAgainst(hits(0.9, 0.8), []), 0)
    assert.strictEqual(recallAgainst([], []), 1)
  })

  it("lets equally near passages stand for each other, and no more of them than places", () => {
    assert.strictEqual(recallAgainst(hits(0.9, 0.5), hits(0.5, 0.5, 0.5)), 1)
  })

  it("is a mean over the queries", () => {
    assert.strictEqual(
      meanRecall([{ hits: hits(0.9) }, { hits: hits(0.9) }], [{ hits: hits(0.9) }, { hits: hits(0.1) }]),
      0.5
    )
  })
})
