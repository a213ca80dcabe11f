import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as path from "node:path"
import { whole } from "../../src/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { all } from "../../src/Store/sql/collections.ts"
import { verify } from "../../src/Store/sql/keyword.ts"
import { temporaryFolder } from "../folder.ts"

/** The place of an index in such a folder. */
export const indexFile = Effect.map(temporaryFolder, (folder) => path.join(folder, "index.db"))

/** A store on a file, closed with the scope or before. */
export const opened = (filename: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope, { _tag: "Sequential" })
    const context = yield* Layer.buildWithScope(Sqlite.layer({ filename, mode: "create" }), scope)
    return { store: yield* Effect.provide(whole, context), close: Scope.close(scope, Exit.void) }
  })

/** What the postings of all collections say other than their passages. */
export const disagreements = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(all(sql), (collections) =>
    Effect.map(
      Effect.forEach(collections, ({ id }) => verify(sql, id)),
      (said) => said.flat()
    )
  )
