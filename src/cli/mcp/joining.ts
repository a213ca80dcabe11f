import type { FileSystem } from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"
import { indexName } from "../../Config.ts"
import type { Needs } from "../../mcp/Tool.ts"
import { type Hello, claim, socketOf, valueOf } from "../../mcp/meeting.ts"
import { overviewOf } from "../../mcp/overview.ts"
import { selectTools, writingTools } from "../../mcp/toolNames.ts"
import { read as splitLine } from "../arguments.ts"
import * as Cli from "../command.ts"
import { Engine, Place } from "../engine.ts"
import { usage } from "../exit.ts"
import { allowWrite, watch } from "../flags.ts"
import { listening, watchedBy, writable } from "../listen.ts"

const short = (limit: number) => (text: string) =>
  text.trim() !== "" && text.length <= limit ? Either.right(text) : Either.left(`1 to ${limit} characters`)

/** The server's flags, most of which `mcp install` writes into the client's entry. */
export const serverFlags = {
  description: Cli.text("description", {
    value: "TEXT",
    summary: "What the index is about, so that the model knows when to search it",
    decode: short(1000)
  }),
  filter: Cli.text("filter", {
    value: "TOOL,TOOL",
    summary: "Offer only these tools, like search,get_prompt (default: all)"
  }),
  name: Cli.text("name", {
    value: "NAME",
    summary: "Name of the index, as the client and its model see it",
    decode: short(100)
  }),
  readOnly: Cli.toggle("read-only", { summary: "Open the index read-only, and offer no index_documents" }),
  watch,
  allowWrite
}

/** The flags of `clew mcp`. */
export const flags = {
  ...serverFlags,
  http: Cli.toggle("http", { summary: "Serve over HTTP at /mcp in place of standard input and output" }),
  noJoin: Cli.toggle("no-join", {
    summary: "Open an engine of its own, for this client alone, even if another process has one (default: mcp.join)"
  }),
  ...listening
}

type Given = Cli.Values<typeof flags>

/** What the flags ask for, and how the index has to be opened for it. */
export const offerOf = Effect.fnUntraced(function* (given: Given) {
  const { description, filter, name, readOnly, watch } = given
  const engine = yield* Engine
  // Read at the start, so that a mistake in the configuration fails at once, like a mistake in a flag.
  const { server, store } = yield* engine.settings
  const writePaths = yield* writable(given, server.writePaths)
  const glance = yield* engine.glance
  const tools = yield* Either.mapLeft(
    selectTools(filter, readOnly, { joined: glance?.joined, writes: writePaths.length > 0 }),
    (detail) => usage(detail)
  )
  const watched = yield* watchedBy({ watch, readOnly: readOnly || server.readOnly })
  const config = Effect.map(engine.settings, ({ log, search, server }) => ({
    topK: search.topK,
    readOnly: readOnly || server.readOnly,
    writePaths,
    logLevel: log.level,
    logFormat: log.format
  }))
  const overview = overviewOf(glance, {
    name,
    description,
    missing: (yield* engine.exists) ? undefined : indexName(store),
    watched
  })
  const writes =
    !readOnly && !server.readOnly && (watched.length > 0 || tools.some((tool) => writingTools.includes(tool)))
  return { offer: { tools, config, name, overview }, watched, writes }
})

const nothing = function* () {}

/** The command line of a process that joins. */
const joining = Cli.group(Cli.define({ name: "clew", summary: "", flags: {} }, nothing), [
  Cli.define({ name: "mcp", summary: "", flags }, nothing)
])

/** What processes that join are offered by one that has the index open, which some would have to write. */
export const offerFor = (canWrite: boolean) =>
  Effect.map(
    Effect.context<Engine | Place | FileSystem>(),
    (context) => (hello: Hello) =>
      Effect.gen(function* () {
        const { globals, request } = splitLine(joining, hello.args)
        const isSame = (["db", "config"] as const).every((name) => globals[name] === valueOf(hello.args, `--${name}`))
        if (request._tag !== "Run" || !isSame || globals.logLevel !== undefined) return yield* usage("is not the same")
        const given = yield* Cli.decode(flags, request.given)
        const { allowUnauthenticated, host, http, noJoin, port, watch } = given
        if (http || noJoin || watch.length > 0) return yield* usage("needs a process of its own")
        if (allowUnauthenticated || host !== undefined || port !== undefined) return yield* usage("is wrong")
        const { offer, writes } = yield* offerOf(given)
        return writes && !canWrite ? yield* usage("wants to write") : offer
      }).pipe(Effect.provideService(Place, { ...Context.get(context, Place), cwd: hello.cwd }), Effect.provide(context))
  )

/** Lets processes of clew mcp use the engine of a server, unless others do already. */
export const joinable = Effect.fnUntraced(function* (readOnly: boolean) {
  const { cwd, env, globals } = yield* Place
  const { exists, settings } = yield* Engine
  const { mcp, server } = yield* settings
  const file = mcp.join ? socketOf({ cwd, env, db: globals.db, config: globals.config }) : undefined
  if (file === undefined) return Layer.empty
  const offer = yield* offerFor(!readOnly && !server.readOnly)
  return Layer.scopedDiscard(
    Effect.gen(function* () {
      const meeting = yield* Effect.acquireRelease(
        Effect.promise(() => claim(file)),
        (claimed) => Effect.sync(() => claimed?.close())
      )
      if (meeting === undefined) return
      const engine = yield* Effect.context<Needs | Scope>()
      // Most servers are never joined, and start faster without the SDK.
      yield* Effect.forkScoped(
        Effect.gen(function* () {
          yield* Effect.promise(() => meeting.joined)
          const { grace, host } = yield* Effect.promise(() => import("../../mcp/serve.ts"))
          const hosting = host({
            meeting,
            offer,
            isGone: Effect.negate(exists),
            use: (effect) => Effect.provide(effect, engine)
          })
          // What they have asked is answered before the engine closes.
          const settling = Effect.flatMap(hosting, ({ settled }) =>
            Effect.addFinalizer(() => Effect.timeoutOption(settled, grace.signal))
          )
          yield* Effect.provide(settling, engine)
        })
      )
    })
  )
})
