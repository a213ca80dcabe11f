import * as Effect from "effect/Effect"
import { exitCode, stop } from "./exit.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

/** Goes on where `--yes` is given or a person says so; where there is nobody to ask, `--yes` is needed. */
export const confirmed = Effect.fnUntraced(function* (command: string, question: string, yes: boolean) {
  if (yes) return
  const { confirm, isInteractive, note } = yield* Terminal
  if (!isInteractive)
    return yield* new UsageError({ command, detail: `nobody to ask: ${question} Give --yes to go on` })
  if (yield* confirm(question)) return
  yield* note("clew: nothing was changed")
  return yield* stop(exitCode.failed)
})
