import * as Effect from "effect/Effect"
import { assert, describe, it } from "vitest"
import { Readable, Writable } from "node:stream"
import { faceOf, layer, Terminal } from "../../src/cli/terminal.ts"

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

it("says once that standard output cannot be written, however often it is", async () => {
  const said: Array<string> = []
  // A process's own stays open when a write fails.
  const stdout = Object.assign(new Writable(), {
    write: (_: unknown, done: unknown) => {
      stdout.emit("error", new Error("no space left"))
      if (typeof done === "function") done()
      return false
    }
  })
  const stderr = new Writable({ write: (text, _, done) => (said.push(String(text)), done()) })
  const code = await Effect.runPromise(
    Effect.gen(function* () {
      const { outputGone, print, write } = yield* Terminal
      yield* write("one")
      yield* print("two")
      yield* write("\n")
      return yield* outputGone
    }).pipe(Effect.provide(layer({}, { stdin: Readable.from([]), stdout, stderr })))
  )
  assert.strictEqual(code, 1)
  assert.deepStrictEqual(said, ["clew: standard output cannot be written: no space left\n"])
})
