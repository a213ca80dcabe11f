import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Http from "node:http"
import { form } from "./forms.ts"
import { ask, type Line, type Running, start } from "./server.ts"

const async = { prefer: "respond-async" }

const body = { documents: [{ content: "Bees make honey.", metadata: { source: "bees.md" } }] }

/** The events of a job, until it has ended. */
const followed = (
  port: number,
  path: string,
  headers: Record<string, string> = {},
  begun: Deferred.Deferred<void> = Deferred.unsafeMake(FiberId.none)
) =>
  Effect.async<string>((resume, signal) => {
    const options = { host: "127.0.0.1", port, path, agent: false, signal }
    const request = Http.get({ ...options, headers: { accept: "text/event-stream", ...headers } }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part
        if (text.includes("event: ")) Deferred.unsafeDone(begun, Effect.void)
      })
      response.on("end", () => resume(Effect.succeed(text)))
    })
    request.on("error", (error) => resume(Effect.die(error)))
  }).pipe(
    Effect.map((text) =>
      [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name, data]) => ({ name, job: JSON.parse(data!) }))
    )
  )

const pathOf = ({ headers }: { readonly headers: Http.IncomingHttpHeaders }): string => headers["location"]!

it.scopedLive("answers at once if asked to, and tells what becomes of the work", () =>
  Effect.gen(function* () {
    const { port } = yield* start({
      files: true,
      documents: [{ content: "An old one.", metadata: { source: "old.md" } }]
    })
    const started = yield* ask(port, "POST", "/index", { body, headers: async })
    assert.strictEqual(started.status, 202)
    assert.strictEqual(pathOf(started), `/jobs/${started.json.id}`)
    assert.deepInclude(started.json, { kind: "index", collection: "default" })
    assert.include(["queued", "running"], started.json.state)
    const events = yield* followed(port, pathOf(started))
    assert.strictEqual(events.at(-1)!.name, "done")
    assert.deepInclude(events.at(-1)!.job, { state: "done", progress: { done: 1, total: 1, unit: "documents" } })
    assert.deepInclude(events.at(-1)!.job.result, { indexed: 1, chunks: 1 })
    const known = yield* ask(port, "GET", pathOf(started))
    assert.deepStrictEqual(known.json, events.at(-1)!.job)
    const long = yield* ask(port, "GET", `/jobs/${"x".repeat(101)}`)
    assert.deepStrictEqual([long.status, long.json.detail], [400, "id must be 1 to 100 characters, got 101"])

    for (const [path, given, kind, has] of [
      ["/files", form([{ name: "file", file: "a.md", content: "Kestrels hover." }], async), "files", { indexed: 1 }],
      [
        "/collections/default/reindex",
        { headers: async, body: { force: true } },
        "reindex",
        { collection: "default", changed: true }
      ],
      ["/graph/build", { headers: async }, "graph", { collection: "default", added_chunks: 0 }]
    ] as const) {
      const job = yield* ask(port, "POST", path, given)
      assert.strictEqual(job.status, 202, job.text)
      assert.strictEqual(job.json.kind, kind)
      const [last] = (yield* followed(port, pathOf(job))).slice(-1)
      assert.deepInclude(last!.job.result ?? last!.job, has)
    }
    const { json } = yield* ask(port, "GET", "/jobs")
    assert.deepStrictEqual(
      json.jobs.map(({ kind }: { kind: string }) => kind),
      ["graph", "reindex", "files", "index"]
    )
  })
)

it.scopedLive("does the same work at once without being asked for a job", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ documents: body.documents })
    const reindexed = yield* ask(port, "POST", "/collections/default/reindex")
    assert.deepInclude(reindexed.json, { collection: "default", changed: false }, reindexed.text)
    assert.deepInclude((yield* ask(port, "POST", "/graph/build", { body: { collection: "default" } })).json, {
      chunks: 1
    })
    assert.strictEqual((yield* ask(port, "POST", "/collections/none/reindex")).json._tag, "CollectionNotFound")
    const model = yield* ask(port, "POST", "/graph/build", { body: { model: "x" } })
    assert.match(model.json.detail, /llm: true/)
    assert.deepStrictEqual((yield* ask(port, "GET", "/jobs")).json.jobs, [])
  })
)

it.scopedLive("has nothing to do for the default collection before its first document", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const none = { collection: "default", chunks: 0 }
    const reindexed = yield* ask(port, "POST", "/collections/default/reindex")
    assert.deepInclude(reindexed.json, { ...none, changed: false }, reindexed.text)
    const built = yield* ask(port, "POST", "/graph/build")
    assert.deepInclude(built.json, { ...none, added_chunks: 0, linkage: 0 }, built.text)
    assert.strictEqual((yield* ask(port, "POST", "/graph/build", { body: { collection: "none" } })).status, 404)
  })
)

it.scopedLive("tells why a job failed, as the endpoint would", () =>
  Effect.gen(function* () {
    const faults: { embedder?: string } = {}
    const { port } = yield* start({ faults })
    faults.embedder = "it is down"
    const started = yield* ask(port, "POST", "/index", { body, headers: async })
    const [last] = (yield* followed(port, pathOf(started))).slice(-1)
    assert.strictEqual(last!.name, "failed")
    assert.deepInclude(last!.job.error, { status: 503, _tag: "EmbedderUnavailable" })
    const missing = yield* ask(port, "GET", "/jobs/none")
    assert.deepInclude(missing.json, { status: 404, _tag: "JobNotFound" })
  })
)

/** A server whose writes wait, and a job that has come to one. */
const waitingJob = Effect.gen(function* () {
  const writing = yield* Deferred.make<void>()
  const reached = yield* Deferred.make<void>()
  const left = yield* Deferred.make<void>()
  const log: Array<Line> = []
  const running: Running = yield* start({ writing, reached, left, log })
  const started = yield* ask(running.port, "POST", "/index", { body, headers: async })
  yield* Deferred.await(reached)
  return { ...running, writing, left, log, path: pathOf(started) }
})

it.scopedLive("cancels a job, whose work is interrupted", () =>
  Effect.gen(function* () {
    const { left, log, path, port } = yield* waitingJob
    const following = yield* Effect.fork(followed(port, path))
    const cancelled = yield* ask(port, "DELETE", path)
    assert.deepInclude(cancelled.json, { state: "cancelled" })
    yield* Deferred.await(left)
    assert.strictEqual((yield* Fiber.join(following)).at(-1)!.name, "cancelled")
    assert.deepInclude((yield* ask(port, "DELETE", path)).json, { state: "cancelled" })
    assert.strictEqual((yield* ask(port, "GET", "/documents")).json.documents.length, 0)
    assert.isTrue(log.some(({ message }) => /^write index: .*outcome interrupted/.test(message)))
  })
)

it.scopedLive("cancels a job that waits for others before it has begun", () =>
  Effect.gen(function* () {
    const { port, writing } = yield* waitingJob
    const others = yield* Effect.forEach(Array.from({ length: 5 }), () =>
      ask(port, "POST", "/graph/build", { headers: async })
    )
    const more = yield* Effect.forEach(Array.from({ length: 3 }), () =>
      ask(port, "POST", "/index", { body, headers: async })
    )
    const last = yield* ask(port, "POST", "/index", { body, headers: async })
    assert.strictEqual(last.json.state, "queued")
    assert.deepInclude((yield* ask(port, "DELETE", pathOf(last))).json, { state: "cancelled" })
    yield* Deferred.succeed(writing, undefined)
    for (const each of [...others, ...more]) {
      assert.strictEqual((yield* followed(port, pathOf(each))).at(-1)!.name, "done")
    }
  })
)

it.scopedLive("takes no more jobs than may wait", () =>
  Effect.gen(function* () {
    const { port, writing } = yield* waitingJob
    const answers = yield* Effect.forEach(Array.from({ length: 17 }), () =>
      ask(port, "POST", "/index", { body, headers: async })
    )
    const refused = answers.filter(({ status }) => status === 503)
    assert.strictEqual(refused.length, 2)
    assert.strictEqual(refused[0]!.json._tag, "JobsBusy")
    assert.isDefined(refused[0]!.headers["retry-after"])
    yield* Deferred.succeed(writing, undefined)
  })
)

it.scopedLive("stops its jobs when it stops", () =>
  Effect.gen(function* () {
    const { left, path, port, stop } = yield* waitingJob
    const begun = yield* Deferred.make<void>()
    const following = yield* Effect.fork(followed(port, path, {}, begun))
    yield* Deferred.await(begun)
    yield* stop
    yield* Deferred.await(left)
    assert.strictEqual((yield* Fiber.join(following)).at(-1)!.name, "cancelled")
  })
)

it.scopedLive("keeps a job running when its client goes", () =>
  Effect.gen(function* () {
    const { path, port, writing } = yield* waitingJob
    const gone = yield* Effect.fork(followed(port, path))
    yield* Fiber.interrupt(gone)
    yield* Deferred.succeed(writing, undefined)
    assert.strictEqual((yield* followed(port, path)).at(-1)!.name, "done")
  })
)
