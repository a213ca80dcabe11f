import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { serveHttp } from "../../bench/storms.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { built } from "../Store/opened.ts"
import * as Postgres from "../../src/Store/Postgres.ts"
import { make as makeClient } from "../../src/Store/postgres/client.ts"
import { fresh, hasOwn, server, standby, faultsIn } from "../Store/postgres/server.ts"
import { wayTo } from "../Store/postgres/way.ts"
import { temporaryFolder } from "../folder.ts"
import { ranked } from "../ranked.ts"

const bin = path.resolve(import.meta.dirname, "../../dist/bin.js")

const numberIn = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise)
const replacements = numberIn("TEST_REPLACEMENTS", 50)
const kills = numberIn("TEST_KILLS", 6)

const envOf = ({ schema, url }: Postgres.DatabaseOptions, home: string) => ({
  PATH: process.env["PATH"],
  HOME: home,
  CLEW_STORE_URL: Redacted.value(url),
  CLEW_STORE_SCHEMA: schema,
  CLEW_EMBEDDING_BACKEND: "builtin",
  CLEW_RATE_LIMIT_PER_SECOND: "1000000"
})

/** `clew serve` on an index, until the scope ends. */
const serving = (options: Postgres.DatabaseOptions, home: string) =>
  Effect.gen(function* () {
    const { pid, url } = yield* Effect.acquireRelease(
      Effect.sync(() => serveHttp([bin, "serve"], envOf(options, home))),
      ({ pid }) =>
        Effect.sync(() => {
          try {
            process.kill(pid!, "SIGKILL")
          } catch {
            // It was killed before.
          }
        })
    )
    return { url: yield* Effect.promise(() => url), kill: Effect.sync(() => process.kill(pid!, "SIGKILL")) }
  })

const opened = (options: Postgres.DatabaseOptions) => built(Postgres.layer(options))

const answered = (url: string, route: string, body: object) =>
  Effect.promise(() =>
    fetch(`${url}${route}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    }).then(
      async (response) => ({ status: response.status, text: await response.text() }),
      (error: unknown) => ({ status: 0, text: String(error) })
    )
  )

const parts = 6

/** A text of several passages, each of which has the words of the first line. */
const text = (words: string) =>
  Array.from(
    { length: 6 },
    (_, n) => `Stone ${words}, part ${n}. ${"It goes on about rivers and seas. ".repeat(25)}`
  ).join("\n\n")

const wordsOf = (content: string) => new Set(Array.from(content.matchAll(/Stone ([^,]+),/g), ([, words]) => words))

const put = (url: string, id: string, words: string) =>
  answered(url, "/index", { documents: [{ doc_id: id, content: text(words), metadata: { source: id } }] })

if (hasOwn) {
  it.scopedLive(
    `shows readers one version of a document, while two processes replace it ${replacements} times`,
    () =>
      Effect.gen(function* () {
        const options = fresh(yield* server)
        const home = yield* temporaryFolder
        const first = yield* serving(options, home)
        assert.strictEqual((yield* put(first.url, "one", "zero")).status, 200)
        const second = yield* serving(options, home)
        const reader = yield* opened({ ...options, mode: "readonly" })
        const load = { writing: 2, reads: 0 }
        const reading = Effect.gen(function* () {
          while (load.writing > 0) {
            const hits = yield* ranked(reader, { keyword: "stone", limit: 50 })
            const shown = hits.map(({ passage }) => passage.text).join("\n")
            assert.strictEqual(wordsOf(shown).size, 1, shown)
            assert.strictEqual(new Set(shown.match(/part \d/g)).size, parts, shown)
            const found = yield* answered(first.url, "/query", { query: "stone", hybrid: true, top_k: 50 })
            assert.strictEqual(found.status, 200, found.text)
            assert.strictEqual(wordsOf(found.text).size, 1)
            load.reads++
          }
        })
        const writing = ({ url }: { readonly url: string }, name: string) =>
          Effect.gen(function* () {
            for (let n = 0; n < replacements / 2; n++) {
              const { status, text } = yield* put(url, "one", `${name} ${n}`)
              assert.strictEqual(status, 200, text)
            }
          }).pipe(Effect.ensuring(Effect.sync(() => load.writing--)))
        yield* Effect.all([reading, reading, writing(first, "first"), writing(second, "second")], { concurrency: 4 })
        assert.deepStrictEqual(yield* faultsIn(options), [])
        yield* Effect.log(`${load.reads} times read`)
      }),
    { timeout: 3_600_000 }
  )

  it.scopedLive(
    `keeps what it acknowledged, and the rest whole or not at all, when it is killed ${kills} times`,
    () =>
      Effect.gen(function* () {
        const options = fresh(yield* server)
        const home = yield* temporaryFolder
        const store = yield* opened(options)
        const docs = path.join(home, "docs")
        fs.mkdirSync(docs)
        /** Versions that a document may have: the acknowledged one, and those sent after it; empty: it may be missing. */
        const sent = new Map<string, Array<string>>()
        const serves = (round: number) =>
          Effect.scoped(
            Effect.gen(function* () {
              const { kill, url } = yield* serving(options, home)
              const writing = Effect.gen(function* () {
                for (let n = 0; ; n++) {
                  const id = `d${n % 7}`
                  const words = `${round} ${n}`
                  sent.set(id, [...(sent.get(id) ?? [""]), words])
                  const { status } = yield* put(url, id, words)
                  if (status !== 200) return
                  sent.set(id, [words])
                }
              })
              yield* Effect.all([writing, Effect.delay(kill, 50 + Math.random() * 1500)], { concurrency: 2 })
            })
          )
        const indexes = (round: number, isKilled = true) =>
          Effect.gen(function* () {
            for (let n = 0; n < 40; n++) {
              fs.writeFileSync(path.join(docs, `${n}.md`), text(`${round} ${n}`))
            }
            const child = spawn(process.execPath, [bin, "index", docs], {
              env: envOf(options, home),
              stdio: ["ignore", "ignore", "pipe"]
            })
            let said = ""
            child.stderr.on("data", (data) => (said += String(data)))
            const ended = new Promise((resolve) => child.once("close", (code) => resolve(code === 0 ? "" : said)))
            if (isKilled)
              yield* Effect.delay(
                Effect.sync(() => child.kill("SIGKILL")),
                300 + Math.random() * 1500
              )
            return yield* Effect.promise(() => ended)
          })
        const check = Effect.gen(function* () {
          const listed = yield* store.list(defaultCollection, { limit: 1000 })
          for (const [id, versions] of sent) {
            const found = listed.find(({ docId }) => docId === id)
            if (found === undefined) assert.include(versions, "", `${id} is gone`)
          }
          for (const { docId } of listed) {
            const { content } = yield* store.get(defaultCollection, docId)
            const [words, ...others] = wordsOf(content)
            assert.deepStrictEqual(others, [], `${docId} is of two versions`)
            assert.strictEqual(content.trimEnd(), text(words!).trimEnd())
            const versions = sent.get(docId)
            if (versions !== undefined) assert.include(versions, words)
          }
          assert.deepStrictEqual(yield* faultsIn(options), [])
        })
        yield* indexes(0, false)
        for (let round = 1; round <= kills; round++) {
          yield* round % 3 === 0 ? indexes(round) : serves(round)
          if (round % 5 === 0) yield* check
        }
        assert.strictEqual(yield* indexes(kills + 1, false), "")
        yield* check
        assert.lengthOf(
          (yield* store.list(defaultCollection, { limit: 1000 })).filter(({ origin }) => origin !== undefined),
          40
        )
      }),
    { timeout: 3_600_000 }
  )

  it.scopedLive(
    "answers again, with everything it acknowledged, after restarts of the server and after a standby took its place",
    () =>
      Effect.gen(function* () {
        const primary = yield* server
        const spare = yield* standby(primary)
        const admin = yield* makeClient({ url: Redacted.make(primary.url), pool: 1 })
        // What is acknowledged is on both.
        yield* admin.unsafe("ALTER SYSTEM SET synchronous_standby_names = '*'")
        yield* admin.unsafe("SELECT pg_reload_conf()")
        const way = yield* wayTo(primary)
        const options = { ...fresh(primary), url: Redacted.make(way.url) }
        const home = yield* temporaryFolder
        const servers = [yield* serving(options, home), yield* serving(options, home)]
        const acknowledged = new Set<string>()
        const load = { isOver: false, refused: 0 }
        const writing = ({ url }: { readonly url: string }, at: number) =>
          Effect.gen(function* () {
            for (let n = 0; !load.isOver; n++) {
              const id = `${at}-${n}`
              const { status, text } = yield* put(url, id, id)
              if (status === 200) acknowledged.add(id)
              else {
                load.refused++
                assert.strictEqual(status, 503, text)
                assert.notInclude(text, "postgres@")
              }
            }
          })
        const reading = ({ url }: { readonly url: string }) =>
          Effect.gen(function* () {
            while (!load.isOver) {
              const { status, text } = yield* answered(url, "/query", { query: "stone", hybrid: true })
              if (status !== 200) assert.strictEqual(status, 503, text)
            }
          })
        /** Until both servers read and write again, without a restart. */
        const again = Effect.gen(function* () {
          const before = performance.now()
          for (const { url } of servers) {
            for (;;) {
              const asked = yield* answered(url, "/query", { query: "stone", hybrid: true })
              if (asked.status === 200 && (yield* put(url, "again", "again")).status === 200) break
              assert.isBelow(performance.now() - before, 120_000, asked.text)
              yield* Effect.sleep(100)
            }
          }
          yield* Effect.log(`answered again after ${Math.round(performance.now() - before)} ms`)
          yield* Effect.sleep(1000)
        })
        const events = Effect.gen(function* () {
          yield* again
          // A standby serves who only reads.
          const reader = yield* opened({ ...options, url: Redacted.make(spare.url), mode: "readonly" })
          yield* Effect.repeat(reader.list(defaultCollection, { limit: 1, filter: { source: "again" } }), {
            until: (found) => found.length > 0
          })
          for (let round = 0; round < 2; round++) {
            primary.kill()
            yield* Effect.sleep(300)
            primary.start()
            yield* again
          }
          primary.kill()
          spare.promote()
          way.leadTo(spare)
          yield* again
          load.isOver = true
        })
        yield* Effect.all(
          [events, ...servers.flatMap((each, at) => [writing(each, at), reading(each), reading(each)])],
          { concurrency: "unbounded" }
        )
        assert.isAbove(load.refused, 0)
        const left: Postgres.DatabaseOptions = { ...options, url: Redacted.make(spare.url) }
        const store = yield* opened(left)
        for (const id of acknowledged) {
          const [found] = yield* store.list(defaultCollection, { limit: 1, filter: { source: id } })
          assert.strictEqual(found?.docId as string | undefined, id)
        }
        assert.deepStrictEqual(yield* faultsIn(left), [])
        yield* Effect.log(`${acknowledged.size} acknowledged, ${load.refused} refused`)
      }),
    { timeout: 600_000 }
  )
}
