import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as os from "node:os"
import * as path from "node:path"
import { define } from "../command.ts"
import { Engine } from "../engine.ts"
import * as Flag from "../flag.ts"
import { printJson } from "../output.ts"
import { Place } from "../place.ts"
import { Terminal } from "../terminal.ts"
import { UsageError } from "../UsageError.ts"
import { type Client, clientNames, clients } from "./clients.ts"
import * as flags from "./flags.ts"
import { unreadable } from "./formats.ts"
import { read, replace } from "./write.ts"

const command = "clew mcp install"

/** What `mcp install --json` prints. */
export const InstallReport = Schema.Struct({
  client: Schema.String,
  file: Schema.String,
  written: Schema.Boolean.annotations({ description: "False with --print, and where the entry was there already" }),
  backup: Schema.optional(Schema.String.annotations({ description: "Copy of the file as it was" })),
  entry: Schema.String.annotations({ description: "The entry as it stands in the file" })
}).annotations({ identifier: "InstallReport" })

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
  print: Flag.toggle("print", { summary: "Print the entry and the file it goes into, and write nothing" }),
  filter: flags.filter,
  readOnly: flags.readOnly,
  description: flags.description
}

/** What holds here and now, and will not where the client starts the server. */
const leftBehind = (
  env: Readonly<Record<string, string | undefined>>,
  file: Option.Option<string>,
  cwd: string
): ReadonlyArray<string> => [
  ...Option.match(file, {
    onNone: () => [],
    onSome: (found) =>
      path.dirname(found) === cwd
        ? [`${found} counts only in this folder; say --config ${found} for the client to use it too`]
        : []
  }),
  ...Object.keys(env)
    .filter((name) => name.startsWith("CLEW_") && name !== "CLEW_CONFIG" && env[name] !== "")
    .map((name) => `${name} is set here; the client starts the server without it, unless its own settings say so`)
]

/** The command, given what says whether `--filter` and `--read-only` name tools that there are. */
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
        "clew mcp install --client cursor --db notes.db --read-only"
      ],
      details: [
        "Adds one entry to the client's own configuration file: everything else in it stays, and a copy of the file as it was is kept beside it. A file that cannot be read is left untouched.",
        "The entry starts this very program by its full path with the index that is configured now, or --db."
      ]
    },
    (given) =>
      Effect.gen(function* () {
        if (given.client === undefined) return yield* wrong(`--client is missing; one of ${clientNames.join(", ")}`)
        yield* Either.mapLeft(checkTools(given.filter, given.readOnly), wrong)
        const { cwd, env, globals } = yield* Place
        const { note, print } = yield* Terminal
        const engine = yield* Engine
        const { store } = yield* engine.settings
        const config = globals.config ?? (env["CLEW_CONFIG"] || undefined)
        for (const left of leftBehind(env, config === undefined ? yield* engine.configFile : Option.none(), cwd)) {
          yield* note(left)
        }

        const script = process.argv[1]
        const start = {
          name: given.name ?? "clew",
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
            ...(given.description === undefined ? [] : ["--description", given.description])
          ]
        }
        if (!(yield* engine.exists)) {
          yield* note(`There is no index at ${store.path} yet: clew index PATH --db ${store.path} makes it`)
        }
        const client: Client = clients[given.client]
        const name = given.name ?? "clew"
        const file = client.file({ platform: process.platform, home: env["HOME"] || os.homedir(), cwd, env })
        const entry = yield* client.format.alone(client.section, name, client.entry(start))
        const report = { client: given.client, file, entry }

        if (given.print) {
          if (globals.json) return yield* printJson(InstallReport, { ...report, written: false })
          yield* note(`For ${client.title}, in ${file}:`)
          return yield* print(entry)
        }

        const before = yield* read(file)
        const after = yield* Effect.mapError(
          client.format.set(before ?? "", client.section, name, client.entry(start)),
          (why) => unreadable(file, why, entry)
        )
        if (after === before) {
          if (globals.json) return yield* printJson(InstallReport, { ...report, written: false })
          return yield* print(`${client.title} is set up already, in ${file}`)
        }
        const backup = yield* replace(file, after, yield* Clock.currentTimeMillis)
        if (globals.json) {
          return yield* printJson(InstallReport, {
            ...report,
            written: true,
            ...(backup === undefined ? {} : { backup })
          })
        }
        yield* print(
          [
            `${client.title} is set up, in ${file}`,
            ...(backup === undefined ? [] : [`As it was: ${backup}`]),
            client.next
          ].join("\n")
        )
      })
  )
