import * as Schema from "effect/Schema"
import { CollectionName } from "./Collection.ts"

/** What a key lets its holder do. */
export const Right = Schema.Literal("read", "write", "admin").annotations({
  identifier: "Right",
  description:
    "read: search and read; write: index and delete documents, create collections, build the graph, judge; admin: import, drop and reindex collections, other keys' jobs, GET /health/report"
})
export type Right = typeof Right.Type

export const rights = Right.literals

const nameRule = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const hashRule = /^sha256:[0-9a-f]{64}$/
const mostKeys = 1000

/** A key of the server, as its configuration has it: never the key itself. */
export const ServerKey = Schema.Struct({
  name: Schema.String.pipe(Schema.filter((name) => nameRule.test(name))),
  hash: Schema.String.pipe(Schema.filter((hash) => hashRule.test(hash))),
  rights: Schema.NonEmptyArray(Right),
  collections: Schema.optionalWith(Schema.NonEmptyArray(CollectionName), { exact: true })
})
export type ServerKey = typeof ServerKey.Type

const isKey = Schema.is(ServerKey, { onExcessProperty: "error" })
const isRights = Schema.is(ServerKey.fields.rights)
const isNames = Schema.is(Schema.NonEmptyArray(CollectionName))

/** What is wrong with a list of keys, naming the key; undefined if nothing is. */
export const faultOfKeys = (value: unknown): string | undefined => {
  if (!Array.isArray(value)) return "tables [[server.keys]]"
  if (value.length > mostKeys) return `at most ${mostKeys} keys`
  const names = new Set<unknown>()
  for (const [index, each] of (value as ReadonlyArray<unknown>).entries()) {
    const { collections, hash, name, rights: given } = (each ?? {}) as Readonly<Record<string, unknown>>
    const shown = typeof name === "string" && nameRule.test(name) ? `the key ${name}` : `the ${index + 1}. key`
    if (typeof name !== "string" || !nameRule.test(name)) {
      return `${shown} needs a name of 1 to 64 letters, digits, ".", "_" or "-"`
    }
    if (names.has(name)) return `${shown} is there twice: give each a name of its own`
    names.add(name)
    if (typeof hash !== "string" || !hashRule.test(hash)) {
      return `${shown} needs a hash like "sha256:" and 64 hexadecimal digits, which \`clew keys new ${name}\` makes`
    }
    if (!isRights(given)) return `${shown} needs rights, a list of ${rights.join(", ")}`
    if (collections !== undefined && !isNames(collections)) {
      return `${shown} has collections that are no list of names; leave it out for all of them`
    }
    if (!isKey(each)) return `${shown} may have name, hash, rights and collections, and nothing else`
  }
  return undefined
}
