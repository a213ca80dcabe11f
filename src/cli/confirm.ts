import * as Effect from "effect/Effect"
import { exitCode, stop } from "./exit.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

/** Continues if `--yes` is given or the user agrees; without a terminal, `--yes` is required. */
export const confirmed = Effect.fnUntraced(function* (command: string, question: string, yes: boolean) {
  if (yes) return
  const { confirm, isInteractive, note } = yield* Terminal
  if (!isInteractive)
    return yield* new UsageError({ command, detail: `cannot ask without a terminal: ${question} Use --yes to agree` })
  if (yield* confirm(question)) return
  yield* note("clew: nothing was changed")
  return yield* stop(exitCode.failed)
})
