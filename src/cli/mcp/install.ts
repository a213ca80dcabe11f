import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as os from "node:os"
import * as path from "node:path"
import { define } from "../command.ts"
import { Engine } from "../engine.ts"
import * as Flag from "../flag.ts"
import { watch as watched } from "../options.ts"
import { printJson } from "../output.ts"
import { Place } from "../place.ts"
import { Terminal } from "../terminal.ts"
import { UsageError } from "../UsageError.ts"
import { type Client, clientNames, clients, scopes, scopesOf } from "./clients.ts"
import * as flags from "./flags.ts"
import { entryIn } from "./Format.ts"
import { setEntry, unreadable } from "./formats.ts"
import { asItWas, InstallReport, switchedOff } from "./report.ts"
import { uninstall } from "./uninstall.ts"
import { read, replace } from "./write.ts"

const command = "clew mcp install"

const wrong = (detail: string) => new UsageError({ detail, command })

const nameRule = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

const options = {
  client: Flag.choice("client", { summary: "Client to set up", choices: clientNames }),
  name: Flag.text("name", {
    value: "NAME",
    summary: "Name of the server in the client (default: clew), and of the index to its model",
    decode: (text) =>
      nameRule.test(text)
        ? Either.right(text)
        : Either.left("1 to 64 letters, digits, '_' or '-', starting with a letter or digit")
  }),
  scope: Flag.choice("scope", {
    summary: "For you everywhere, or for this folder (default: user; claude-code: project)",
    choices: scopes
  }),
  uninstall: Flag.toggle("uninstall", { summary: "Remove the entry" }),
  print: Flag.toggle("print", { summary: "Print the entry and the file it goes into, and write nothing" }),
  filter: flags.filter,
  readOnly: flags.readOnly,
  description: flags.description,
  watch: watched
}

/** Settings that apply now, but not when the client starts the server. */
const leftBehind = (
  env: Readonly<Record<string, string | undefined>>,
  file: Option.Option<string>,
  cwd: string
): ReadonlyArray<string> => [
  ...Option.match(file, {
    onNone: () => [],
    onSome: (found) =>
      path.dirname(found) === cwd
        ? [`${found} applies only in this folder; give --config ${found} so that the client uses it too`]
        : []
  }),
  ...Object.keys(env)
    .filter((name) => name.startsWith("CLEW_") && name !== "CLEW_CONFIG" && env[name] !== "")
    .map((name) => `${name} is set here; the client starts the server without it, unless its own settings set it`)
]

/** The command, given a function that checks `--filter` and `--read-only`. */
export const install = (
  checkTools: (filter: string | undefined, readOnly: boolean) => Either.Either<unknown, string>
) =>
  define(
    {
      name: "install",
      summary: "Set up an MCP client to start this server",
      flags: options,
      examples: [
        "clew mcp install --client claude-desktop --print",
        "clew mcp install --client cursor --scope project --db notes.db --read-only",
        "clew mcp install --client cursor --scope project --uninstall"
      ],
      details: [
        "Adds one entry to the client's own configuration file. Everything else in it stays, and a copy of the old file is kept beside it. A file that cannot be read is left untouched.",
        "The entry starts this program by its full path, with the index configured now or --db."
      ]
    },
    (given) =>
      Effect.gen(function* () {
        if (given.client === undefined) return yield* wrong(`--client is missing; one of ${clientNames.join(", ")}`)
        const client: Client = clients[given.client]
        const scope = given.scope ?? scopesOf(client)[0]
        const fileOf = scope === undefined ? undefined : client.files[scope]
        if (scope === undefined || fileOf === undefined)
          return yield* wrong(
            `${client.title} has no configuration of a ${scope}; --scope may be ${scopesOf(client).join(" or ")}`
          )
        yield* Either.mapLeft(checkTools(given.filter, given.readOnly), wrong)
        if (given.readOnly && given.watch.length > 0) {
          return yield* wrong("--watch writes into the index, which --read-only forbids: choose one")
        }
        const { cwd, env, globals } = yield* Place
        const { note, print } = yield* Terminal
        const file = fileOf({ platform: process.platform, home: env["HOME"] || os.homedir(), cwd, env })
        const name = given.name ?? "clew"
        if (given.uninstall) {
          const needless = (["filter", "readOnly", "description", "watch"] as const).find((key) => {
            const value = given[key]
            return Array.isArray(value) ? value.length > 0 : (value ?? false) !== false
          })
          if (needless !== undefined)
            return yield* wrong(
              `--${needless === "readOnly" ? "read-only" : needless} is for setting up a server, and --uninstall removes one`
            )
          return yield* uninstall(given.client, scope, file, name, given.print)
        }
        const engine = yield* Engine
        const { store } = yield* engine.settings
        const config = globals.config ?? (env["CLEW_CONFIG"] || undefined)
        for (const left of leftBehind(env, config === undefined ? yield* engine.configFile : Option.none(), cwd)) {
          yield* note(left)
        }

        const before = yield* read(file)
        const root = yield* Effect.orElseSucceed(client.format.read(before ?? ""), () => ({}))
        const script = process.argv[1]
        const start = {
          name,
          command: process.execPath,
          args: [
            ...(script === undefined ? [] : [path.resolve(cwd, script)]),
            "mcp",
            "--db",
            store.path,
            ...(config === undefined ? [] : ["--config", path.resolve(cwd, config)]),
            ...(given.filter === undefined ? [] : ["--filter", given.filter]),
            ...(given.readOnly ? ["--read-only"] : []),
            ...(given.name === undefined ? [] : ["--name", given.name]),
            ...(given.description === undefined ? [] : ["--description", given.description]),
            ...given.watch.flatMap((file) => ["--watch", path.resolve(cwd, file)])
          ]
        }
        if (given.watch.length === 0 && !(yield* engine.exists)) {
          yield* note(`There is no index at ${store.path} yet: clew index PATH --db ${store.path} creates it`)
        }
        const report = { client: given.client, scope, file }
        const old = entryIn(root, client.section, name)
        // If the user switched it off, it stays off.
        const entry = { ...client.entry(start), ...(old["enabled"] === false ? { enabled: false } : {}) }
        const shown = yield* client.format.alone(client.section, name, entry)
        const disabled = switchedOff(client, root, name)
        const off = { ...report, entry: shown, ...(disabled === undefined ? {} : { disabled: true }) }
        const sayOff =
          disabled === undefined
            ? Effect.void
            : note(`${name} is switched off there (${disabled}) and stays so: switch it on in ${client.title}`)

        if (given.print) {
          if (globals.json) return yield* printJson(InstallReport, { ...off, written: false })
          yield* note(`For ${client.title}, in ${file}:`)
          yield* sayOff
          return yield* print(shown)
        }

        const after = yield* Effect.mapError(
          setEntry(client.format, before ?? "", client.section, name, entry),
          (why) => unreadable(file, why, `add this by hand:\n\n${shown}`)
        )
        if (after === before) {
          yield* sayOff
          if (globals.json) return yield* printJson(InstallReport, { ...off, written: false })
          return yield* print(`${client.title} is already set up, in ${file}`)
        }
        const backup = yield* replace(file, after, yield* Clock.currentTimeMillis)
        yield* sayOff
        const copy = backup === undefined ? {} : { backup }
        if (globals.json) return yield* printJson(InstallReport, { ...off, written: true, ...copy })
        yield* print([`${client.title} is set up, in ${file}`, ...asItWas(backup), client.next].join("\n"))
      })
  )
