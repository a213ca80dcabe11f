import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { Collections } from "../Collections.ts"
import { CollectionName, defaultCollection, describeEmbedder } from "../model/Collection.ts"
import { CollectionInfo, toCollectionInfo } from "../model/Stats.ts"
import { Store } from "../Store.ts"
import { swept } from "../upkeep/swept.ts"
import { define, group } from "./command.ts"
import { confirmed, count, printResult } from "./output.ts"
import { inIndex, reading } from "./engine.ts"
import * as options from "./flags.ts"
import { Terminal } from "./terminal.ts"
import { usage } from "./exit.ts"
import { wrapped } from "./wrap.ts"

/** What `collections --json` prints: the body of GET /collections. */
export const CollectionsReport = Schema.Struct({ collections: Schema.Array(CollectionInfo) }).annotations({
  identifier: "CollectionsReport"
})

/** What `collections drop --json` prints. */
export const DropReport = Schema.Struct({
  dropped: CollectionName,
  deleted_documents: Schema.Int,
  deleted_chunks: Schema.Int
}).annotations({ identifier: "DropReport" })

/** The collection that a command works on as a whole: the default one, unless only others exist. */
export const meant = Effect.fnUntraced(function* (named: CollectionName | undefined) {
  const names = (yield* (yield* Store).collections).map(({ name }) => name)
  if (named !== undefined || names.length === 0 || names.includes(defaultCollection)) return named ?? defaultCollection
  return yield* usage(`the default collection has no documents; name another with -c, such as ${names[0]}`)
})

const nameOf = ([text = ""]: ReadonlyArray<string>) =>
  Either.mapLeft(options.decodeCollection(text), (allowed) =>
    usage(`NAME must be ${allowed}, got ${JSON.stringify(text)}`)
  )

const positional = { name: "NAME", summary: "Name of the collection", min: 1, max: 1 }

const create = define(
  { name: "create", summary: "Create a collection with the configured embedder", positional, flags: {} },
  function* (_, names) {
    const name = yield* nameOf(names)
    yield* inIndex("write", function* () {
      const made = yield* (yield* Collections).create(name)
      yield* printResult(
        CollectionInfo,
        toCollectionInfo({ ...made, documents: 0, passages: 0 }),
        `Created collection ${name}, vectors by ${describeEmbedder(made.embedder)}`
      )
    })
  }
)

const drop = define(
  { name: "drop", summary: "Delete a collection with all its documents", positional, flags: { yes: options.yes } },
  function* (flags, names) {
    const name = yield* nameOf(names)
    if (name === defaultCollection) {
      return yield* usage(
        `collection ${name} always exists; empty it with clew delete, or start over with another --db`
      )
    }
    yield* inIndex("change", function* () {
      const store = yield* Store
      const { documents } = yield* store.stats(name)
      yield* confirmed(`Drop collection ${name} with ${count(documents, "document")}?`, flags.yes)
      const deleted = yield* store.dropCollection(name)
      yield* swept
      yield* printResult(
        DropReport,
        { dropped: name, deleted_documents: deleted.documents, deleted_chunks: deleted.passages },

        `Dropped collection ${name}: ${count(deleted.documents, "document")}, ${count(deleted.passages, "passage")}`
      )
    })
  }
)

export const collections = group(
  define({ name: "collections", summary: "List, create and drop collections", flags: {} }, function* () {
    yield* reading(function* () {
      const collections = yield* (yield* Store).collections
      const { out } = yield* Terminal
      const lines = collections.map(({ documents, embedder, name, passages }) =>
        wrapped(
          out,
          `${name}  ${count(documents, "document")}, ${count(passages, "passage")}, ${describeEmbedder(embedder)}`
        )
      )
      yield* printResult(
        CollectionsReport,
        { collections: collections.map(toCollectionInfo) },
        lines.length === 0 ? "No collections yet" : lines.join("\n")
      )
    })
  }),
  [create, drop]
)
