import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as path from "node:path"
import { type Stores, whole } from "../../src/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { all } from "../../src/Store/sql/collections.ts"
import { verify } from "../../src/Store/sql/keyword.ts"
import { temporaryFolder } from "../folder.ts"

/** The place of an index in such a folder. */
export const indexFile = Effect.map(temporaryFolder, (folder) => path.join(folder, "index.db"))

/** The store that a layer makes, closed with the scope. */
export const built = <E>(layer: Layer.Layer<Stores, E>) =>
  Effect.flatMap(Layer.build(layer), (context) => Effect.provide(whole, context))

/** A store on a file, closed with the scope or before. */
export const opened = (
  filename: string,
  {
    layer = Sqlite.layer,
    mode = "create"
  }: Partial<Pick<Sqlite.DatabaseOptions, "mode">> & {
    readonly layer?: typeof Sqlite.layer
  } = {}
) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope, { _tag: "Sequential" })
    const store = yield* Scope.extend(built(layer({ filename, mode })), scope)
    return { store, close: Scope.close(scope, Exit.void) }
  })

/** What the postings of all collections say other than their passages. */
export const disagreements = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(all(sql), (collections) =>
    Effect.map(
      Effect.forEach(collections, ({ id }) => verify(sql, id)),
      (said) => said.flat()
    )
  )
