import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { CollectionName } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import { whole } from "../../src/Store.ts"
import * as OpenSearch from "../../src/Store/OpenSearch.ts"
import { document, embedder } from "../contracts/Store.ts"
import { type Cluster, hasTools, startCluster } from "./cluster/start.ts"
import { options } from "./index.ts"

const name = CollectionName.make("c")

const cluster = Effect.acquireRelease(
  Effect.promise(() => startCluster(3, { port: 19_600 })),
  ({ stop }) => Effect.promise(stop)
)

const managed = async ({ nodes }: Cluster) => {
  for (const { url } of nodes) {
    try {
      const answer = await fetch(`${url}/_cat/cluster_manager?format=json`, { signal: AbortSignal.timeout(20_000) })
      const [manager] = (await answer.json()) as ReadonlyArray<{ readonly node: string }>
      if (manager !== undefined) return manager.node
    } catch {
      // Another node knows.
    }
  }
  throw new Error("No node knows the manager")
}

const green = ({ nodes }: Cluster) =>
  Effect.promise(async () => {
    for (let tried = 0; tried < 120; tried++) {
      for (const { url } of nodes) {
        try {
          const asked = `${url}/_cluster/health?wait_for_nodes=>=3&wait_for_status=green&timeout=5s`
          if ((await fetch(asked, { signal: AbortSignal.timeout(10_000) })).ok) return
        } catch {
          // Not yet.
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    throw new Error("The cluster does not become green again")
  })

const isManager = (all: Cluster, wanted: boolean) =>
  Effect.map(
    Effect.promise(() => managed(all)),
    (manager) => all.nodes.find((node) => (node.name === manager) === wanted)!
  )

it.live.skipIf(!hasTools)(
  "what was acknowledged is there, and no half list is told, while nodes are killed, stand still and restart",
  () =>
    Effect.gen(function* () {
      const all = yield* cluster
      const given = options({ urls: all.urls, shards: 3, replicas: 1, refresh: "wait", timeoutMs: 10_000 })
      const store = yield* Effect.provide(whole, yield* Layer.build(OpenSearch.layer(given)))
      yield* store.createCollection(name, embedder)

      const acknowledged = new Set<string>()
      const tried = new Set<string>()
      const kinds = { written: 0, refused: 0, found: 0, unavailable: 0 }
      const state = { done: false }
      const writer = Effect.gen(function* () {
        for (let n = 0; !state.done; n++) {
          const ids = [`d${n}a`, `d${n}b`]
          for (const id of ids) tried.add(id)
          const documents = ids.map((id) =>
            document(`tide of ${id}\ntide again`, { docId: DocumentId.make(id), source: id })
          )
          yield* Effect.matchEffect(store.put(name, documents), {
            onSuccess: () =>
              Effect.sync(() => {
                kinds.written++
                for (const id of ids) acknowledged.add(id)
              }),
            onFailure: (error) =>
              Effect.sync(() => {
                assert.strictEqual(error._tag, "StoreUnavailable")
                kinds.refused++
              })
          })
        }
      })
      const reader = Effect.gen(function* () {
        while (!state.done) {
          const before = acknowledged.size
          yield* Effect.matchEffect(store.filtered([name], {}), {
            onSuccess: (count) =>
              Effect.sync(() => {
                // Two passages each; more than were acknowledged may be there, never fewer.
                assert.isAtLeast(count, 2 * before)
                kinds.found++
              }),
            onFailure: () => Effect.sync(() => void kinds.unavailable++)
          })
          yield* Effect.sleep("100 millis")
        }
      })
      const working = yield* Effect.fork(Effect.all([writer, reader], { concurrency: "unbounded" }))
      const progress = Effect.gen(function* () {
        const before = kinds.written
        while (kinds.written < before + 5) yield* Effect.sleep("200 millis")
      })
      yield* progress

      for (const wanted of [false, true]) {
        const victim = yield* isManager(all, wanted)
        victim.process.kill("SIGKILL")
        yield* progress
        victim.start()
        yield* green(all)
      }

      const still = yield* isManager(all, false)
      still.process.kill("SIGSTOP")
      yield* Effect.sleep("60 seconds")
      still.process.kill("SIGCONT")
      yield* progress
      yield* green(all)

      for (const node of all.nodes) {
        const ended = new Promise((resolve) => node.process.once("exit", resolve))
        node.process.kill("SIGTERM")
        yield* Effect.promise(() => ended)
        node.start()
        yield* green(all)
      }
      yield* progress
      state.done = true
      yield* Fiber.join(working)

      const stored = yield* Effect.forEach([...tried], (id) =>
        Effect.map(Effect.option(store.get(name, DocumentId.make(id))), (found) => ({ id, found }))
      )
      for (const { found, id } of stored) {
        if (found._tag === "Some") assert.lengthOf(found.value.passages, 2)
        else assert.isFalse(acknowledged.has(id), `${id} was acknowledged and is gone`)
      }
      const left = stored.filter(({ found }) => found._tag === "Some").length
      assert.strictEqual(yield* store.filtered([name], {}), 2 * left)
      console.log(JSON.stringify({ ...kinds, acknowledged: acknowledged.size, stored: left }))
      assert.isAbove(kinds.found, 50)
    }).pipe(Effect.scoped),
  1_200_000
)
