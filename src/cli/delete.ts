import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import { defaultCollection } from "../model/Collection.ts"
import { pruneAll } from "../files/Pruner.ts"
import type { Deleted } from "../model/Stored.ts"
import { Store, UpkeepStore } from "../Store.ts"
import { define } from "./command.ts"
import { confirmed } from "./confirm.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as options from "./options.ts"
import { count, printResult } from "./output.ts"
import { Place } from "./place.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

/** What `delete --json` prints. */
export const DeleteReport = Schema.Struct({
  deleted_documents: Schema.Int,
  deleted_chunks: Schema.Int,
  not_found: Schema.Array(Schema.String)
}).annotations({ identifier: "DeleteReport" })

const nothing: Deleted = { documents: 0, passages: 0 }

export const deleteDocuments = define(
  {
    name: "delete",
    summary: "Delete documents by source or id",
    positional: {
      name: "SOURCE",
      summary: "Source of a document, such as its file's path; a file or folder means everything from it",
      min: 0,
      max: Infinity,
      paths: true
    },
    flags: { id: options.id, collection: options.collection, yes: options.yes },
    examples: ["clew delete docs/old.md", "clew delete records.jsonl archive/", "clew delete --id 4983 --yes"],
    details: ["Exits with 1 if something does not exist."]
  },
  (flags, sources) =>
    Effect.gen(function* () {
      const { cwd, globals } = yield* Place
      const { note } = yield* Terminal
      const collection = flags.collection ?? defaultCollection
      const wanted = sources.length + flags.id.length
      if (wanted === 0) return yield* new UsageError({ command: "clew delete", detail: "SOURCE or --id is missing" })
      const engine = yield* Engine

      yield* Effect.gen(function* () {
        const store = yield* Store
        yield* store.collection(collection)
        const one = [...sources, ...flags.id][0] ?? ""
        const what = wanted === 1 ? one : count(wanted, "document")
        yield* confirmed("clew delete", `Delete ${what} from collection ${collection}?`, flags.yes)

        const bySource = Effect.fnUntraced(function* (source: string) {
          const deleted = yield* store.deleteSource(collection, source)
          const absolute = path.resolve(cwd, source)
          if (deleted.documents > 0) return deleted
          const renamed = absolute === source ? nothing : yield* store.deleteSource(collection, absolute)
          // A folder, or a file of many documents: everything from there.
          return renamed.documents > 0 ? renamed : yield* pruneAll(store, collection, [absolute])
        })
        const done = [
          ...(yield* Effect.forEach(sources, (source) =>
            Effect.map(bySource(source), (deleted) => [source, deleted] as const)
          )),
          ...(yield* Effect.forEach(flags.id, (id) =>
            store.deleteDocument(collection, id).pipe(
              Effect.catchTag("DocumentNotFound", () => Effect.succeed(nothing)),
              Effect.map((deleted) => [id, deleted] as const)
            )
          ))
        ]
        const missing = done.filter(([, { documents }]) => documents === 0).map(([name]) => name)
        const documents = done.reduce((sum, [, deleted]) => sum + deleted.documents, 0)
        const passages = done.reduce((sum, [, deleted]) => sum + deleted.passages, 0)
        // No later process may come to do it.
        const upkeep = yield* UpkeepStore
        yield* upkeep.settle()
        const isGone = documents === 0 || (yield* upkeep.purge())
        yield* printResult(
          DeleteReport,
          { deleted_documents: documents, deleted_chunks: passages, not_found: missing },
          Effect.succeed(`Deleted ${count(documents, "document")}, ${count(passages, "passage")}`)
        )
        if (!isGone) {
          yield* note("clew: some deleted words are still in the index's file; `clew compact` removes them")
        }
        if (!globals.json) {
          for (const name of missing) yield* note(`clew: ${name} is not in collection ${collection}`)
        }
        if (missing.length > 0) yield* stop(exitCode.failed)
      }).pipe(Effect.provide(engine.open("shrink")))
    })
)
