import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { loggerOf } from "../../src/cli/logging.ts"
import { faceOf, logTo } from "../../src/cli/terminal.ts"
import { nextTurn } from "../../src/runtime/EventLoop.ts"

type Format = "json" | "pretty"

/** Where a test's log goes: the pieces written, a piece a write. */
const taken = () => {
  const pieces: Array<string> = []
  const log = logTo({ write: (text: string) => pieces.push(text) > 0 })
  const ours = (format: Format) => loggerOf(format, { err: faceOf({}, {}), log })
  return { pieces, ours }
}

/** What Effect's own logger prints goes to the same place. */
const logged = (pieces: Array<string>, logger: Logger.Logger<unknown, void>, effect: Effect.Effect<void>) =>
  Effect.consoleWith((console) =>
    effect.pipe(
      Effect.zipRight(nextTurn),
      Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
      Effect.withConsole({
        ...console,
        unsafe: { ...console.unsafe, error: (...parts) => void pieces.push(`${parts.join(" ")}\n`) }
      })
    )
  )

const each = Effect.gen(function* () {
  yield* Effect.logInfo("one 100 %s")
  yield* Effect.logInfo("two\nlines")
  yield* Effect.annotateLogs(Effect.logInfo("three"), "request_id", "r")
  yield* Effect.logError("four", Cause.die("why"))
  yield* Effect.logInfo("five", { a: 1 })
  yield* Effect.logInfo("six")
})

describe("log lines", () => {
  it.effect("are the same as Effect's own, in their order", () =>
    Effect.gen(function* () {
      const { ours, pieces } = taken()
      yield* logged(pieces, ours("pretty"), each)
      const own = pieces.splice(0).join("")
      yield* logged(pieces, Logger.prettyLogger({ stderr: true, colors: false }), each)
      const neutral = (text: string) => text.replace(/\[[\d:.]+\]/g, "[time]").replace(/#\d+/g, "#")
      assert.strictEqual(neutral(own), neutral(pieces.join("")))
      assert.match(own, /one 100 %s[^]*two\nlines[^]*three[^]*request_id[^]*four[^]*five[^]*six\n$/)
    })
  )

  for (const format of ["json", "pretty"] as const) {
    it.effect(`are written together after the turn's work, ${format}`, () =>
      Effect.gen(function* () {
        const { ours, pieces } = taken()
        const both = Effect.zipRight(Effect.logInfo("a"), Effect.logInfo("b"))
        yield* logged(
          pieces,
          ours(format),
          Effect.zipRight(
            both,
            Effect.sync(() => assert.deepStrictEqual(pieces, []))
          )
        )
        assert.lengthOf(pieces, 1)
        assert.match(pieces[0]!, /a[^]*\n[^]*b[^]*\n$/)
      })
    )
  }

  it.effect("of a warning do not wait, and what was before it comes before it", () =>
    Effect.gen(function* () {
      const { ours, pieces } = taken()
      const both = Effect.zipRight(Effect.logInfo("before"), Effect.logWarning("careful"))
      const check = Effect.sync(() => assert.match(pieces.join(""), /before[^]*careful/))
      yield* logged(pieces, ours("json"), Effect.zipRight(both, check))
    })
  )
})
