import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { once } from "node:events"
import { cpSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { vi } from "vitest"
import { DoctorReport } from "../../src/cli/doctor.ts"
import { TransferReport } from "../../src/cli/transfer.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { whole } from "../../src/Store.ts"
import * as OpenSearch from "../../src/Store/OpenSearch.ts"
import { Sandbox } from "../cli/program/sandbox.ts"
import { hasPostgres, server } from "../Store/postgres/server.ts"
import { ask, options, removed } from "./index.ts"

/** A folder to run the program in, and an index in the cluster for it; both go with the scope. */
const place = Effect.gen(function* () {
  const given = options()
  yield* Effect.addFinalizer(() => Effect.promise(() => removed(given.prefix)))
  const box = yield* Effect.acquireRelease(
    Effect.sync(() => new Sandbox()),
    (made) => Effect.sync(() => made.remove())
  )
  const env = {
    CLEW_STORE_URLS: given.urls.join(","),
    CLEW_STORE_INDEX_PREFIX: given.prefix,
    CLEW_STORE_SHARDS: String(given.shards),
    CLEW_STORE_REPLICAS: String(given.replicas)
  }
  return { box, env, given }
})

it.scopedLive.skipIf(!hasPostgres)(
  "an index goes from a file to PostgreSQL, to a cluster and back to a file with the same export, byte for byte",
  () =>
    Effect.gen(function* () {
      const { box, env } = yield* place
      const { url } = yield* server
      cpSync(fileURLToPath(new URL("../../docs", import.meta.url)), box.path("docs"), { recursive: true })
      const stages = [
        { CLEW_STORE_PATH: box.path("first.db") },
        { CLEW_STORE_URL: url, CLEW_STORE_SCHEMA: `chain_${process.pid}` },
        env,
        { CLEW_STORE_PATH: box.path("last.db") }
      ]
      yield* Effect.promise(async () => {
        await box.ends(0, ["index", "docs", "-q"], undefined, { env: stages[0]! })
        const { stdout: input } = await box.ends(0, ["export"], undefined, { env: stages[0]! })
        assert.isAbove(input.split("\n").length, 20)
        for (const env of stages.slice(1)) {
          const taken = await box.json(TransferReport, ["import", "-"], { env, input })
          assert.isAbove(taken.documents, 10)
          assert.deepStrictEqual([taken.unchanged, taken.skipped], [0, 0])
          assert.isTrue((await box.ends(0, ["export"], undefined, { env })).stdout === input, JSON.stringify(env))
        }
      })
    }),
  600_000
)

const files = 40
const parts = 6

/** A text of several passages, each of which says its version. */
const text = (version: number) =>
  Array.from(
    { length: parts },
    (_, n) => `Stone v${version}, part ${n}. ${"It goes on about rivers. ".repeat(35).trim()}`
  ).join("\n\n")

const versionsIn = (content: string) =>
  new Set(Array.from(content.matchAll(/Stone v(\d+),/g), ([, version]) => version))

it.scopedLive(
  "`clew index` that is killed (kill -9) at ten moments leaves every document whole, and what `clew doctor --fix` removes",
  () =>
    Effect.gen(function* () {
      const { box, env, given } = yield* place
      const write = (version: number) =>
        box.write(Object.fromEntries(Array.from({ length: files }, (_, n) => [`docs/${n}.md`, text(version)])))
      const doctor = async (isLater: boolean, ...flags: ReadonlyArray<string>) => {
        if (isLater) vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 })
        const { stdout } = await box.run(["doctor", "--json", ...flags], { env }).finally(() => vi.useRealTimers())
        const { checks, fixed } = JSON.parse(stdout) as typeof DoctorReport.Type
        return { checks: new Map(checks.map(({ name, status }) => [name, status])), fixed }
      }
      write(0)
      const began = performance.now()
      const first = yield* Effect.promise(() => box.spawn(["index", "docs", "-q"], { env }))
      assert.strictEqual(first.code, 0, first.stderr)
      const wholeMs = performance.now() - began
      const store = yield* Effect.provide(whole, yield* Layer.build(OpenSearch.layer({ ...given, mode: "readonly" })))

      /** Every document and what searches find of it is of one version; gives how many are of each. */
      const checked = Effect.gen(function* () {
        yield* Effect.promise(() => ask("POST", `/${given.prefix}-*/_refresh`))
        const listed = yield* store.list(defaultCollection, { limit: 1000 })
        assert.lengthOf(listed, files)
        const counts: Record<string, number> = {}
        let passages = 0
        for (const { docId } of listed) {
          const found = yield* store.get(defaultCollection, docId)
          const [version = "none", ...others] = versionsIn(found.content)
          assert.deepStrictEqual(others, [], `${docId} is of two versions`)
          assert.strictEqual(found.content, text(Number(version)))
          const words = found.passages.map((passage) => passage.text).join("\n")
          assert.deepStrictEqual(versionsIn(words), new Set([version]))
          assert.strictEqual(new Set(words.match(/part \d/g)).size, parts)
          passages += found.passages.length
          counts[version] = (counts[version] ?? 0) + 1
        }
        assert.strictEqual(yield* store.filtered([defaultCollection], {}), passages)
        return counts
      })

      const seen: Array<Record<string, number>> = []
      const stored = Effect.map(
        Effect.promise(() => ask("GET", `/${given.prefix}-v1-c1-passages-1/_count`)),
        ({ count }) => Number(count)
      )
      const shown = store.filtered([defaultCollection], {})
      let version = 0
      // Some of ten moments are between the passages and the heads, or between these and the removal; else it goes on.
      for (let isLeft = false; version < 10 || (!isLeft && version < 30); isLeft = (yield* stored) > (yield* shown)) {
        write(++version)
        const child = box.start(["index", "docs", "-q"], { env })
        const ended = once(child, "close")
        yield* Effect.promise(() => setTimeout((0.3 + 0.7 * Math.random()) * wholeMs))
        child.kill("SIGKILL")
        yield* Effect.promise(() => ended)
        seen.push(yield* checked)
      }

      // What a write that still runs may have stored is not named.
      const young = yield* Effect.promise(() => doctor(false))
      assert.deepStrictEqual([young.checks.get("documents"), young.checks.get("orphans")], ["ok", undefined])
      const old = yield* Effect.promise(() => doctor(true))
      assert.deepStrictEqual([old.checks.get("documents"), old.checks.get("orphans")], ["ok", "warn"])
      const { fixed } = yield* Effect.promise(() => doctor(true, "--fix"))
      assert.lengthOf(fixed, 1)
      const mended = yield* Effect.promise(() => doctor(true))
      assert.deepStrictEqual([mended.checks.get("documents"), mended.checks.get("orphans")], ["ok", undefined])
      assert.deepStrictEqual(yield* checked, seen.at(-1))
      assert.strictEqual(yield* stored, yield* shown)

      yield* Effect.promise(() => box.ends(0, ["index", "docs", "-q"], undefined, { env }))
      assert.deepStrictEqual(yield* checked, { [version]: files })
      yield* Effect.log(`${JSON.stringify(seen)}; ${fixed.join("; ")}`)
    }),
  600_000
)
