import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import { rising } from "../model/Damaged.ts"
import { Examiner, type Finding, type Told } from "../upkeep/Examiner.ts"
import { StoreUnavailable } from "../Store.ts"
import * as derived from "./examine/derived.ts"
import { documents } from "./examine/documents.ts"
import { fail, guarded, messageOf, ok, salvage as salvaging, telling, warn } from "./examine/finding.ts"
import { graph } from "./examine/graph.ts"
import { mend } from "./examine/mend.ts"
import { formats, limited, records } from "./examine/bookkeeping.ts"
import { salvage } from "./examine/salvage/salvage.ts"
import { schemaVersion } from "./sqlite/schema.ts"
import * as structure from "./examine/structure.ts"
import { toVector } from "./sqlite/codes.ts"
import * as collections from "./sqlite/collections.ts"
import { client, type DatabaseOptions, open } from "./sqlite/connect.ts"
import { inspect } from "./sqlite/file/inspect.ts"
import { isUnreadable, typed } from "./sqlite/errors.ts"
import * as edges from "./sqlite/graph/edges.ts"
import { headingOf } from "./sqlite/passage.ts"
import * as rebuild from "./sqlite/rebuild.ts"
import { isPresent, leaving, sweepStep } from "./sqlite/sweep.ts"
import { inList, list } from "./sqlite/rows.ts"
import { transaction } from "./sqlite/transaction.ts"
import * as vectors from "./sqlite/vectors.ts"

const rows = { _tag: "Rows" } as const

const looks = { postings: derived.postings, codes: derived.codes }

/** Runs every check in one snapshot, cheap ones first. */
const look = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  filename: string,
  fresh: Effect.Effect.Success<typeof structure.fresh>,
  told: Told
) {
  const findings: Array<Finding> = []
  const add = Effect.map((found: ReadonlyArray<Finding>) => void findings.push(...found))
  const size = (name: string) => (fs.existsSync(name) ? fs.statSync(name).size : 0)
  const wal = size(`${filename}-wal`)
  findings.push(
    wal > 256 * 1024 * 1024
      ? warn(
          "WAL",
          `${Math.round(wal / 2 ** 20)} MB are waiting to be written into the index`,
          "stop long readers, then run `clew doctor --fix`",
          { _tag: "Checkpoint" }
        )
      : ok("WAL", "the WAL is small")
  )
  yield* add(guarded("schema", structure.schema(sql, fresh)))
  yield* told(`pages of ${Math.round(size(filename) / 2 ** 20)} MB`)
  yield* add(guarded("pages", structure.integrity(sql), rows))
  yield* told("records")
  yield* add(guarded("sequences", structure.sequences(sql), rows))
  yield* add(guarded("records", records(sql), rows))
  yield* add(guarded("limits", limited(sql), rows))
  yield* add(guarded("formats", formats(sql)))
  yield* add(guarded("upkeep", structure.upkeep(sql)))
  yield* add(guarded("documents", documents(sql, told), rows))
  const pending = yield* Effect.orElseSucceed(rebuild.pending(sql), () => [])
  const known = yield* Effect.orElseSucceed(collections.all(sql), () => [])
  for (const collection of known) {
    const { id, name } = collection
    for (const kind of ["postings", "codes"] as const) {
      const due = pending.find((one) => one.collection === name && one.kind === kind)
      const cure = { _tag: "Rebuild", kind, collection: id } as const
      yield* due === undefined
        ? add(guarded(kind, looks[kind](sql, collection, told), cure))
        : Effect.sync(() => {
            const text = `collection ${name}: ${due.missing ? "missing" : "made by another version, or incomplete"}`
            findings.push(
              due.missing
                ? fail(kind, text, undefined, cure)
                : warn(kind, text, "run `clew doctor --fix`, or leave it to `clew serve` or `clew mcp`", cure)
            )
          })
    }
    yield* add(guarded("vectors", derived.vectors(sql, collection, told)))
    yield* add(guarded("graph", graph(sql, collection, told), { _tag: "Graph", collection: id }))
  }
  return findings
})

interface PassageRow {
  readonly id: number
  readonly title: string | null
  readonly heading: string
  readonly table_header: string | null
  readonly text: string
}

/** Passages added to the graph in one transaction. */
const graphPage = 500

const columns = "p.id, d.title, p.heading, p.table_header, p.text"
const from = "FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id"

const toPassage = (row: PassageRow) => ({
  id: row.id,
  title: row.title ?? undefined,
  heading: headingOf(row.heading),
  tableHeader: row.table_header ?? undefined,
  text: row.text
})

const make = ({ filename }: Pick<DatabaseOptions, "filename">) => {
  const opened = <A>(mode: "readonly" | "existing", use: (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError>) =>
    Effect.scoped(
      Effect.flatMap(open({ filename, mode }), ({ sql }) =>
        transaction(sql, mode === "readonly" ? "BEGIN" : "BEGIN IMMEDIATE")(use(sql))
      )
    )
  const using = <A>(...args: Parameters<typeof opened<A>>) =>
    typed(filename)(opened(...args)).pipe(
      // While examining an index, a defect means damage, not a bug.
      Effect.catchAllDefect((defect) => Effect.fail(unreadable(defect)))
    )
  const unreadable = (defect: unknown) =>
    new StoreUnavailable({ reason: `The index ${filename}: ${messageOf(defect)}` })
  const read = <A>(use: (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError>) => using("readonly", use)
  const write = <A>(use: (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError>) => using("existing", use)

  /** A byte copy, damaged or not. */
  const copy = Effect.gen(function* () {
    const target = `${filename}.${yield* Clock.currentTimeMillis}.before-fix`
    yield* typed(filename)(
      Effect.scoped(
        Effect.gen(function* () {
          fs.closeSync(fs.openSync(target, "wx", 0o600))
          const sql = yield* client(filename, false)
          yield* sql.backup(target)
        })
      )
    )
    return target
  })

  /** What can be said of an index of an older version before it is brought up to date; undefined: it is of this one. */
  const older = Effect.gen(function* () {
    const { header } = yield* inspect(filename, "readonly")
    if (header === undefined || header.userVersion >= schemaVersion) return undefined
    const sql = yield* client(filename, true)
    return [
      warn(
        "schema",
        `the index was made by an older Clew (schema ${header.userVersion}, this one has ${schemaVersion}); it is not damaged by that`,
        "run `clew info`, which brings it up to date, then `clew doctor` again; or `clew doctor --fix`, which does both",
        { _tag: "Migrate" }
      ),
      ...(yield* guarded("pages", structure.integrity(sql)))
    ]
  })

  /** If interrupted, it leaves passages out of the graph; the next check finds them. */
  const regraph = Effect.fnUntraced(function* (collection: number) {
    for (let after = 0, seen = graphPage; seen === graphPage;) {
      const from: number = after
      const step = yield* write((sql) => edges.extend(sql, collection, from, graphPage))
      after = step.through
      seen = step.seen
    }
  })

  return Examiner.of({
    examine: Effect.fn("Examiner.examine")((listener) =>
      Effect.flatMap(typed(filename)(structure.fresh), (fresh) => {
        const told = telling(listener)
        return Effect.flatMap(Effect.scoped(older), (before) =>
          before === undefined ? opened("readonly", (sql) => look(sql, filename, fresh, told)) : Effect.succeed(before)
        )
      }).pipe(
        Effect.catchIf(isUnreadable, (error) =>
          Effect.succeed([fail("pages", `SQLite says: ${messageOf(error)}`, undefined, salvaging)])
        ),
        typed(filename),
        Effect.catchAllDefect((defect) => Effect.fail(unreadable(defect))),
        Effect.catchAll(({ reason }) =>
          Effect.succeed([fail("file", reason, "see docs/doctor.md; restore a backup, or index into a new file")])
        )
      )
    ),

    migrate: typed(filename)(Effect.asVoid(Effect.scoped(open({ filename, mode: "existing" })))),

    copy,

    salvage: Effect.withSpan(typed(filename)(salvage(filename)), "Examiner.salvage"),

    mend: Effect.fn("Examiner.mend")(function* (cures) {
      // Damage may make this fail, but not the repair.
      const sweep = Effect.ignore(
        Effect.repeat(
          write((sql) => sweepStep(sql)),
          { while: (more) => more }
        )
      )
      yield* sweep
      const done = yield* write((sql) => mend(sql, cures))
      while ((yield* write(rebuild.step)) !== undefined);
      yield* sweep
      const graphs = new Set(cures.flatMap((cure) => (cure._tag === "Graph" ? [cure.collection] : [])))
      // Passages with new numbers are not in the graph yet.
      if (cures.some(({ _tag }) => _tag === "Rows" || _tag === "Replace")) {
        const inGraph = yield* read((sql) =>
          sql.unsafe<{ readonly id: number }>(
            `SELECT id FROM collections AS c
             WHERE ${isPresent} AND EXISTS (SELECT 1 FROM graph_mentions WHERE collection_id = c.id)`
          )
        )
        for (const { id } of inGraph) graphs.add(id)
      }
      for (const collection of graphs) yield* regraph(collection)
      yield* typed(filename)(
        Effect.scoped(
          Effect.flatMap(open({ filename, mode: "existing" }), ({ sql }) => sql`PRAGMA wal_checkpoint(TRUNCATE)`)
        )
      )
      return done
    }),

    collections: read(collections.all),

    embedded: (collection, after, limit) =>
      read((sql) =>
        Effect.map(
          sql.unsafe<PassageRow & { readonly vector: Uint8Array }>(
            `SELECT ${columns}, v.vector FROM vectors_${collection} AS v CROSS JOIN passages AS p ON p.id = v.passage_id
             CROSS JOIN documents AS d ON d.id = p.document_id WHERE v.passage_id > ? ORDER BY v.passage_id LIMIT ?`,
            [after, limit]
          ),
          (found) => rising(found, after, "vectors").map((row) => ({ ...toPassage(row), vector: toVector(row.vector) }))
        )
      ),

    unembedded: (collection, after, limit) =>
      read((sql) =>
        Effect.map(
          sql.unsafe<PassageRow & { readonly known: number }>(
            `SELECT ${columns},
               EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') AS known
             ${from} WHERE d.collection_id = ? AND p.id > ?
               AND NOT EXISTS (SELECT 1 FROM vectors_${collection} WHERE passage_id = p.id) ORDER BY p.id LIMIT ?`,
            [collection, after, limit]
          ),
          (found) => rising(found, after, "passages").map((row) => ({ ...toPassage(row), isKnown: row.known === 1 }))
        )
      ),

    putVectors: (collection, given) =>
      write((sql) =>
        Effect.zipRight(
          sql.unsafe(`DELETE FROM vectorless WHERE generation = 'current' AND passage_id ${inList}`, [
            list(given.map(({ id }) => id))
          ]),
          vectors.insert(sql, collection, given)
        )
      ),

    origins: (after, limit) =>
      read((sql) =>
        Effect.map(
          sql.unsafe<{ readonly origin: string; readonly size: number | null; readonly modified: string | null }>(
            `SELECT d.origin, f.size, CAST(f.modified_ns AS TEXT) AS modified
             FROM (SELECT DISTINCT collection_id, origin FROM documents
                   WHERE origin > ? AND collection_id NOT IN (${leaving}) ORDER BY origin, collection_id LIMIT ?) AS d
               LEFT JOIN files AS f ON f.collection_id = d.collection_id AND f.path = d.origin`,
            [after, limit]
          ),
          (found) =>
            found.map(({ modified, origin, size }) => ({
              origin,
              size: size ?? undefined,
              modified: modified ?? undefined
            }))
        )
      )
  })
}

/** Examines an index in an SQLite file. */
export const layer = (filename: string): Layer.Layer<Examiner, StoreUnavailable> =>
  Layer.sync(Examiner, () => make({ filename }))
