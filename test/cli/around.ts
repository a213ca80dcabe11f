import * as Layer from "effect/Layer"
import { Place } from "../../src/cli/engine.ts"
import { faceOf, logTo, Terminal } from "../../src/cli/terminal.ts"

/** What a command finds around itself: such a stream to write to, and the folder `/here`. */
export const around = (stream: Parameters<typeof faceOf>[0]) => {
  const face = faceOf(stream, { TERM: "xterm" })
  return Layer.merge(
    Layer.mock(Terminal, { out: face, err: face, streams: process, isInteractive: false, log: logTo(process.stderr) }),
    Layer.succeed(Place, {
      cwd: "/here",
      env: {},
      globals: { config: undefined, db: undefined, json: false, logLevel: undefined },
      command: "clew"
    })
  )
}
