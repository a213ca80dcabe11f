import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ending } from "./cli/exit.ts"
import { main } from "./cli/index.ts"
import * as Terminal from "./cli/terminal.ts"

/** Exit codes after a signal, as in a shell. */
const interrupted = { SIGINT: 130, SIGTERM: 143 } as const

let signal: keyof typeof interrupted = "SIGINT"
process.once("SIGTERM", () => (signal = "SIGTERM"))

/** The shell's working directory may be gone; absolute paths still work then. */
const cwd = () => {
  try {
    return process.cwd()
  } catch {
    return process.env["PWD"] ?? "/"
  }
}

const program = main({ argv: process.argv.slice(2), cwd: cwd(), env: process.env })

NodeRuntime.runMain(Effect.provide(program, Terminal.layer(process.env)), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit, end) =>
    end(
      Exit.isInterrupted(exit)
        ? (ending.bySignal ?? interrupted[signal])
        : Exit.isSuccess(exit)
          ? Number(exit.value)
          : 1
    )
})
