import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { selectTools, toolNames } from "../mcp/toolNames.ts"
import { usualHeap } from "../runtime/Memory.ts"
import * as Cli from "./command.ts"
import { Engine, Place } from "./engine.ts"
import { usage } from "./exit.ts"
import { following, listen, writable } from "./listen.ts"
import * as logging from "./logging.ts"
import { install } from "./mcp/install.ts"
import { flags, joinable, offerFor, offerOf } from "./mcp/joining.ts"
import { Terminal } from "./terminal.ts"

const serve = Cli.define(
  {
    name: "mcp",
    summary: "Serve MCP on standard input and output, or over HTTP",
    flags,
    untilStopped: "http",
    examples: [
      "clew mcp --db notes.db",
      "clew mcp --db notes.db --name Notes --description 'Lab notes since 2019'",
      "clew mcp --db notes.db --filter search,get_document --read-only",
      "clew mcp --db notes.db --watch ~/notes",
      "clew mcp --db notes.db --http --port 8484"
    ],
    details: [
      `An MCP client starts this by itself; clew mcp install sets one up. Tools: ${toolNames.join(", ")}.`,
      "Ends when standard input does. With --http, it serves many clients at http://HOST:PORT/mcp until it is stopped, as clew serve does beside its own API, with the same key.",
      "Processes of one index and configuration share the engine of the one that was first, or of clew serve; when that ends, another takes over."
    ]
  },
  function* (given) {
    const { description, filter, http, name, noJoin, readOnly } = given
    if (http) {
      const { server } = yield* (yield* Engine).settings
      const writePaths = yield* writable(given, server.writePaths)
      yield* Either.mapLeft(selectTools(filter, readOnly, { writes: writePaths.length > 0 }), usage)
      const beside = noJoin ? Layer.empty : yield* joinable(readOnly)
      return yield* listen(given, { description, filter, name, mcpOnly: true }, beside)
    }
    const needless = (["host", "port"] as const).find((key) => given[key] !== undefined)
    if (needless !== undefined || given.allowUnauthenticated) {
      return yield* usage(`--${needless ?? "allow-unauthenticated"} is for --http, and without it nothing listens`)
    }
    const engine = yield* Engine
    const { offer, watched, writes } = yield* offerOf(given)
    const { cwd, globals, meeting } = yield* Place
    const { mcp } = yield* engine.settings
    if (!mcp.join) yield* Effect.sync(() => meeting?.close())
    if (watched.length > 0) yield* usualHeap
    const opened = Layer.unwrapEffect(
      Effect.map(offer.config, ({ readOnly }) =>
        engine.open(readOnly ? "readonly" : writes ? "write" : "read", { pooled: true })
      )
    )
    // Loaded lazily, since no other command needs the SDK.
    const { serve: run } = yield* Effect.promise(() => import("../mcp/serve.ts"))
    const terminal = yield* Terminal
    yield* run({
      ...offer,
      engine: opened,
      ...(watched.length === 0 ? {} : { beside: following(watched, { cwd, globals }) }),
      streams: terminal.streams,
      empty: engine.open("preview"),
      exists: engine.exists,
      loggerOf: (format) => logging.loggerOf(format, terminal),
      joining: meeting === undefined || !mcp.join ? undefined : { meeting, offer: yield* offerFor(writes) }
    })
  }
)

export const mcp = Cli.group(serve, [install])
