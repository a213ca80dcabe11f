import * as Cli from "./command.ts"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import * as Either from "effect/Either"
import { DocumentId } from "../model/Document.ts"
import { defaultCollection } from "../model/Collection.ts"
import { isBelow } from "../files/below.ts"
import { add, none, pruneAll } from "../files/Pruner.ts"
import type { Deleted } from "../model/Stored.ts"
import { Store, StoreUnavailable, UpkeepStore, isOfFullDisk } from "../Store.ts"
import { confirmed, count, printResult } from "./output.ts"
import { Place, type Step, inIndex } from "./engine.ts"
import { exitCode, stop, usage } from "./exit.ts"
import * as options from "./flags.ts"
import { Terminal } from "./terminal.ts"

const decodeDocumentId: Cli.Decode<DocumentId> = (text) =>
  Either.mapLeft(Schema.decodeUnknownEither(DocumentId)(text), () => "1 to 1000 characters without blanks around them")

/** What `delete --json` prints. */
export const DeleteReport = Schema.Struct({
  deleted_documents: Schema.Int,
  deleted_chunks: Schema.Int,
  not_found: Schema.Array(Schema.String)
}).annotations({ identifier: "DeleteReport" })

/**
 * Runs the steps of a command that frees space in the open index, and once more without a journal if the disk has no
 * room for them.
 */
export const freeing = <S extends Step, A>(steps: () => Generator<S, A, never>) =>
  Effect.catchIf(
    inIndex("change", steps),
    (error) => error instanceof StoreUnavailable && isOfFullDisk(error),
    () => inIndex("shrink", steps)
  )

export const deleteDocuments = Cli.define(
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
    flags: {
      id: Cli.repeated("id", {
        value: "ID",
        summary: "Delete the document with this doc_id",
        decode: decodeDocumentId
      }),
      collection: options.collection,
      yes: options.yes
    },
    examples: ["clew delete docs/old.md", "clew delete records.jsonl archive/", "clew delete --id 4983 --yes"],
    details: ["Exits with 1 if something does not exist."]
  },
  function* (flags, sources) {
    const { cwd, globals } = yield* Place
    const { note } = yield* Terminal
    const collection = flags.collection ?? defaultCollection
    const wanted = sources.length + flags.id.length
    if (wanted === 0) return yield* usage("SOURCE or --id is missing")

    const done: Array<readonly [name: string, deleted: Deleted, isFound: boolean]> = []
    let isConfirmed = flags.yes
    yield* freeing(function* () {
      const store = yield* Store
      yield* store.collection(collection)
      const one = [...sources, ...flags.id][0] ?? ""
      const what = wanted === 1 ? one : count(wanted, "document")
      yield* confirmed(`Delete ${what} from collection ${collection}?`, isConfirmed)
      isConfirmed = true

      const bySource = Effect.fnUntraced(function* (source: string) {
        const absolute = path.resolve(cwd, source)
        const deleted = yield* store.deleteSource(collection, source)
        if (deleted.documents > 0 && absolute !== source) return [deleted, true] as const
        const renamed = absolute === source ? deleted : yield* store.deleteSource(collection, absolute)
        // What `clew update` would index again, or miss each time.
        const isRemembered = (yield* store.roots(collection)).some((root) => isBelow(root.path, [absolute]))
        if (renamed.documents > 0 && !isRemembered) return [renamed, true] as const
        // A folder, or a file of many documents: everything from there.
        const sum = add(renamed, yield* pruneAll(store, collection, [absolute]))
        return [sum, isRemembered || sum.documents > 0] as const
      })
      const byId = (id: DocumentId) =>
        store.deleteDocument(collection, id).pipe(
          Effect.map((deleted) => [deleted, true] as const),
          Effect.catchTag("DocumentNotFound", () => Effect.succeed([none, false] as const))
        )
      const steps = [
        ...sources.map((source) => [source, bySource(source)] as const),
        ...flags.id.map((id) => [id, byId(id)] as const)
      ]
      for (const [name, step] of steps.slice(done.length)) done.push([name, ...(yield* step)])
      const missing = done.filter(([, , isFound]) => !isFound).map(([name]) => name)
      const documents = done.reduce((sum, [, deleted]) => sum + deleted.documents, 0)
      const passages = done.reduce((sum, [, deleted]) => sum + deleted.passages, 0)
      // No later process may come to do it.
      const upkeep = yield* UpkeepStore
      yield* upkeep.settle()
      const isGone = documents === 0 || (yield* upkeep.purge())
      yield* printResult(
        DeleteReport,
        { deleted_documents: documents, deleted_chunks: passages, not_found: missing },
        `Deleted ${count(documents, "document")}, ${count(passages, "passage")}`
      )
      if (!isGone) {
        const { purge } = (yield* store.about()).capabilities
        yield* note(
          purge
            ? "clew: some deleted words are still in the index's file; `clew compact` removes them"
            : "clew: when the deleted words leave the server's disks depends on its vacuum or its merges, its backups and its replicas"
        )
      }
      if (!globals.json) {
        for (const name of missing) yield* note(`clew: ${name} is not in collection ${collection}`)
      }
      if (missing.length > 0) yield* stop(exitCode.failed)
    })
  }
)
