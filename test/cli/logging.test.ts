import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { loggerOf } from "../../src/cli/logging.ts"
import * as logLines from "../../src/runtime/logLines.ts"
import { nextTurn } from "../../src/runtime/EventLoop.ts"

/** What is written to standard error meanwhile, a piece a write. */
const written = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const pieces: Array<string> = []
    const [own, error] = [process.stderr.write, console.error]
    process.stderr.write = ((text: string) => pieces.push(text) > 0) as typeof process.stderr.write
    // Vitest's console writes elsewhere.
    console.error = (...parts: ReadonlyArray<unknown>) => void pieces.push(`${parts.join(" ")}\n`)
    const restore = Effect.sync(() => {
      process.stderr.write = own
      console.error = error
    })
    return Effect.ensuring(Effect.as(Effect.zipRight(effect, nextTurn), pieces), restore)
  })

const logged = (format: "json" | "pretty", logger = loggerOf(format, false)) =>
  Effect.provide(Logger.replace(Logger.defaultLogger, logger))

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
      const ours = (yield* written(logged("pretty")(each))).join("")
      const theirs = (yield* written(
        logged("pretty", Logger.prettyLogger({ stderr: true, colors: false }))(each)
      )).join("")
      const neutral = (text: string) => text.replace(/\[[\d:.]+\]/g, "[time]").replace(/#\d+/g, "#")
      assert.strictEqual(neutral(ours), neutral(theirs))
      assert.match(ours, /one 100 %s[^]*two\nlines[^]*three[^]*request_id[^]*four[^]*five[^]*six\n$/)
    })
  )

  for (const format of ["json", "pretty"] as const) {
    it.effect(`are written together after the turn's work, ${format}`, () =>
      Effect.gen(function* () {
        let meanwhile = -1
        const pieces = yield* written(
          Effect.suspend(() => {
            const before = process.stderr.write
            let count = 0
            process.stderr.write = ((text: string) => (count++, before(text))) as typeof before
            return Effect.zipRight(
              logged(format)(Effect.zipRight(Effect.logInfo("a"), Effect.logInfo("b"))),
              Effect.sync(() => (meanwhile = count))
            )
          })
        )
        assert.strictEqual(meanwhile, 0)
        assert.lengthOf(pieces, 1)
        assert.match(pieces[0]!, /a[^]*\n[^]*b[^]*\n$/)
      })
    )
  }

  it.effect("of a warning do not wait, and what was before it comes before it", () =>
    Effect.gen(function* () {
      let last = ""
      yield* written(
        Effect.suspend(() => {
          process.stderr.write = ((text: string) => ((last = text), true)) as typeof process.stderr.write
          return Effect.zipRight(
            logged("json")(Effect.zipRight(Effect.logInfo("before"), Effect.logWarning("careful"))),
            Effect.sync(() => assert.match(last, /before[^]*careful/))
          )
        })
      )
      logLines.flush()
    })
  )
})
