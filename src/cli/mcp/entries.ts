import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Check } from "../../model/Check.ts"
import { type Client, clientNames, clients, type Machine, scopesOf } from "./clients.ts"
import { read } from "./write.ts"

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const texts = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === "string")

/** The words of an entry's command line, in any client's notation. */
const wordsOf = (entry: unknown): ReadonlyArray<string> =>
  isTable(entry) ? [...texts(entry["command"] ?? entry["cmd"]), ...texts(entry["args"])] : []

const isScript = (word: string): boolean => path.isAbsolute(word) && /\.[cm]?[jt]s$/.test(word)

/** Whether it starts this program, by its name or as written by `mcp install`. */
const isOurs = (name: string, words: ReadonlyArray<string>): boolean =>
  words.includes("mcp") && (name === "clew" || words.some((word) => /^clew(\.cmd|\.exe)?$/.test(path.basename(word))))

/** Files in the command line that do not exist. */
const missing = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [command] = words
  const after = (flag: string) => {
    const at = words.indexOf(flag)
    return at === -1 ? [] : words.slice(at + 1, at + 2)
  }
  return [
    ...(command === undefined ? [] : [command]),
    ...words.filter(isScript),
    ...after("--db"),
    ...after("--config")
  ].filter((word) => path.isAbsolute(word) && !fs.existsSync(word))
}

/** Every file of every client, once. */
const places = (machine: Machine) =>
  clientNames.flatMap((name) => {
    const client: Client = clients[name]
    return [...new Set(scopesOf(client).map((scope) => client.files[scope]!(machine)))].map((file) => ({
      name,
      client,
      file
    }))
  })

/** For every MCP client whose file names this program: whether the program and index that it starts exist. */
export const entries = (machine: Machine): Effect.Effect<ReadonlyArray<Check>> =>
  Effect.map(
    Effect.forEach(places(machine), ({ client, file, name }) =>
      Effect.gen(function* () {
        const text = yield* Effect.either(read(file))
        if (Either.isLeft(text) || text.right === undefined) return []
        const found = yield* Effect.either(client.format.read(text.right))
        if (Either.isLeft(found)) return []
        const servers = isTable(found.right) ? found.right[client.section] : undefined
        if (!isTable(servers)) return []
        return Object.entries(servers).flatMap(([server, entry]): ReadonlyArray<Check> => {
          const words = wordsOf(entry)
          if (!isOurs(server, words)) return []
          const lost = missing(words)
          return [
            lost.length === 0
              ? { name: "client", status: "ok", detail: `${client.title} starts a program that exists (${file})` }
              : {
                  name: "client",
                  status: "warn",
                  detail: `${client.title} names files that do not exist: ${lost.join(", ")} (${server} in ${file})`,
                  next: `run \`clew mcp install --client ${name}\`, with the right --db`
                }
          ]
        })
      })
    ),
    (found) => found.flat()
  )
