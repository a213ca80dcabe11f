import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { vi } from "vitest"
import { DoctorReport } from "../../src/cli/doctor.ts"
import { Sandbox } from "../cli/program/sandbox.ts"
import { ask, options, removed } from "./index.ts"

const files = 6

/** A folder that is indexed in the cluster, and what is asked of the program there. */
const place = Effect.gen(function* () {
  const { prefix, replicas, shards, urls } = options()
  yield* Effect.addFinalizer(() => Effect.promise(() => removed(prefix)))
  const box = yield* Effect.acquireRelease(
    Effect.sync(() => new Sandbox()),
    (made) => Effect.sync(() => made.remove())
  )
  const env = {
    CLEW_STORE_URLS: urls.join(","),
    CLEW_STORE_INDEX_PREFIX: prefix,
    CLEW_STORE_SHARDS: String(shards),
    CLEW_STORE_REPLICAS: String(replicas)
  }
  box.write(
    Object.fromEntries(Array.from({ length: files }, (_, n) => [`docs/${n}.md`, `# Stone ${n}\n\nIt is old.\n`]))
  )
  const clew = (...args: ReadonlyArray<string>) => box.run(args, { env })
  const own = `/${prefix}-v1`
  return {
    box,
    clew,
    own,
    ask: async (method: string, path: string, body?: object) => {
      const answer = await ask(method, `${own}-${path}`, body)
      await ask("POST", `/${prefix}-*/_refresh`)
      return answer
    },
    index: (...args: ReadonlyArray<string>) => clew("index", "docs", "-q", ...args),
    /** Its documents' texts, in the order of their names. */
    texts: async () => {
      const { stderr, stdout } = await clew("export")
      const lines = stdout.split("\n").filter((line) => line.includes('"content"'))
      return { texts: lines.map((line) => (JSON.parse(line) as { readonly content: string }).content).sort(), stderr }
    },
    /** What is not well, an hour later, when no write still runs. */
    doctor: async (...flags: ReadonlyArray<string>) => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 })
      const { stdout } = await clew("doctor", "--json", ...flags).finally(() => vi.useRealTimers())
      const { checks } = JSON.parse(stdout) as typeof DoctorReport.Type
      const bad = checks.filter(({ name, status }) => status !== "ok" && name !== "client")
      return bad.map(({ detail, name, next, status }) => `${status} ${name}: ${detail}; ${next}`)
    }
  }
})

type Place = Effect.Effect.Success<typeof place>

/** How a part of a document is lost, what doctor calls it, and which documents an export still has. */
const losses: ReadonlyArray<readonly [string, (at: Place) => Promise<unknown>, RegExp, number]> = [
  [
    "heads",
    ({ ask }) => ask("POST", "c1-documents/_delete_by_query", { query: { terms: { gen: [2, 5] } } }),
    /^fail records: .*2\.md|^fail records: .*1\.md/,
    files - 2
  ],
  [
    "a passage",
    ({ ask }) => ask("POST", "c1-passages-1/_delete_by_query", { query: { term: { gen: 3 } } }),
    /^fail documents: .*1 document without/,
    files - 1
  ],
  [
    "the index of passages",
    ({ ask }) => ask("DELETE", "c1-passages-1"),
    /^fail indexes: these are gone: .*passages/,
    0
  ],
  [
    "the index of documents",
    ({ ask }) => ask("DELETE", "c1-documents"),
    /^fail indexes: these are gone: .*documents/,
    0
  ]
]

for (const [what, lose, found, left] of losses) {
  it.scopedLive(
    `doctor finds a loss of ${what}, and after --fix the next index reads the files again`,
    () =>
      Effect.flatMap(place, (at) =>
        Effect.promise(async () => {
          await at.index()
          const before = await at.texts()
          assert.lengthOf(before.texts, files)
          await lose(at)
          const told = await at.doctor()
          assert.isTrue(
            told.some((line) => found.test(line)),
            told.join("\n")
          )
          assert.lengthOf((await at.texts()).texts, left)
          await at.doctor("--fix")
          await at.index()
          assert.deepStrictEqual(await at.texts(), before)
          await at.doctor("--fix")
          assert.deepStrictEqual(await at.doctor(), [])
        })
      ),
    120_000
  )
}

it.scopedLive("doctor --fix keeps the passages of a document whose head is an older one, as of a snapshot", () =>
  Effect.flatMap(place, (at) =>
    Effect.promise(async () => {
      await at.index()
      const { hits } = (await at.ask("POST", "c1-documents/_search", { query: { term: { gen: 3 } } })) as unknown as {
        readonly hits: { readonly hits: ReadonlyArray<{ readonly _id: string; readonly _source: object }> }
      }
      const [{ _id, _source }] = hits.hits as [(typeof hits.hits)[0]]
      await at.ask("PUT", `c1-documents/_doc/${encodeURIComponent(_id)}`, { ..._source, gen: 1000 })
      const count = () => at.ask("GET", "c1-passages-1/_count").then(({ count }) => Number(count))
      const before = await count()
      assert.match((await at.doctor("--fix")).join("\n"), /warn orphans: .*only passages are left of these/)
      assert.strictEqual(await count(), before)
      await at.index()
      await at.doctor("--fix")
      assert.deepStrictEqual(await at.doctor(), [])
      assert.strictEqual(await count(), before)
    })
  )
)

it.scopedLive("an export names the documents that lack passages, and has the others", () =>
  Effect.flatMap(place, (at) =>
    Effect.promise(async () => {
      await at.index()
      await at.ask("POST", "c1-passages-1/_delete_by_query", { query: { term: { gen: 3 } } })
      const { stderr, texts } = await at.texts()
      assert.lengthOf(texts, files - 1)
      assert.match(stderr, /Document \S+\.md of collection default is damaged: .*missing/)
    })
  )
)

it.scopedLive("nothing is stored, shown or deleted where the records of the collections are lost", () =>
  Effect.flatMap(place, (at) =>
    Effect.promise(async () => {
      await at.index()
      const before = await at.ask("GET", "c1-documents/_count")
      await at.ask("DELETE", "records")
      for (const args of [
        ["index", "docs"],
        ["query", "stone"],
        ["collections", "create", "beta"]
      ]) {
        const { code, stderr } = await at.clew(...args)
        assert.notStrictEqual(code, 0, args.join(" "))
        assert.match(stderr, /the records of its collections are gone/, args.join(" "))
      }
      assert.match((await at.doctor("--fix")).join("\n"), /fail cluster: .*records of its collections are gone/)
      assert.deepStrictEqual((await at.ask("GET", "c1-documents/_count"))["count"], before["count"])
    })
  )
)

it.scopedLive("a collection whose record is lost stays as it is, whatever others are made and dropped", () =>
  Effect.flatMap(place, (at) =>
    Effect.promise(async () => {
      await at.index()
      const record = await at.ask("GET", "records/_source/c:default")
      for (const id of ["c:default", "counters"]) await at.ask("DELETE", `records/_doc/${id}`)
      assert.strictEqual((await at.clew("collections", "create", "beta")).code, 0)
      assert.include((await at.clew("collections", "--json")).stdout, '"documents":0')
      assert.match((await at.doctor()).join("\n"), /fail indexes: .* no record .*c1-documents/)
      await at.doctor("--fix")
      assert.strictEqual((await at.clew("collections", "drop", "beta", "--yes")).code, 0)
      await at.ask("PUT", "records/_doc/c:default", record)
      assert.lengthOf((await at.texts()).texts, files)
      assert.deepStrictEqual(await at.doctor(), [])
    })
  )
)

for (const [what, lose] of [
  ["lost", (at: Place) => at.ask("DELETE", "records/_doc/counters")],
  [
    "older",
    (at: Place) => at.ask("PUT", "records/_doc/counters", { collections: 1, documents: 2, passages: 2, runs: 0 })
  ]
] as const) {
  it.scopedLive(`no number is given twice where the counters are ${what}`, () =>
    Effect.flatMap(place, (at) =>
      Effect.promise(async () => {
        await at.index()
        const { texts } = await at.texts()
        await lose(at)
        assert.match((await at.doctor()).join("\n"), /fail sequences/)
        await at.doctor("--fix")
        assert.deepStrictEqual(await at.doctor(), [])
        await lose(at)
        at.box.write({ "docs/new.md": "# New\n\nIt is new.\n" })
        assert.strictEqual((await at.index()).code, 0)
        assert.deepStrictEqual((await at.texts()).texts, [...texts, "# New\n\nIt is new.\n"].sort())
        const { aggregations } = (await at.ask("POST", "c1-passages-1/_search", {
          size: 0,
          aggs: { twice: { terms: { field: "id", min_doc_count: 2 } } }
        })) as unknown as { readonly aggregations: { readonly twice: { readonly buckets: ReadonlyArray<unknown> } } }
        assert.deepStrictEqual(aggregations.twice.buckets, [])
        assert.deepStrictEqual(await at.doctor(), [])
      })
    )
  )
}

it.scopedLive("an index is made whole without the template, which opening for writing makes again", () =>
  Effect.flatMap(place, (at) =>
    Effect.promise(async () => {
      await at.index()
      await ask("DELETE", `/_index_template${at.own}`)
      assert.match((await at.doctor()).join("\n"), /warn template/)
      assert.strictEqual((await at.index("--collection", "beta")).code, 0)
      assert.deepStrictEqual(await at.doctor(), [])
    })
  )
)

it.scopedLive("doctor names a closed index and a blocked one, and how to open them", () =>
  Effect.flatMap(place, (at) =>
    Effect.promise(async () => {
      await at.index()
      const passages = `${at.own.slice(1)}-c1-passages-1`
      await at.ask("POST", "c1-passages-1/_close")
      assert.match((await at.doctor()).join("\n"), new RegExp(`fail \\w+: .*open it: POST /${passages}/_open`))
      await at.ask("POST", "c1-passages-1/_open")
      for (const block of ["read", "write", "read_only"]) {
        await at.ask("PUT", "c1-passages-1/_settings", { [`index.blocks.${block}`]: true })
        const told = (await at.doctor()).join("\n")
        assert.match(told, new RegExp(`index\\.blocks\\.${block}`), told)
        assert.notMatch(told, /disk|snapshot/)
        await at.ask("PUT", "c1-passages-1/_settings", { [`index.blocks.${block}`]: null })
      }
      assert.deepStrictEqual(await at.doctor(), [])
    })
  )
)
