import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { forTerminal } from "./harmless.ts"
import { Place } from "./place.ts"
import { Terminal } from "./terminal.ts"

/** Prints a long text through $PAGER in a terminal; elsewhere, or if that fails, directly. */
export const page = Effect.fnUntraced(function* (text: string, rows = process.stdout.rows ?? 24) {
  const { env } = yield* Place
  const { out, print } = yield* Terminal
  const pager = env["PAGER"] ?? "less -R"
  if (!out.isTerminal || pager.trim() === "" || text.split("\n").length < rows) return yield* print(text)
  const shown = yield* Effect.async<boolean>((resume) => {
    const child = spawn(pager, { shell: true, stdio: ["pipe", "inherit", "inherit"] })
    child.on("error", () => resume(Effect.succeed(false)))
    // Exit code 127: the shell knows no such program.
    child.on("close", (code) => resume(Effect.succeed(code !== 127)))
    // The user may quit the pager early.
    child.stdin.on("error", () => {})
    child.stdin.end(`${forTerminal(text, out.colors.isColorSupported)}\n`)
    return Effect.sync(() => child.kill())
  })
  if (!shown) yield* print(text)
})
