import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { Embedders } from "../Embedders.ts"
import { CollectionName, defaultCollection, describeEmbedder } from "../model/Collection.ts"
import { CollectionInfo, toCollectionInfo } from "../model/Stats.ts"
import { Store, UpkeepStore } from "../Store.ts"
import { define, group } from "./command.ts"
import { confirmed } from "./confirm.ts"
import { Engine } from "./engine.ts"
import * as options from "./options.ts"
import { count, numberText, printResult } from "./output.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"
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

const list = Effect.gen(function* () {
  const engine = yield* Engine
  yield* Effect.gen(function* () {
    const collections = yield* (yield* Store).collections
    const { out } = yield* Terminal
    yield* printResult(
      CollectionsReport,
      {
        collections: collections.map(toCollectionInfo)
      },
      Effect.succeed(
        collections.length === 0
          ? "No collections yet"
          : collections
              .map(({ documents, embedder, name, passages }) =>
                wrapped(
                  out,
                  `${name}  ${count(documents, "document")}, ${count(passages, "passage")}, ${describeEmbedder(embedder)}`
                )
              )
              .join("\n")
      )
    )
  }).pipe(Effect.provide(engine.open("read")))
})

const nameOf = (command: string, [text = ""]: ReadonlyArray<string>) =>
  Either.mapLeft(
    options.decodeCollection(text),
    (allowed) => new UsageError({ command, detail: `NAME must be ${allowed}, got ${JSON.stringify(text)}` })
  )

const positional = { name: "NAME", summary: "Name of the collection", min: 1, max: 1 }

const create = define(
  { name: "create", summary: "Create a collection with the configured embedder", positional, flags: {} },
  (_, names) =>
    Effect.gen(function* () {
      const name = yield* nameOf("clew collections create", names)
      const engine = yield* Engine
      yield* Effect.gen(function* () {
        const identity = yield* (yield* Embedders).configured.identity
        const made = yield* (yield* Store).createCollection(name, identity)
        yield* printResult(
          CollectionInfo,
          toCollectionInfo({ ...made, documents: 0, passages: 0 }),
          Effect.succeed(`Created collection ${name}, vectors by ${describeEmbedder(made.embedder)}`)
        )
      }).pipe(Effect.provide(engine.open("write")))
    })
)

const drop = define(
  { name: "drop", summary: "Delete a collection with all its documents", positional, flags: { yes: options.yes } },
  (flags, names) =>
    Effect.gen(function* () {
      const name = yield* nameOf("clew collections drop", names)
      if (name === defaultCollection) {
        return yield* new UsageError({
          command: "clew collections drop",
          detail: `collection ${name} always exists; empty it with clew delete, or start over with another --db`
        })
      }
      const engine = yield* Engine
      yield* Effect.gen(function* () {
        const store = yield* Store
        const upkeep = yield* UpkeepStore
        const { documents } = yield* store.stats(name)
        yield* confirmed(
          "clew collections drop",
          `Drop collection ${name} with ${count(documents, "document")}?`,
          flags.yes
        )
        const deleted = yield* store.dropCollection(name)
        // No later process may come to delete its rows.
        yield* Effect.repeat(upkeep.settle(), { while: () => upkeep.sweeping() })
        yield* printResult(
          DropReport,
          { dropped: name, deleted_documents: deleted.documents, deleted_chunks: deleted.passages },
          Effect.succeed(
            `Dropped collection ${name}: ${numberText(deleted.documents)} documents, ${numberText(deleted.passages)} passages`
          )
        )
      }).pipe(Effect.provide(engine.open("change")))
    })
)

export const collections = group(
  define({ name: "collections", summary: "List, create and drop collections", flags: {} }, () => list),
  [create, drop]
)
