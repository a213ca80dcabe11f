import { assert, describe, it } from "vitest"
import { faceOf } from "../../src/cli/terminal.ts"

const terminal = { isTTY: true, columns: 120 }
const xterm = { TERM: "xterm" }
const isColoured = (...face: Parameters<typeof faceOf>): boolean => faceOf(...face).colors.red("x") !== "x"

describe("faceOf", () => {
  it("colours a terminal", () => {
    assert.isTrue(isColoured(terminal, xterm))
    assert.isTrue(isColoured(terminal, { ...xterm, NO_COLOR: "" }))
    assert.strictEqual(faceOf(terminal, xterm).columns, 120)
  })

  it("colours nothing else", () => {
    assert.isFalse(isColoured(terminal, { ...xterm, NO_COLOR: "1" }))
    assert.isFalse(isColoured(terminal, { TERM: "dumb" }))
    assert.isFalse(isColoured({}, { ...xterm, FORCE_COLOR: "1" }))
    assert.strictEqual(faceOf({}, xterm).columns, 80)
  })
})
