import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Exit from "effect/Exit"
import { ending } from "./cli/exit.ts"
import { main } from "./cli/index.ts"

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

NodeRuntime.runMain(main({ argv: process.argv.slice(2), cwd: cwd(), env: process.env }), {
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
