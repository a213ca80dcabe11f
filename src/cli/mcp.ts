import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { Scope as Lifetime } from "effect/Scope"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { indexName, isOnServer } from "../Config.ts"
import * as Cli from "./command.ts"
import {
  type Client,
  scopes,
  type ClientName,
  clients,
  type Scope,
  scopesOf,
  clientNames,
  sectionOf
} from "./mcp/clients.ts"
import { entryIn, type Table, hasEntry, dropEntry, unreadable, read, replace, setEntry } from "./mcp/formats.ts"
import { printJson, printResult } from "./output.ts"
import { Place, Engine } from "./engine.ts"
import { Terminal } from "./terminal.ts"
import { allowWrite, watch as watched } from "./flags.ts"
import { read as splitLine } from "./arguments.ts"
import { isLoopbackName, nameOf } from "../http/loopback.ts"
import { usage } from "./exit.ts"
import { overviewOf } from "../mcp/overview.ts"
import { claim, type Hello, socketOf, valueOf } from "../mcp/meeting.ts"
import type { Needs } from "../mcp/Tool.ts"
import { selectTools, toolNames, writingTools } from "../mcp/toolNames.ts"
import { version } from "../version.ts"
import { usualHeap } from "../runtime/Memory.ts"
import { following, listen, listening, watchedBy, writable } from "./listen.ts"
import * as logging from "./logging.ts"

const short = (limit: number) => (text: string) =>
  text.trim() !== "" && text.length <= limit ? Either.right(text) : Either.left(`1 to ${limit} characters`)

/** The server's flags, most of which `mcp install` writes into the client's entry. */
const serverFlags = {
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
  watch: watched,
  allowWrite
}

const overHttp = Cli.toggle("http", { summary: "Serve over HTTP at /mcp in place of standard input and output" })

/** What `mcp install --json` prints. */
const InstallReport = Schema.Struct({
  client: Schema.String,
  scope: Schema.Literal(...scopes),
  file: Schema.String,
  written: Schema.Boolean.annotations({ description: "False with --print, and if there was nothing to change" }),
  removed: Schema.optional(Schema.Boolean.annotations({ description: "With --uninstall: whether there was an entry" })),
  disabled: Schema.optional(Schema.Boolean.annotations({ description: "The entry exists and is switched off" })),
  backup: Schema.optional(Schema.String.annotations({ description: "Copy of the old file" })),
  entry: Schema.String.annotations({ description: "The entry as it is, or was, in the file" })
}).annotations({ identifier: "InstallReport" })

/** The setting of a client's configuration that switches an entry off, if any. */
const switchedOff = (client: Client, root: Table, entry: Table, name: string): string | undefined => {
  if (entry["disabled"] === true) return "disabled: true"
  if (entry["enabled"] === false) return "enabled: false"
  return client.offElsewhere?.(root, name)
}

/** The line that names the copy of a changed file. */
const asItWas = (backup: string | undefined): ReadonlyArray<string> =>
  backup === undefined ? [] : [`Copy of the old file: ${backup}`]

/** Removes an entry from a client's file and leaves everything else; if there is none, says so. */
const uninstall = Effect.fnUntraced(function* (
  clientName: ClientName,
  scope: Scope,
  file: string,
  name: string,
  onlyPrint: boolean
) {
  const client: Client = clients[clientName]
  const { cwd, globals } = yield* Place
  const { note } = yield* Terminal
  const section = sectionOf(client, scope, cwd)
  const refused = (why: string) => unreadable(file, why, `remove ${[...section, name].join(".")} by hand`)
  const found = yield* read(file)
  const before = found ?? ""
  const root = yield* Effect.mapError(client.format.read(before), refused)
  const there = hasEntry(root, section, name)
  const entry = there ? yield* client.format.snippet(section, name, entryIn(root, section, name)) : ""
  const report = { client: clientName, scope, file, entry, removed: there && !onlyPrint, written: false }
  if (!there) {
    const lines = [
      `${client.title} has no server ${name} in ${file}: there is nothing to remove`,
      ...scopesOf(client).flatMap((other) => (other === scope ? [] : [`--scope ${other} looks where it keeps those`]))
    ]
    return yield* printResult(InstallReport, report, lines.join("\n"))
  }
  if (onlyPrint) {
    if (!globals.json) yield* note(`In ${file}:`)
    return yield* printResult(InstallReport, report, entry)
  }
  const after = yield* Effect.mapError(dropEntry(client.format, before, section, name), refused)
  const backup = yield* replace(file, found, after, yield* Clock.currentTimeMillis)
  const lines = [`${client.title} no longer has ${name}, in ${file}`, ...asItWas(backup)]
  yield* printResult(InstallReport, { ...report, written: true, backup }, lines.join("\n"))
})

/** Whether an entry is of a server at a URL. */
const isRemote = (entry: Table): boolean => ["url", "serverUrl", "httpUrl", "uri"].some((key) => key in entry)

const nameRule = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

const installFlags = {
  client: Cli.choice("client", { summary: "Client to set up", choices: clientNames }),
  name: Cli.text("name", {
    value: "NAME",
    summary: "Name of the server in the client (default: clew), and of the index to its model",
    decode: (text) =>
      nameRule.test(text)
        ? Either.right(text)
        : Either.left("1 to 64 letters, digits, '_' or '-', starting with a letter or digit")
  }),
  scope: Cli.choice("scope", {
    summary:
      "user: for you in every folder; project: for everyone in this folder; local: for you in this folder (default: user; claude-code: project)",
    choices: scopes
  }),
  uninstall: Cli.toggle("uninstall", { summary: "Remove the entry" }),
  print: Cli.toggle("print", { summary: "Print the entry and the file it goes into, and write nothing" }),
  http: Cli.text("http", {
    value: "URL",
    summary: "Use the server that runs there, like http://127.0.0.1:8484/mcp, and start none",
    decode: (text) =>
      URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
        ? Either.right(text)
        : Either.left("a URL with http:// or https://")
  }),
  filter: serverFlags.filter,
  readOnly: serverFlags.readOnly,
  description: serverFlags.description,
  watch: serverFlags.watch,
  allowWrite: serverFlags.allowWrite
}

type Installing = Cli.Values<typeof installFlags>

const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : (value ?? false) !== false)

const flagOf = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Settings that apply now, but not when the client starts the server. */
const leftBehind = (
  { cwd, env }: Pick<typeof Place.Service, "cwd" | "env">,
  file: Option.Option<string>,
  postgres: boolean
): ReadonlyArray<string> => [
  ...(Option.isSome(file) && path.dirname(file.value) === cwd
    ? [`${file.value} applies only in this folder; give --config ${file.value} so that the client uses it too`]
    : []),
  ...(postgres
    ? ["The index is in PostgreSQL, and its address is not written: set CLEW_STORE_URL in the client's environment"]
    : []),
  ...Object.keys(env)
    .filter((name) => name.startsWith("CLEW_") && name !== "CLEW_CONFIG" && env[name] !== "")
    .filter((name) => !(postgres && name === "CLEW_STORE_URL"))
    .map((name) => `${name} is set here; the client starts the server without it, unless its own settings set it`)
]

/** How to start this program on any machine: from the project's dependencies if it runs from there. */
const portable = (cwd: string, script: string | undefined): readonly [command: string, ...args: Array<string>] =>
  script?.startsWith(path.join(cwd, "node_modules") + path.sep) === true ? ["npx", "--no", "clew"] : ["clew"]

/** Whether a shell here finds the command. */
const isOnPath = (env: Readonly<Record<string, string | undefined>>, command: string): boolean =>
  (env["PATH"] ?? "")
    .split(path.delimiter)
    .some((folder) => ["", ".cmd", ".exe"].some((ending) => fs.existsSync(path.join(folder, command + ending))))

/** The index that people have without naming one. */
const defaultIndex = (env: Readonly<Record<string, string | undefined>>, home: string): string =>
  path.join(env["XDG_DATA_HOME"] || path.join(home, ".local", "share"), "clew", "index.db")

/** How the client starts the server; says what of the settings here it will not have. */
const startOf = Effect.fnUntraced(function* (client: Client, scope: Scope, given: Installing) {
  const { cwd, env, globals, script: started } = yield* Place
  const { note } = yield* Terminal
  const home = env["HOME"] || os.homedir()
  const engine = yield* Engine
  const { store } = yield* engine.settings
  const config = globals.config ?? (env["CLEW_CONFIG"] || undefined)
  const unnamed = config === undefined
  const found = unnamed ? yield* engine.configFile : Option.none()
  for (const left of leftBehind({ cwd, env }, found, unnamed && isOnServer(store))) yield* note(left)
  const script = started === undefined ? undefined : path.resolve(cwd, started)
  const shared = scope === "project"
  // As the client understands it on any machine: the project's folder is not this one everywhere.
  const place = (flag: string, given: string) => {
    const absolute = path.resolve(cwd, given)
    if (!shared) return Effect.succeed(absolute)
    const relative = path.relative(cwd, absolute)
    if (path.isAbsolute(relative) || relative.split(path.sep)[0] === "..") {
      return usage(
        `${flag} ${absolute} is outside this folder, and --scope project writes for everyone who works in it: move it into the folder, or use --scope ${scopesOf(client).find((other) => other !== "project") ?? "user"}`
      )
    }
    const parts = relative === "" ? [] : relative.split(path.sep)
    return Effect.succeed([client.folder ?? ".", ...parts].join("/"))
  }
  const unasked = globals.db === undefined && store.path === defaultIndex(env, home)
  const [command, ...first] = shared
    ? portable(cwd, script)
    : [process.execPath, ...(script === undefined ? [] : [script])]
  const watched = yield* Effect.forEach(given.watch, (file) => place("--watch", file))
  const writable = yield* Effect.forEach(given.allowWrite, (folder) => place("--allow-write", folder))
  const start = {
    name: given.name ?? "clew",
    command: command!,
    args: [
      ...first,
      "mcp",
      // The address of a server has a password, so that the client's environment has to set it.
      ...(isOnServer(store) || (shared && unasked) ? [] : ["--db", yield* place("--db", store.path)]),
      ...(config === undefined ? [] : ["--config", yield* place("--config", config)]),
      ...(given.filter === undefined ? [] : ["--filter", given.filter]),
      ...(given.readOnly ? ["--read-only"] : []),
      ...(given.name === undefined ? [] : ["--name", given.name]),
      ...(given.description === undefined ? [] : ["--description", given.description]),
      ...watched.flatMap((file) => ["--watch", file]),
      ...writable.flatMap((folder) => ["--allow-write", folder])
    ]
  }
  if (shared && command === "clew" && !isOnPath(env, "clew")) {
    yield* note("The entry starts clew from the PATH, and here it is not there: install it with npm install --global")
  }
  if (shared && client.folder === undefined && start.args.some((arg) => arg.startsWith("./"))) {
    yield* note(`Paths in the entry are relative: open ${client.title} in this folder, not in one below it`)
  }
  if (given.watch.length === 0 && !(yield* engine.exists)) {
    yield* note(
      isOnServer(store)
        ? `There is no index in ${indexName(store)} yet: clew index PATH creates it`
        : `There is no index at ${store.path} yet: clew index PATH --db ${store.path} creates it`
    )
  }
  return start
})

/** The entry for a server that runs by itself, at a URL. */
const remoteOf = Effect.fnUntraced(function* (client: Client, given: Installing) {
  const { globals } = yield* Place
  const { note } = yield* Terminal
  if (client.remote === undefined) return yield* usage(`${client.title} takes no server over HTTP: leave out --http`)
  const needless =
    (["filter", "readOnly", "description", "watch", "allowWrite"] as const).find((key) => isGiven(given[key])) ??
    (["db", "config"] as const).find((key) => globals[key] !== undefined)
  if (needless !== undefined) {
    return yield* usage(`${flagOf(needless)} is for a server that the client starts: give it to the server at --http`)
  }
  const url = new URL(given.http!)
  if (url.pathname === "/") url.pathname = "/mcp"
  if (url.protocol === "http:" && !isLoopbackName(nameOf(url.host))) {
    yield* note(`${url.host} gets questions and the key unencrypted: put TLS before it, and give an https URL`)
  }
  yield* note(
    "If the server has a key, add to the entry the header Authorization: Bearer KEY, as the client writes headers"
  )
  return client.remote({ name: given.name ?? "clew", url: url.href })
})

const install = Cli.define(
  {
    name: "install",
    summary: "Set up an MCP client to start this server",
    flags: installFlags,
    examples: [
      "clew mcp install --client claude-desktop --print",
      "clew mcp install --client cursor --scope project --db notes.db --read-only",
      "clew mcp install --client cursor --http http://127.0.0.1:8484/mcp --print",
      "clew mcp install --client cursor --scope project --uninstall"
    ],
    details: [
      "Adds one entry to the client's own configuration file. Everything else in it stays, and a copy of the old file is kept beside it. A file that cannot be read is left untouched.",
      "The entry starts this program by its full path, with the index configured now or --db. With --scope project, which others share, it has no path of this machine: it starts clew from the PATH (or npx clew, if this is a dependency of the project), and index, configuration and watched files must be in this folder. Your default index stays unnamed, so that everyone searches their own."
    ]
  },
  function* (given) {
    if (given.client === undefined) return yield* usage(`--client is missing; one of ${clientNames.join(", ")}`)
    const client: Client = clients[given.client]
    const scope = given.scope ?? scopesOf(client)[0]
    const fileOf = scope === undefined ? undefined : client.files[scope]
    if (scope === undefined || fileOf === undefined)
      return yield* usage(
        `${client.title} has no ${scope} configuration; --scope may be ${scopesOf(client).join(" or ")}`
      )
    yield* Either.mapLeft(selectTools(given.filter, given.readOnly, { writes: given.allowWrite.length > 0 }), usage)
    if (given.readOnly && given.watch.length > 0) {
      return yield* usage("--watch writes into the index, which --read-only forbids: choose one")
    }
    const { cwd, env, globals } = yield* Place
    const { note, print } = yield* Terminal
    const home = env["HOME"] || os.homedir()
    const file = fileOf({ platform: process.platform, home, cwd, env })
    const section = sectionOf(client, scope, cwd)
    const name = given.name ?? "clew"
    if (given.uninstall) {
      const needless = (["filter", "readOnly", "description", "watch", "allowWrite", "http"] as const).find((key) =>
        isGiven(given[key])
      )
      if (needless !== undefined) {
        return yield* usage(`${flagOf(needless)} is for setting up a server, and --uninstall removes one`)
      }
      return yield* uninstall(given.client, scope, file, name, given.print)
    }
    const before = yield* read(file)
    const root = yield* Effect.orElseSucceed(client.format.read(before ?? ""), () => ({}))
    const made =
      given.http === undefined ? client.entry(yield* startOf(client, scope, given)) : yield* remoteOf(client, given)
    const report = { client: given.client, scope, file }
    const old = entryIn(root, section, name)
    // If the user switched it off, it stays off.
    const entry = { ...made, ...(old["enabled"] === false ? { enabled: false } : {}) }
    const snippet = yield* client.format.snippet(section, name, entry)
    const disabled = switchedOff(client, root, old, name)
    const off = { ...report, entry: snippet, written: false, ...(disabled === undefined ? {} : { disabled: true }) }
    const sayOff =
      disabled === undefined
        ? Effect.void
        : note(`${name} is switched off there (${disabled}) and stays so: switch it on in ${client.title}`)

    if (given.print) {
      if (globals.json) return yield* printJson(InstallReport, off)
      yield* note(`For ${client.title}, in ${file}:`)
      yield* sayOff
      return yield* print(snippet)
    }

    // A server that the client starts has other keys than one at a URL, and none of them may stay.
    const other = hasEntry(root, section, name) && isRemote(old) !== isRemote(made)
    const text = before ?? ""
    const bare = other ? dropEntry(client.format, text, section, name) : Effect.succeed(text)
    const after = yield* Effect.mapError(
      Effect.flatMap(bare, (text) => setEntry(client.format, text, section, name, entry)),
      (why) => unreadable(file, why, `add this by hand:\n\n${snippet}`)
    )
    if (after === before) {
      yield* sayOff
      return yield* printResult(InstallReport, off, `${client.title} is already set up, in ${file}`)
    }
    const backup = yield* replace(file, before, after, yield* Clock.currentTimeMillis)
    yield* sayOff
    const lines = [`${client.title} is set up, in ${file}`, ...asItWas(backup), client.next]
    yield* printResult(InstallReport, { ...off, written: true, backup }, lines.join("\n"))
  }
)

const flags = {
  ...serverFlags,
  http: overHttp,
  noJoin: Cli.toggle("no-join", {
    summary: "Open an engine of its own, for this client alone, even if another process has one (default: mcp.join)"
  }),
  ...listening
}

type Given = Cli.Values<typeof flags>

/** What the flags ask for, and how the index has to be opened for it. */
const offerOf = Effect.fnUntraced(function* (given: Given) {
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
  return { offer: { version, tools, config, name, overview }, watched, writes }
})

/** The command of a process that joins: the same flags, of which some need a process of its own. */
const joined = (want: (wanted: Effect.Effect.Success<ReturnType<typeof offerOf>>) => void) =>
  Cli.group(
    Cli.define({ name: "clew", summary: "", flags: {} }, function* () {}),
    [
      Cli.define({ name: "mcp", summary: "", flags }, function* (given) {
        if (given.http || given.noJoin || given.watch.length > 0) return yield* usage("needs a process of its own")
        want(yield* offerOf(given))
      })
    ]
  )

/** What processes that join are offered by one that has the index open, which some would have to write. */
const offerFor = (canWrite: boolean) =>
  Effect.map(
    Effect.context<Effect.Effect.Context<ReturnType<ReturnType<typeof joined>["run"]>> | Place>(),
    (context) => (hello: Hello) =>
      Effect.gen(function* () {
        let wanted: Parameters<Parameters<typeof joined>[0]>[0] | undefined
        const { globals, path, request } = splitLine(
          joined((found) => (wanted = found)),
          hello.args
        )
        const isSame = (["db", "config"] as const).every((name) => globals[name] === valueOf(hello.args, `--${name}`))
        if (request._tag !== "Run" || !isSame || globals.logLevel !== undefined) return yield* usage("is not the same")
        yield* path
          .at(-1)!
          .run(request.given, request.positional)
          .pipe(
            Effect.provideService(Place, { ...Context.get(context, Place), cwd: hello.cwd }),
            Effect.provide(context)
          )
        if (wanted === undefined || (wanted.writes && !canWrite)) return yield* usage("wants to write")
        return wanted.offer
      })
  )

/** Lets processes of clew mcp use the engine of a server, unless others do already. */
export const joinable = Effect.fnUntraced(function* (readOnly: boolean) {
  const { cwd, env, globals } = yield* Place
  const { mcp, server } = yield* (yield* Engine).settings
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
      const engine = yield* Effect.context<Needs | Lifetime>()
      // Most servers are never joined, and start faster without the SDK.
      yield* Effect.forkScoped(
        Effect.gen(function* () {
          yield* Effect.promise(() => meeting.joined)
          const { host } = yield* Effect.promise(() => import("../mcp/serve.ts"))
          yield* Effect.provide(host({ meeting, offer, use: (effect) => Effect.provide(effect, engine) }), engine)
        })
      )
    })
  )
})

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
    const { cwd, meeting } = yield* Place
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
      ...(watched.length === 0 ? {} : { beside: following(watched, cwd) }),
      streams: terminal.streams,
      empty: engine.open("preview"),
      exists: engine.exists,
      loggerOf: (format) => logging.loggerOf(format, terminal),
      joining: meeting === undefined || !mcp.join ? undefined : { meeting, offer: yield* offerFor(writes) }
    })
  }
)

export const mcp = Cli.group(serve, [install])
