import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { createHash, randomBytes } from "node:crypto"
import { CollectionName } from "../model/Collection.ts"
import { faultOfKeys, Right, rights, ServerKey } from "../model/Key.ts"
import * as Cli from "./command.ts"
import { usage } from "./exit.ts"
import { printResult } from "./output.ts"
import { Terminal } from "./terminal.ts"

/** What `keys new --json` prints: the only place where the key stands. */
export const KeyReport = Schema.Struct({
  name: Schema.String,
  key: Schema.String.annotations({ description: "The key, for its holder" }),
  hash: Schema.String.annotations({ description: "What server.keys has of it" }),
  rights: Schema.Array(Right),
  collections: Schema.optional(Schema.Array(CollectionName)),
  toml: Schema.String.annotations({ description: "For the configuration file" })
}).annotations({ identifier: "KeyReport" })

const isRight = Schema.is(Right)
const isName: (name: string) => boolean = Schema.is(ServerKey.fields.name)
const isCollection = Schema.is(CollectionName)

const words = (text: string): ReadonlyArray<string> => text.split(",").map((word) => word.trim())

const rightsFlag = Cli.text("rights", {
  value: "RIGHT,RIGHT",
  summary: "What it allows: read, write, admin (default: read)",
  decode: (text) => {
    const given = words(text)
    return given.every((word) => isRight(word))
      ? Either.right([...new Set(given)])
      : Either.left(`some of ${rights.join(", ")}, with commas between`)
  }
})

const collections = Cli.repeated("collection", {
  alias: "c",
  value: "NAME",
  summary: "The only collections that it sees, each with a flag of its own (default: all)",
  decode: (text) => (isCollection(text) ? Either.right(text) : Either.left("a collection's name"))
})

const make = Cli.define(
  {
    name: "new",
    summary: "Make a key, and print it once",
    positional: { name: "NAME", summary: "The key's name, in logs and GET /whoami", min: 1, max: 1 },
    flags: { rights: rightsFlag, collections },
    details: [
      "Prints the key for its holder, and what belongs into the configuration file, which has only the key's hash. Nothing else keeps the key.",
      "A running server reads server.keys again within a second after its file has changed: add a key, delete one, or replace its hash."
    ],
    examples: ["clew keys new ci --rights read,write --collection docs", "clew keys new ops --rights read,admin --json"]
  },
  function* (flags, [name = ""]) {
    if (!isName(name)) {
      const got = name.length > 64 ? `${name.length} characters` : JSON.stringify(name)
      return yield* usage(
        `NAME must be 1 to 64 letters, digits, ".", "_" or "-", beginning with a letter or digit; got ${got}`
      )
    }
    const { note } = yield* Terminal
    const key = `clew_${randomBytes(32).toString("base64url")}`
    const hash = `sha256:${createHash("sha256").update(key).digest("hex")}`
    const given = flags.rights ?? ["read"]
    const limited = flags.collections.length === 0 ? {} : { collections: flags.collections }
    const fault = faultOfKeys([{ name, hash, rights: given, ...limited }])
    if (fault !== undefined) return yield* usage(fault)
    const lines = [
      "[[server.keys]]",
      `name = ${JSON.stringify(name)}`,
      `hash = ${JSON.stringify(hash)}`,
      `rights = [${given.map((right) => JSON.stringify(right)).join(", ")}]`,
      ...(flags.collections.length === 0
        ? []
        : [`collections = [${flags.collections.map((each) => JSON.stringify(each)).join(", ")}]`])
    ]
    const toml = `${lines.join("\n")}\n`
    yield* printResult(KeyReport, { name, key, hash, rights: given, ...limited, toml }, `${key}\n\n${toml.trimEnd()}`)
    yield* note("clew: give the first line to whoever may use it, and put the rest into the configuration file")
  }
)

export const keys = Cli.group(
  Cli.define({ name: "keys", summary: "Make keys for the HTTP server", flags: {} }, function* () {
    yield* usage("name what to do: clew keys new NAME")
  }),
  [make]
)
