import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { progressLine, withProgress } from "../../src/cli/progress.ts"
import { Tally } from "../../src/files/Tally.ts"
import { Terminal, faceOf, logTo } from "../../src/cli/terminal.ts"

it.effect("prints one line of progress into a pipe, however long the work takes", () =>
  Effect.gen(function* () {
    const notes: Array<string> = []
    const face = faceOf({ isTTY: false }, {})
    const terminal = Terminal.of({
      ...({} as typeof Terminal.Service),
      out: face,
      err: face,
      isInteractive: false,
      log: logTo(process.stderr),
      note: (text) => Effect.sync(() => void notes.push(text))
    })
    yield* Effect.gen(function* () {
      const { show } = yield* progressLine
      for (let second = 0; second < 60; second++) {
        yield* show(() => `checked ${second}`)
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual(notes, ["checked 5"])
      const work = TestClock.adjust("1 minute")
      yield* withProgress(new Tally(), { paths: [] } as never)(work)
      assert.lengthOf(notes, 2)
    }).pipe(Effect.provideService(Terminal, terminal))
  })
)
