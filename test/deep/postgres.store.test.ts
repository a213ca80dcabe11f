import { assert, it } from "@effect/vitest"
import { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import * as path from "node:path"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Filter } from "../../src/model/Filter.ts"
import type { ExportPosition, ExportedDocument, PreparedDocument } from "../../src/model/Stored.ts"
import { documentLanguage } from "../../src/terms/detect.ts"
import type { Whole } from "../../src/Store.ts"
import * as Postgres from "../../src/Store/Postgres.ts"
import { make as makeClient } from "../../src/Store/postgres/client.ts"
import { typed } from "../../src/Store/postgres/errors.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { document, embedder } from "../contracts/Store.ts"
import { built } from "../Store/opened.ts"
import {
  type Server,
  faultsIn,
  fresh,
  hasOwn,
  hasPostgres,
  server,
  serverOfFile,
  tool
} from "../Store/postgres/server.ts"
import { ranked, ranking } from "../ranked.ts"

/** A store on a server, as another process would open it. */
const opened = (options: Postgres.DatabaseOptions) => built(Postgres.layer(options))

const inMemory = built(Sqlite.layerMemory)

const everything = Effect.fnUntraced(function* (store: Whole) {
  const all: Array<ExportedDocument> = []
  let from: ExportPosition | undefined
  do {
    const page = yield* store.exported(defaultCollection, { limit: 7, ...(from === undefined ? {} : { from }) })
    all.push(...page.documents)
    from = page.next
  } while (from !== undefined)
  return all
})

const words = ["river", "moon", "\0", "größe", "_x%", "config.yaml", "\x01", "東京", "a"]

const angles = (seed: number) =>
  Float32Array.from([Math.cos(seed), Math.sin(seed), Math.cos(2 * seed), Math.sin(3 * seed)])

const someDocument = FastCheck.record({
  name: FastCheck.nat(12),
  text: FastCheck.array(FastCheck.constantFrom(...words, "\n"), { minLength: 1, maxLength: 12 }),
  tag: FastCheck.constantFrom("x", "yy", "z".repeat(600)),
  year: FastCheck.constantFrom(-3, -0.5, 0, 2, 10, 1e300),
  seed: FastCheck.nat(50)
}).map(({ name, seed, tag, text, year }) =>
  document(text.join(" "), {
    source: `/docs/${name % 3}/${name}.md`,
    title: name % 2 === 0 ? `Title ${name}` : undefined,
    metadata: { tag, year, list: [tag, name] },
    vectors: Array.from({ length: 13 }, (_, at) => angles(seed + at))
  })
)

const operation = FastCheck.oneof(
  {
    weight: 5,
    arbitrary: FastCheck.array(someDocument, { minLength: 1, maxLength: 4 }).map((documents) => ({ put: documents }))
  },
  { weight: 1, arbitrary: FastCheck.nat(12).map((name) => ({ remove: `/docs/${name % 3}/${name}.md` })) },
  { weight: 1, arbitrary: FastCheck.nat(2).map((folder) => ({ prune: `/docs/${folder}` })) }
)

const filters: ReadonlyArray<Filter> = [
  {},
  { tag: "x" },
  { tag: ["yy", "z".repeat(600)] },
  { tag: { not: "z".repeat(600) } },
  { year: { gte: -0.5, lt: 10 } },
  { source: "/docs/1/*" },
  { source: "/docs/?/1*.md", year: { exists: true } },
  { title: "Title 2" }
]

const oneOfEach = (documents: ReadonlyArray<PreparedDocument>): ReadonlyArray<PreparedDocument> => [
  ...new Map(documents.map((one) => [one.source, one])).values()
]

type Operation = typeof operation extends FastCheck.Arbitrary<infer A> ? A : never

const apply = (store: Whole, one: Operation): Effect.Effect<unknown, unknown> =>
  "put" in one
    ? store.put(defaultCollection, oneOfEach(one.put))
    : "remove" in one
      ? store.deleteSource(defaultCollection, one.remove)
      : store.prune(defaultCollection, [one.prune])

/** How a database goes back to what it was: what keeps that state, and what goes back to it. */
const waysBack: Readonly<
  Record<
    string,
    (
      running: Server,
      options: Postgres.DatabaseOptions
    ) => { readonly keep: Effect.Effect<unknown>; readonly back: Effect.Effect<unknown> }
  >
> = {
  "pg_restore --clean": (running, { schema }) => {
    const dump = path.join(running.folder, "dump")
    return {
      keep: tool("pg_dump", running, `--schema=${schema}`, "-Fc", "-f", dump, "postgres"),
      back: tool("pg_restore", running, "--clean", "--if-exists", "-d", "postgres", dump)
    }
  },
  "pg_restore of the rows alone": (running, { schema }) => {
    const dump = path.join(running.folder, "dump")
    const rows = ["--data-only", "--disable-triggers"]
    const empty = `DO $$ BEGIN EXECUTE (
      SELECT 'TRUNCATE ' || string_agg(format('%I.%I', schemaname, tablename), ', ')
      FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'clew'); END $$`
    const kept = [`--schema=${schema}`, `--exclude-table=${schema}.clew`, "-Fc", "-f", dump]
    return {
      keep: tool("pg_dump", running, ...rows, ...kept, "postgres"),
      back: Effect.zipRight(
        tool("psql", running, "-c", empty, "postgres"),
        tool("pg_restore", running, ...rows, "-d", "postgres", dump)
      )
    }
  },
  "a copy that took the place of its database": (running) => {
    const run = (...statements: ReadonlyArray<string>) =>
      tool("psql", running, "-v", "ON_ERROR_STOP=1", ...statements.flatMap((one) => ["-c", one]), "template1")
    const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'"
    return {
      keep: run(end, "CREATE DATABASE kept TEMPLATE postgres"),
      back: run("DROP DATABASE postgres WITH (FORCE)", "ALTER DATABASE kept RENAME TO postgres")
    }
  },
  "its files of before": (running) => {
    const [data, copy] = [path.join(running.folder, "data"), path.join(running.folder, "copy")]
    const stopped = (script: string) =>
      Effect.sync(() => {
        running.kill()
        execFileSync("sh", ["-c", script, "sh", data, copy])
        running.start()
      })
    return { keep: stopped('cp -a "$1" "$2"'), back: stopped('rm -rf "$1" && mv "$2" "$1"') }
  }
}

if (hasPostgres) {
  const shared = serverOfFile()

  it.scopedLive("answers as SQLite does, whatever happened before", () =>
    Effect.gen(function* () {
      const running = yield* shared
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(FastCheck.array(operation, { minLength: 1, maxLength: 6 }), (operations) =>
            Effect.runPromise(
              Effect.scoped(
                Effect.gen(function* () {
                  const stores = [yield* opened(fresh(running)), yield* inMemory] as const
                  for (const store of stores) yield* store.createCollection(defaultCollection, embedder)
                  for (const one of operations) {
                    const [a, b] = yield* Effect.forEach(stores, (store) => Effect.exit(apply(store, one)))
                    assert.strictEqual(a!._tag, b!._tag)
                  }
                  const [a, b] = yield* Effect.forEach(stores, everything)
                  assert.deepStrictEqual(a, b)
                  for (const filter of filters) {
                    const listed = yield* Effect.forEach(stores, (store) =>
                      store.list(defaultCollection, { limit: 5, filter })
                    )
                    assert.deepStrictEqual(
                      listed[0]!.map(({ docId }) => docId),
                      listed[1]!.map(({ docId }) => docId)
                    )
                    const found = yield* Effect.forEach(stores, (store) =>
                      ranked(store, { keyword: "river config.yaml größe 東京", filter, limit: 20 })
                    )
                    const shown = found.map((hits) =>
                      hits.map(({ document: { docId, metadata }, passage, score }) => [docId, metadata, passage, score])
                    )
                    assert.deepStrictEqual(shown[0], shown[1])
                    const near = yield* Effect.forEach(stores, (store) =>
                      ranked(store, { vector: angles(1), filter, limit: 20 })
                    )
                    assert.strictEqual(near[0]!.length, near[1]!.length)
                    near[0]!.forEach((hit, at) => assert.closeTo(hit.score, near[1]![at]!.score, 1e-6))
                  }
                })
              )
            )
          ),
          { numRuns: 8 }
        )
      )
    })
  )

  it.scopedLive("is one index for several processes", () =>
    Effect.gen(function* () {
      const options = fresh(yield* shared)
      const [a, b] = [yield* opened(options), yield* opened(options)]
      yield* a.createCollection(defaultCollection, embedder)
      for (let round = 0; round < 20; round++) {
        yield* a.put(defaultCollection, [document(`round ${round}`, { source: "/one" })])
        const hits = yield* ranked(b, { keyword: `round ${round}` })
        assert.deepStrictEqual(
          hits.map(({ passage }) => passage.text),
          [`round ${round}`]
        )
      }
      yield* b.deleteSource(defaultCollection, "/one")
      assert.deepStrictEqual(yield* ranked(a, { keyword: "round" }), [])
    })
  )

  it.scopedLive("never shows two versions of a document, nor none, while two processes replace it", () =>
    Effect.gen(function* () {
      const options = fresh(yield* shared)
      const writers = [yield* opened(options), yield* opened(options)]
      const reader = yield* opened({ ...options, mode: "readonly" })
      yield* writers[0]!.createCollection(defaultCollection, embedder)
      const version = (n: number) => document(`stone ${n}\nstone ${n}`, { source: "/one", fingerprint: `${n}` })
      yield* writers[0]!.put(defaultCollection, [version(0)])
      const ended = new Set<Whole>()
      const reading = Effect.gen(function* () {
        do {
          const hits = yield* ranked(reader, { keyword: "stone", vector: angles(1), alpha: 0.4 })
          assert.lengthOf(hits, 2)
          assert.strictEqual(hits[0]!.passage.text, hits[1]!.passage.text)
        } while (ended.size < 2)
      })
      const writing = (writer: Whole, first: number) =>
        Effect.forEach(Array.from({ length: 30 }), (_, n) => writer.put(defaultCollection, [version(first + n)])).pipe(
          Effect.ensuring(Effect.sync(() => ended.add(writer)))
        )
      yield* Effect.all([reading, writing(writers[0]!, 100), writing(writers[1]!, 1000)], { concurrency: 3 })
    })
  )

  it.scopedLive(
    "keeps texts, names and metadata of any length and with any sign",
    () =>
      Effect.gen(function* () {
        const store = yield* opened(fresh(yield* shared))
        const wide = { ...embedder, dimensions: 3072 }
        yield* store.createCollection(defaultCollection, wide)
        const vector = Float32Array.from({ length: 3072 }, (_, at) => Math.sin(at))
        const long = "é".repeat(980)
        const made = document(`zero \0 and one \x01\nnext`, {
          docId: DocumentId.make(`${long}\0`),
          source: `/${long}/\0`,
          title: long,
          metadata: { text: "\0".repeat(3), long: "x".repeat(60_000), "key\0": [1, true, null, "\x01\x01"] },
          vectors: [vector, vector]
        })
        yield* store.put(defaultCollection, [made])
        const got = yield* store.get(defaultCollection, made.docId!)
        assert.strictEqual(got.content, made.content)
        assert.deepStrictEqual(
          [got.docId, got.source, got.title, got.metadata],
          [made.docId, made.source, made.title, made.metadata]
        )
        for (const filter of [
          { text: "\0\0\0" },
          { long: "x".repeat(60_000) },
          { source: `/${long}/*` },
          { source: ["/a*", "/b*", "/c*", "/d*", "/e*", "/é*/\0"] },
          { title: long }
        ]) {
          assert.lengthOf(yield* store.list(defaultCollection, { limit: 9, filter }), 1)
        }
        assert.deepStrictEqual(
          yield* store.list(defaultCollection, { limit: 9, filter: { long: "x".repeat(59_999) } }),
          []
        )
        const [hit] = yield* ranked(store, { vector })
        assert.closeTo(hit!.score, 1, 1e-6)
        // Fifty megabytes.
        const lines = Array.from({ length: 500 }, (_, n) => `${n} ${"lorem ipsum dolor ".repeat(5800)}`)
        yield* store.put(defaultCollection, [
          document(lines.join("\n"), { source: "/big", vectors: lines.map(() => vector) })
        ])
        const [ref] = yield* store.list(defaultCollection, { limit: 1, filter: { source: "/big" } })
        assert.strictEqual((yield* store.get(defaultCollection, ref!.docId)).content.length, lines.join("\n").length)
      }),
    120_000
  )

  it.scopedLive("reads bytes as it wrote them, whatever the user's bytea_output is", () =>
    Effect.gen(function* () {
      const running = yield* shared
      const url = `${running.url}${running.url.includes("?") ? "&" : "?"}options=${encodeURIComponent("-c bytea_output=escape")}`
      const options = { ...fresh(running), url: Redacted.make(url) }
      const store = yield* opened(options)
      yield* store.createCollection(defaultCollection, embedder)
      yield* store.put(defaultCollection, [document("river", { source: "/a", vectors: [angles(1)] })])
      assert.lengthOf(yield* ranked(store, { keyword: "river", vector: angles(1), alpha: 1 }), 1)
      assert.deepStrictEqual(yield* faultsIn(options), [])
    })
  )

  it.scopedLive("sees what the writer before it wrote, whatever the user's default_transaction_isolation is", () =>
    Effect.gen(function* () {
      const running = yield* shared
      const setting = encodeURIComponent("-c default_transaction_isolation=repeatable\\ read")
      const url = `${running.url}${running.url.includes("?") ? "&" : "?"}options=${setting}`
      const options = { ...fresh(running), url: Redacted.make(url) }
      const stores = [yield* opened(options), yield* opened(options)]
      for (let n = 0; n < 5; n++) {
        const name = CollectionName.make(`c${n}`)
        const made = yield* Effect.all(
          stores.map((store) => Effect.either(store.createCollection(name, embedder))),
          { concurrency: 2 }
        )
        const refused = made.flatMap((one) => (one._tag === "Left" ? [one.left._tag] : []))
        assert.deepStrictEqual(refused, ["CollectionExists"])
      }
    })
  )

  it.scopedLive("takes a database whose name has signs that are encoded in an address", () =>
    Effect.gen(function* () {
      const running = yield* shared
      const sql = yield* makeClient({ url: Redacted.make(running.url), pool: 1 })
      const name = "a/b+c@d:e&f=g;h$i,j%2Fk é"
      yield* sql.unsafe(`CREATE DATABASE "${name}"`)
      const url = running.url.replace(/\/postgres(?=\?|$)/, () => `/${encodeURIComponent(name)}`)
      const store = yield* opened({ ...fresh(running), url: Redacted.make(url) })
      const about = yield* store.about()
      assert.strictEqual(about.database, name)
    })
  )

  it.scopedLive("moves to SQLite and back without a difference", () =>
    Effect.gen(function* () {
      const running = yield* shared
      const [first, between, last] = [yield* opened(fresh(running)), yield* inMemory, yield* opened(fresh(running))]
      yield* first.createCollection(defaultCollection, embedder)
      const documents = Array.from({ length: 40 }, (_, n) =>
        document(`text ${n}\nmore of ${n}`, { source: `/d/${n}`, metadata: { n }, vectors: [angles(n), undefined] })
      )
      yield* first.put(defaultCollection, documents)
      let before = yield* everything(first)
      for (const store of [between, last]) {
        yield* store.createCollection(defaultCollection, embedder)
        yield* store.put(
          defaultCollection,
          before.map((one) => ({ ...one, language: documentLanguage(one.passages) }))
        )
        const after = yield* everything(store)
        assert.deepStrictEqual(after, before)
        before = after
      }
    })
  )

  it.scopedLive("brings the tables of schema 2 to the present, and collects the names that they have not", () =>
    Effect.gen(function* () {
      const options = fresh(yield* shared)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* opened(options)
          yield* store.createCollection(defaultCollection, embedder)
          yield* store.put(defaultCollection, [document("said Ada Lovelace", { source: "a", title: "Tides" })])
        })
      )
      const sql = yield* makeClient({ ...options, pool: 1 })
      const named = (name: string) => `"${options.schema}".${name}`
      for (const statement of [
        `DROP TABLE ${named("graph_names")}`,
        `DROP TABLE ${named("graph_recent")}`,
        `DROP INDEX ${named("documents_titled")}`,
        `DROP INDEX ${named("documents_size")}`,
        `DROP INDEX ${named("documents_indexed")}`,
        `CREATE INDEX documents_indexed ON ${named("documents")} (collection_id, indexed_at)`,
        `UPDATE ${named("clew")} SET version = 2`
      ]) {
        yield* sql.unsafe(statement)
      }
      const store = yield* opened(options)
      assert.deepStrictEqual(
        (yield* store.rebuilds()).map(({ kind, total }) => [kind, total]),
        [["graph", 1]]
      )
      const told = (prefix: string) =>
        Effect.map(store.suggest([defaultCollection], prefix, 5), (all) => all.map(({ text }) => text))
      assert.deepStrictEqual([yield* told("ada"), yield* told("tid")], [[], ["Tides"]])
      while ((yield* store.rebuildStep()) !== undefined);
      assert.deepStrictEqual(yield* told("ada"), ["Ada Lovelace"])
      assert.lengthOf(yield* store.list(defaultCollection, { limit: 5, by: "passages", falling: true }), 1)
    })
  )

  if (hasOwn) {
    it.scopedLive("refuses a database that cannot hold every text, but reads an index in it", () =>
      Effect.gen(function* () {
        const running = yield* shared
        const admin = yield* makeClient(fresh(running))
        yield* admin.unsafe("CREATE DATABASE other TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
        const options = fresh({ ...running, url: running.url.replace("/postgres?", "/other?") })
        yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* opened(options)
            yield* store.createCollection(defaultCollection, embedder)
            yield* store.put(defaultCollection, [document("river", { source: "a" })])
          })
        )
        yield* admin.unsafe("UPDATE pg_database SET encoding = pg_char_to_encoding('LATIN1') WHERE datname = 'other'")
        const reason = (given: Postgres.DatabaseOptions) =>
          Effect.map(Effect.flip(Effect.scoped(opened(given))), (error) => error.message)
        for (const mode of ["create", "existing"] as const) {
          assert.match(
            yield* reason({ ...options, mode }),
            /has the encoding LATIN1.* CREATE DATABASE .* ENCODING 'UTF8'/
          )
        }
        assert.match(yield* reason({ ...options, schema: "none" }), /LATIN1/)
        const store = yield* opened({ ...options, mode: "readonly" })
        assert.lengthOf(yield* ranked(store, { keyword: "river" }), 1)
        const error = yield* Effect.flip(store.list(defaultCollection, { limit: 5, filter: { title: "東" } }))
        assert.match(error.message, /its database lacks a character/)
      })
    )
  }

  it.scopedLive("refuses a newer schema, another program's, and a server that is not there, and shows no secret", () =>
    Effect.gen(function* () {
      const running = yield* shared
      const options = fresh(running)
      const reason = (given: Postgres.DatabaseOptions) =>
        Effect.map(Effect.flip(Effect.scoped(opened(given))), (error) => error.message)
      assert.match(yield* reason({ ...options, mode: "existing" }), /There is no index in the schema t/)
      const sql = yield* makeClient(options)
      // As an administrator makes it.
      yield* sql.unsafe(`CREATE SCHEMA "${options.schema}"`)
      for (const mode of ["existing", "readonly"] as const) {
        assert.match(yield* reason({ ...options, mode }), /There is no index in the schema t/)
      }
      yield* Effect.scoped(opened(options))
      yield* sql.unsafe(`UPDATE "${options.schema}".clew SET version = 99`)
      assert.match(yield* reason(options), /made by a newer Clew \(schema 99; .*\): update Clew/)
      yield* sql.unsafe("CREATE SCHEMA theirs")
      yield* sql.unsafe("CREATE TABLE theirs.orders (id int)")
      assert.match(yield* reason({ ...options, schema: "theirs" }), /tables of another program, and was left untouched/)
      // What schema 1 did not have yet is made when it is opened.
      yield* sql.unsafe(`UPDATE "${options.schema}".clew SET version = 1`)
      yield* sql.unsafe(`DROP INDEX "${options.schema}".documents_indexed`)
      assert.match(yield* reason({ ...options, mode: "readonly" }), /made by an older Clew: `clew doctor --fix`/)
      yield* Effect.scoped(opened({ ...options, mode: "existing" }))
      yield* sql.unsafe(`COMMENT ON INDEX "${options.schema}".documents_indexed IS 'there'`)
      // A role that may only read, as docs/postgres.md makes it.
      const reader = `reader_${options.schema}`
      yield* sql.unsafe(`CREATE ROLE ${reader} LOGIN PASSWORD 'read'`)
      const url = Redacted.make(running.url.replace(/\/\/[^@/]*@/, `//${reader}:read@`))
      for (const mode of ["create", "existing", "readonly"] as const) {
        assert.match(yield* reason({ ...options, url, mode }), /the user needs USAGE on it/)
      }
      yield* sql.unsafe(`GRANT USAGE ON SCHEMA "${options.schema}" TO ${reader}`)
      yield* sql.unsafe(`GRANT SELECT ON ALL TABLES IN SCHEMA "${options.schema}" TO ${reader}`)
      assert.match(
        yield* reason({ ...options, url, mode: "existing" }),
        /the user needs DELETE, INSERT, UPDATE on all its tables/
      )
      assert.deepStrictEqual(
        yield* Effect.scoped(
          Effect.flatMap(opened({ ...options, url, mode: "readonly" }), (store) => store.collections)
        ),
        []
      )
      // A server that answers a request for TLS with no.
      const plain = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const listening = createServer((socket) => void socket.on("error", () => {}).end("N"))
          await once(listening.listen(0, "127.0.0.1"), "listening")
          return listening
        }),
        (listening) => Effect.sync(() => listening.close())
      )
      const { port } = plain.address() as AddressInfo
      const unencrypted = Redacted.make(`postgres://ada:hunter2@127.0.0.1:${port}/x?sslmode=require`)
      assert.match(
        yield* reason({ ...options, url: unencrypted }),
        /it has no TLS, which sslmode in store.url asks for/
      )
      const gone = yield* reason({ ...options, url: Redacted.make("postgres://ada:hunter2@127.0.0.1:1/x") })
      assert.match(gone, /cannot be reached \(ECONNREFUSED\)/)
      assert.notInclude(gone, "hunter2")
      const closed = `closed_${options.schema}`
      yield* sql.unsafe(`CREATE DATABASE ${closed} ALLOW_CONNECTIONS false`)
      const shut = Redacted.make(running.url.replace(/\/postgres(?=\?|$)/, `/${closed}`))
      assert.match(yield* reason({ ...options, url: shut }), /accepts no connection \(55000\)/)
      const unknown = Redacted.make("postgres://ada:hunter2@127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/none.pem")
      assert.match(yield* reason({ ...options, url: unknown }), /the file that store.url names .* cannot be read/)
    })
  )

  if (hasOwn) {
    for (const [way, going] of Object.entries(waysBack)) {
      it.scopedLive(
        `answers of what is there when the database has gone back, by ${way}, and ids are given again`,
        () =>
          Effect.gen(function* () {
            const running = yield* server
            const options = fresh(running)
            const { back, keep } = going(running, options)
            const store = yield* opened(options)
            const batch = (kind: string, seed: number, count: number, by = store) =>
              by.put(
                defaultCollection,
                Array.from({ length: count }, (_, n) =>
                  document("river", {
                    source: `/${kind}/${n}`,
                    metadata: { kind: n % 2 === 0 ? kind : "other" },
                    vectors: [angles(seed * n)]
                  })
                )
              )
            const answers = (store: Whole) =>
              Effect.forEach([{}, { kind: { not: "base" } }], (filter) =>
                Effect.map(
                  store.find({
                    ...ranking({ keyword: "river", vector: angles(0.3), alpha: 1, filter, limit: 40 }),
                    facets: ["kind"]
                  }),
                  ({ facets, hits }) => [facets, hits.map(({ document, score }) => [document.source, score])]
                )
              )
            const again = <A, R>(effect: Effect.Effect<A, unknown, R>) => Effect.retry(effect, { times: 20 })
            yield* store.createCollection(defaultCollection, embedder)
            for (let n = 0; n < 5; n++) yield* batch(n === 0 ? "base" : `base${n}`, 0.01 + n, 900)
            yield* keep
            yield* again(batch("lost", 0.7, 300))
            yield* answers(store)
            yield* back
            // Another process gives as many ids again before this one asks, and more.
            yield* again(Effect.flatMap(opened(options), (other) => batch("other", 0.9, 600, other)))
            const first = yield* again(answers(store))
            assert.deepStrictEqual(first, yield* answers(yield* opened(options)))
            assert.include(JSON.stringify(first), "/other/")
            yield* batch("new", 0.8, 300)
            const after = yield* answers(store)
            assert.deepStrictEqual(after, yield* answers(yield* opened(options)))
            assert.include(JSON.stringify(after), "/new/")
          })
      )
    }
  }

  it.effect("says why the server does not answer, and does not call that a bug in Clew", () =>
    Effect.gen(function* () {
      const said = (code: string, severity = "ERROR") =>
        Effect.flip(
          typed("here")(new SqlError({ cause: { code, severity, message: "no" }, message: "Failed to execute" }))
        )
      for (const [code, reason] of [
        ["XX000", /full disk/],
        ["58030", /full disk/],
        ["58P01", /full disk/],
        ["25P03", /idle_in_transaction_session_timeout/]
      ] as const) {
        const error = yield* said(code)
        assert.strictEqual(error._tag, "StoreUnavailable")
        assert.match(error.message, reason)
      }
      assert.match((yield* said("0A000", "FATAL")).message, /accepts no connection \(0A000\)/)
      // A statement that is wrong is ours.
      assert.isTrue(Exit.match(yield* Effect.exit(said("42601")), { onFailure: Cause.isDie, onSuccess: () => false }))
    })
  )

  it.scopedLive("answers again after the server was killed, with everything that was acknowledged", () =>
    Effect.gen(function* () {
      const running = yield* server
      const store = yield* opened(fresh(running))
      const name = CollectionName.make("kept")
      yield* store.createCollection(name, embedder)
      yield* store.put(name, [document("river", { source: "/a" })])
      running.kill()
      const during = yield* Effect.flip(store.put(name, [document("moon", { source: "/b" })]))
      assert.strictEqual(during._tag, "StoreUnavailable")
      running.start()
      const hits = yield* Effect.retry(ranked(store, { collection: name, keyword: "river" }), {
        times: 20
      })
      assert.lengthOf(hits, 1)
      yield* store.put(name, [document("moon", { source: "/b" })])
      assert.deepStrictEqual(
        (yield* store.list(name, { limit: 9 })).map(({ source }) =>
          Option.fromNullable(source).pipe(Option.getOrThrow)
        ),
        ["/a", "/b"]
      )
    })
  )
}
