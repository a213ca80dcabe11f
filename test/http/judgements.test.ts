import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { ask, start } from "./server.ts"
import { temporaryFolder } from "../folder.ts"

const documents = [{ content: "The tide rises.\nThe tide falls.", metadata: { source: "sea/tides.md" } }]
const judgement = { query: "tides", source: "tides.md", grade: 3, start_line: 1, end_line: 2 }

it.scopedLive("keeps judgements in a file that clew benchmark reads", () =>
  Effect.gen(function* () {
    const at = yield* temporaryFolder
    const { port } = yield* start({ index: join(at, "index.db") })
    assert.strictEqual((yield* ask(port, "POST", "/index", { body: { documents } })).status, 200)
    assert.deepStrictEqual((yield* ask(port, "GET", "/judgements?query=tides")).json, { judgements: [] })
    const first = yield* ask(port, "POST", "/judgements", { body: { judgements: [{ ...judgement, grade: 0 }] } })
    assert.strictEqual(first.status, 200)
    assert.deepStrictEqual(first.json, { saved: 1 })
    const other = { ...judgement, query: "other" }
    yield* ask(port, "POST", "/judgements", { body: { judgements: [judgement, other] } })
    assert.deepStrictEqual((yield* ask(port, "GET", "/judgements?query=tides")).json, { judgements: [judgement] })
    assert.deepStrictEqual(
      readFileSync(join(at, "index.db.judgements.jsonl"), "utf8"),
      [{ ...judgement, grade: 0 }, judgement, other].map((line) => `${JSON.stringify(line)}\n`).join("")
    )
    for (const [body, path] of [
      [{ judgements: [] }, "judgements"],
      [{ judgements: [{ ...judgement, grade: 101 }] }, "judgements[0].grade"],
      [{ judgements: [{ ...judgement, end_line: undefined }] }, "judgements[0].end_line"],
      [{ judgements: [{ ...judgement, query: " " }] }, "judgements[0].query"],
      [{ judgements: [{ ...judgement, file: "/etc/passwd" }] }, "judgements[0].file"]
    ] as const) {
      const { json, status } = yield* ask(port, "POST", "/judgements", { body })
      assert.strictEqual(status, 400, path)
      assert.strictEqual(json.errors[0].path, path)
    }
  })
)

it.scopedLive(
  "refuses judgements where it is read-only or the key is missing, and says where they cannot be kept",
  () =>
    Effect.gen(function* () {
      const at = yield* temporaryFolder
      const body = { judgements: [judgement] }
      const shut = yield* start({ index: join(at, "index.db"), settings: { server: { read_only: true } } })
      assert.strictEqual((yield* ask(shut.port, "POST", "/judgements", { body })).status, 403)
      const locked = yield* start({ index: join(at, "index.db"), apiKey: "secret" })
      assert.strictEqual((yield* ask(locked.port, "POST", "/judgements", { body })).status, 401)
      assert.strictEqual((yield* ask(locked.port, "GET", "/judgements?query=x")).status, 401)
      const lost = yield* start({ index: "/dev/null/index.db" })
      assert.strictEqual((yield* ask(lost.port, "POST", "/index", { body: { documents } })).status, 200)
      const { json, status } = yield* ask(lost.port, "POST", "/judgements", { body })
      assert.strictEqual(status, 503)
      assert.strictEqual(json._tag, "JudgementsUnusable")
      assert.notInclude(JSON.stringify(json), "/dev/null")
    })
)

it.scopedLive(
  "refuses judgements of documents that are not in the index, unless they were judged while they were",
  () =>
    Effect.gen(function* () {
      const at = yield* temporaryFolder
      const { port } = yield* start({ index: join(at, "index.db") })
      const stored = yield* ask(port, "POST", "/index", { body: { documents } })
      const judge = (...judgements: ReadonlyArray<object>) => ask(port, "POST", "/judgements", { body: { judgements } })
      const nope = { ...judgement, source: "nope" }
      const { json, status } = yield* judge(judgement, nope, { ...judgement, source: "ides.md" })
      assert.strictEqual(status, 400)
      assert.strictEqual(json._tag, "InvalidRequest")
      assert.deepStrictEqual(json.errors, [
        { path: "judgements[1].source", message: 'judgements[1].source: no document "nope" is in the index' },
        { path: "judgements[2].source", message: 'judgements[2].source: no document "ides.md" is in the index' }
      ])
      assert.deepStrictEqual((yield* ask(port, "GET", "/judgements?query=tides")).json, { judgements: [] })
      for (const source of ["sea/tides.md", "tides.md"]) {
        assert.strictEqual((yield* judge({ ...judgement, source })).status, 200)
      }
      const { doc_id: id } = stored.json.documents[0]
      assert.strictEqual((yield* ask(port, "DELETE", `/documents/${id}`)).status, 200)
      assert.strictEqual((yield* judge({ ...judgement, grade: 0 })).status, 200)
      assert.strictEqual((yield* judge(nope)).status, 400)
    })
)
