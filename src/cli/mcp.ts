import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { overviewOf } from "../mcp/overview.ts"
import { selectTools, toolNames } from "../mcp/toolNames.ts"
import { version } from "../version.ts"
import { define, group } from "./command.ts"
import { Engine } from "./engine.ts"
import { following, watchedBy } from "./following.ts"
import * as logging from "./logging.ts"
import * as flags from "./mcp/flags.ts"
import { install } from "./mcp/install.ts"
import * as options from "./options.ts"
import { Place } from "./place.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

const serve = define(
  {
    name: "mcp",
    summary: "Serve MCP on standard input and output",
    flags: { ...flags, watch: options.watch },
    examples: [
      "clew mcp --db notes.db",
      "clew mcp --db notes.db --name Notes --description 'Lab notes since 2019'",
      "clew mcp --db notes.db --filter search,get_document --read-only",
      "clew mcp --db notes.db --watch ~/notes"
    ],
    details: [
      `An MCP client starts this by itself; clew mcp install sets one up. Tools: ${toolNames.join(", ")}.`,
      "Ends when standard input does."
    ]
  },
  ({ description, filter, name, readOnly, watch }) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const glance = yield* engine.glance
      const tools = yield* Either.mapLeft(
        selectTools(filter, readOnly, glance?.joined),
        (detail) => new UsageError({ detail, command: "clew mcp" })
      )
      // Read at the start, so that a mistake in the configuration fails at once, like a mistake in a flag.
      const { server, store } = yield* engine.settings
      const { cwd } = yield* Place
      const watched = yield* watchedBy("clew mcp", { watch, readOnly: readOnly || server.readOnly })
      const config = Effect.map(engine.settings, ({ log, search, server }) => ({
        topK: search.topK,
        readOnly: readOnly || server.readOnly,
        logLevel: log.level,
        logFormat: log.format
      }))
      const opened = Layer.unwrapEffect(
        Effect.map(config, (decided) =>
          engine.open(
            decided.readOnly ? "readonly" : watched.length > 0 || tools.includes("index_documents") ? "write" : "read",
            { pooled: true }
          )
        )
      )
      // Loaded lazily, since no other command needs the SDK.
      const { serve: run } = yield* Effect.promise(() => import("../mcp/serve.ts"))
      const terminal = yield* Terminal
      const loggerOf = (format: "json" | "pretty") => logging.loggerOf(format, terminal)
      const overview = overviewOf(glance, {
        name,
        description,
        missing: (yield* engine.exists) ? undefined : store.path,
        watched
      })
      yield* run({
        version,
        tools,
        config,
        name,
        overview,
        engine: opened,
        ...(watched.length === 0 ? {} : { beside: following(watched, cwd) }),
        empty: engine.open("preview"),
        exists: engine.exists,
        loggerOf
      })
    })
)

export const mcp = group(serve, [install(selectTools)])
