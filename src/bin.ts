import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { exitCode } from "./cli/exit.ts"
import { main } from "./cli/index.ts"
import { layer } from "./cli/terminal.ts"
import { type Meeting, workingDirectory } from "./mcp/meeting.ts"

/** Where other processes join this one, if the launcher has found a place. */
declare const __meeting: Meeting | undefined

// Who uses a program can do nothing about what its parts deprecate, as the driver its own reading of PGPASSFILE.
process.noDeprecation = true

/** Exit codes after a signal, as in a shell. */
const interrupted = { SIGINT: 130, SIGTERM: 143 } as const

let signal: keyof typeof interrupted = "SIGINT"
process.once("SIGTERM", () => (signal = "SIGTERM"))

/** A key that is held sends Ctrl-C again and again; the second ends the process at once, only later. */
const repeats = 1000
for (const first of ["SIGINT", "SIGTERM"] as const) {
  process.once(first, () => {
    const pass = () => {}
    process.on(first, pass)
    setTimeout(() => process.off(first, pass), repeats).unref()
  })
}

/** Whether a call of the file system is not answered. A dead network drive never answers, and exit waits for it. */
const isReading = () => process.getActiveResourcesInfo().some((resource) => resource.startsWith("FSReq"))

/** Milliseconds that an interrupted program waits for such calls; then it dies of the signal, which waits for none. */
const patience = 1000

const { program, untilStopped } = main({
  argv: process.argv.slice(2),
  script: process.argv[1],
  cwd: workingDirectory(process.env),
  env: process.env,
  meeting: typeof __meeting === "undefined" ? undefined : __meeting
})

NodeRuntime.runMain(Effect.provide(program, layer(process.env)), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit, end) => {
    if (!Exit.isInterrupted(exit)) return end(Exit.isSuccess(exit) ? Number(exit.value) : 1)
    const leave = () => end(untilStopped() ? exitCode.done : interrupted[signal])
    if (!isReading()) return leave()
    setTimeout(() => {
      if (!isReading()) return leave()
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
      // The first process of a container does not die of it.
      leave()
    }, patience)
  }
})
