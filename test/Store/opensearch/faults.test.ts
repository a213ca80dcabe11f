import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { CollectionName } from "../../../src/model/Collection.ts"
import { refused } from "../../../src/Store/opensearch/client.ts"
import { DocumentId } from "../../../src/model/Document.ts"
import { built } from "../opened.ts"
import { embedder } from "../../contracts/Store.ts"
import * as OpenSearch from "../../../src/Store/OpenSearch.ts"
import { certificate, greeting, node, options } from "./node.ts"

const opening = (given: OpenSearch.IndexOptions) =>
  Effect.flip(Effect.scoped(Layer.build(OpenSearch.layer(given)))).pipe(Effect.map(({ reason }) => reason))

const none = { index_templates: [] }

it.scoped("says what answers in the cluster's place, and what it cannot use", () =>
  Effect.gen(function* () {
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [{ version: { number: "8.11.0", build_flavor: "default" } }, "Elasticsearch 8.11.0"],
      [{ version: { distribution: "opensearch", number: "2.9.0" } }, "Clew needs 2.10 or later"],
      [{ version: { distribution: "opensearch", number: "4.0.0" } }, "update Clew"],
      [{ hello: "world" }, "is not OpenSearch"]
    ]
    for (const [told, expected] of cases) {
      const { url } = yield* node(() => [200, told])
      assert.include(yield* opening(options(url)), expected)
    }
  })
)

it.scoped("refuses an index of a newer form, and one that is not there", () =>
  Effect.gen(function* () {
    const newer = yield* node(({ path }) =>
      path === "/" ? [200, greeting] : [200, { index_templates: [{ name: "clew-v7", index_template: { version: 7 } }] }]
    )
    assert.include(yield* opening(options(newer.url)), "made by a newer Clew (format 7; this one knows 1)")
    const empty = yield* node(({ path }) =>
      path === "/" ? [200, greeting] : path.includes("template") ? [200, none] : [404, {}]
    )
    assert.include(yield* opening(options(empty.url)), "There is no index with the prefix clew")
  })
)

it.scoped("names a user that is refused, and shows no password", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* node(() => [401, "Unauthorized"])
    const reason = yield* opening(options(url, { username: "clew", password: Redacted.make("sesame") }))
    assert.include(reason, "CLEW_STORE_PASSWORD")
    assert.notInclude(reason, "sesame")
    assert.strictEqual(asked[0]!.authorization, `Basic ${Buffer.from("clew:sesame").toString("base64")}`)
  })
)

it.scoped("trusts a certificate that is configured, and names the setting for one that is not", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* node(() => [200, { hello: "world" }], true)
    assert.match(yield* opening(options(url)), /\(self-signed certificate.*store\.ca/)
    assert.lengthOf(asked, 0)
    assert.include(yield* opening(options(url, { ca: certificate })), "is not OpenSearch")
    assert.include(yield* opening(options(url, { ca: `${certificate}.gone` })), `${certificate}.gone`)
  })
)

it.scoped("says that a node has no TLS, at once", () =>
  Effect.gen(function* () {
    const { url } = yield* node(() => [200, greeting])
    assert.include(yield* opening(options(url.replace("http:", "https:"))), "has no TLS: name it with http://")
  })
)

/** An open store on a node that answers requests other than those of opening as told. */
const opened = (answer: Parameters<typeof node>[0]) =>
  Effect.gen(function* () {
    const made = yield* node((asked, nth) => {
      if (asked.path === "/") return [200, greeting]
      if (asked.path.includes("template")) return [200, none]
      if (asked.path.startsWith("/clew-v1-*?")) return [200, { "clew-v1-records": {} }]
      return answer(asked, nth)
    })
    return { ...made, store: yield* built(OpenSearch.layer(options(made.url))) }
  })

const name = CollectionName.make("c")

const faults: ReadonlyArray<readonly [status: number, type: string, reason: string, expected: string]> = [
  [403, "security_exception", "no permissions for [indices:data/read/get]", "the user may not do this"],
  [
    429,
    "cluster_block_exception",
    "index [x] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];",
    "a disk of the cluster is nearly full"
  ],
  [403, "cluster_block_exception", "index [x] blocked by: [FORBIDDEN/8/index write (api)];", "index.blocks.write"],
  [403, "cluster_block_exception", "index [x] blocked by: [FORBIDDEN/7/index read (api)];", "index.blocks.read"],
  [
    403,
    "cluster_block_exception",
    "index [x] blocked by: [FORBIDDEN/5/index read-only (api)];",
    "index.blocks.read_only"
  ],
  [
    403,
    "cluster_block_exception",
    "blocked by: [FORBIDDEN/6/cluster read-only (api)];",
    "the whole cluster is blocked (blocked by: [FORBIDDEN/6/cluster read-only (api)];); remove the block cluster.blocks.read_only"
  ],
  [
    403,
    "cluster_block_exception",
    "blocked by: [FORBIDDEN/13/cluster read-only / allow delete (api)];",
    "cluster.blocks.read_only_allow_delete"
  ],
  [
    403,
    "index_create_block_exception",
    "blocked by: [FORBIDDEN/10/cluster create-index blocked (api)];",
    "set cluster.blocks.create_index to null"
  ],
  [
    400,
    "validation_exception",
    "Validation Failed: 1: this action would add [6] total shards, but this cluster currently has [996]/[1000] maximum shards open;",
    "raise cluster.max_shards_per_node"
  ],
  [
    400,
    "index_closed_exception",
    "closed",
    "clew-v1-c1-passages-1 is closed; open it: POST /clew-v1-c1-passages-1/_open"
  ],
  [
    400,
    "query_shard_exception",
    "failed to create query: Determinizing automaton with 6000 states",
    "use fewer * and ?"
  ],
  [
    400,
    "invalid_alias_name_exception",
    "Invalid alias name [clew-c1], an index exists with the same name as the alias",
    "set another store.index_prefix"
  ],
  [400, "mapper_parsing_exception", "failed to parse field [id]", "another mapping than Clew gave it"],
  [
    400,
    "query_shard_exception",
    "failed to create query: Field 'vector' is not knn_vector type.",
    "another mapping than Clew gave it (failed to create query: Field 'vector'"
  ],
  [
    400,
    "illegal_argument_exception",
    "Result window is too large, from + size must be less than or equal to: [1000] but was [10000].",
    "index.max_result_window is lower than Clew needs"
  ],
  [
    400,
    "illegal_argument_exception",
    "index template [clew-v1] has index patterns [clew-v1-*] matching patterns from existing templates [ops] with patterns (ops => [clew*]) that have the same priority [500], multiple index templates may not match",
    "give that one another priority"
  ],
  [500, "null_pointer_exception", "Cannot invoke this", "some of its nodes or shards do not answer, or fail"]
]

for (const [status, type, reason, expected] of faults) {
  it.scoped(`says at once: ${expected}`, () =>
    Effect.gen(function* () {
      const { store } = yield* opened(() => [
        status,
        { status, error: { type, reason, root_cause: [{ type, reason, index: "clew-v1-c1-passages-1" }] } }
      ])
      const failed = yield* Effect.flip(store.lookup(name, []))
      assert.strictEqual(failed._tag, "StoreUnavailable")
      assert.include(failed.message, expected)
    })
  )
}

it.scoped("names a proxy that answers with a page of its own, whatever was asked", () =>
  Effect.gen(function* () {
    const page = "<html>\n<title>Sign in</title></html>"
    const { store } = yield* opened(() => [200, page])
    const asked: ReadonlyArray<Effect.Effect<unknown, { readonly message: string }>> = [
      store.lookup(name, []),
      store.recent(1),
      store.collections,
      store.createCollection(name, embedder)
    ]
    for (const one of asked) {
      const { message } = yield* Effect.flip(one)
      assert.include(message, "another program answers in its place (200): <html> <title>Sign in")
    }
    for (const [status, expected] of [
      [200, "another program answers"],
      [404, "another program answers in its place (404)"],
      [413, "let pass 100 MB"]
    ] as const) {
      const { url } = yield* node(() => [status, page])
      assert.include(yield* opening(options(url)), expected)
    }
  })
)

it("names what a refusal says, and nothing where it says nothing", () => {
  const nothing = { type: "search_phase_execution_exception", reason: "", root_cause: [] }
  const caused_by = { type: "x", reason: "Search rejected due to missing shards" }
  assert.strictEqual(refused(503, { ...nothing, caused_by }).reason, caused_by.reason)
  assert.strictEqual(refused(503, nothing).reason, nothing.type)
})

it.scoped("sends again what the cluster has no room for, and gives up after half a minute", () =>
  Effect.gen(function* () {
    const record = {
      found: true,
      _source: { kind: "collection", record: { id: 1, name, embedder: {}, documents: "d", passages: "p" } }
    }
    const busy = [429, { error: { type: "rejected_execution_exception", reason: "queue full" } }] as const
    let refusals = 3
    const { store } = yield* opened(() => (refusals-- > 0 ? busy : [200, record]))
    const found = yield* Effect.fork(store.lookup(name, []))
    yield* advancing(found)
    assert.deepStrictEqual(yield* Fiber.join(found), [])

    const never = yield* opened(() => busy)
    const failed = yield* Effect.fork(Effect.flip(never.store.lookup(name, [])))
    yield* advancing(failed)
    assert.include((yield* Fiber.join(failed)).message, "it is overloaded")
    assert.isBelow(never.asked.length, 60)
  })
)

it.scoped("asks again what a node left or had no room for, whichever request it was a part of", () =>
  Effect.gen(function* () {
    const found = {
      _shards: { failed: 0 },
      hits: { hits: [], total: { value: 0 } },
      aggregations: { passages: { value: 0 } }
    }
    const record = { id: 1, name, embedder, created_at: 0, generation: 1 }
    const refusals = [
      {
        status: 500,
        error: { type: "search_phase_execution_exception", reason: "[n0][127.0.0.1:9300] Node not connected" }
      },
      { status: 500, error: { type: "node_disconnected_exception", reason: "[n1][127.0.0.1:9301] disconnected" } },
      {
        status: 404,
        error: { type: "search_context_missing_exception", reason: "No search context found for id [7]" }
      },
      { status: 503, error: { type: "no_shard_available_action_exception", reason: "No shard available" } },
      { status: 429, error: { type: "rejected_execution_exception", reason: "rejected execution of a get" } },
      { status: 429, error: { type: "circuit_breaking_exception", reason: "[parent] Data too large" } }
    ]
    for (const refusal of refusals) {
      let failures = 0
      const { asked, store } = yield* opened(({ path }) => {
        const isRefused = /search|mget/.test(path) && failures-- > 0
        if (path.includes("_mget")) return [200, { docs: [isRefused ? refusal : { found: false }] }]
        if (path.includes("_msearch")) return [200, { responses: [isRefused ? refusal : found] }]
        if (path.includes("_doc")) return [200, { found: true, _source: { record } }]
        return isRefused ? [refusal.status, refusal] : [200, found]
      })
      const asks: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown>]> = [
        ["_search", store.collections],
        ["_msearch", store.collection(name)],
        ["_mget", store.lookup(name, [{ derivedId: DocumentId.make("d") }])]
      ]
      for (const [path, ask] of asks) {
        failures = 2
        asked.length = 0
        const fiber = yield* Effect.fork(ask)
        yield* advancing(fiber)
        yield* Fiber.join(fiber)
        assert.lengthOf(
          asked.filter((one) => one.path.includes(path)),
          3,
          `${path} ${refusal.error.type}`
        )
      }
    }
  })
)

/** Lets time pass between answers, until a fiber is done. */
const advancing = (fiber: Fiber.Fiber<unknown, unknown>) =>
  Effect.gen(function* () {
    while ((yield* Fiber.poll(fiber))._tag === "None") {
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
      yield* TestClock.adjust("500 millis")
    }
  })

it.scoped("reads for a user that may only read, who may make nothing found", () =>
  Effect.gen(function* () {
    const error = { type: "security_exception", reason: "no permissions for [indices:admin/refresh]" }
    const { asked, store } = yield* opened(({ path }) =>
      path.includes("_refresh") ? [403, { error }] : [200, { _shards: { failed: 0 }, hits: { hits: [] } }]
    )
    assert.deepStrictEqual(yield* store.collections, [])
    assert.isTrue(asked.some(({ path }) => path.includes("_refresh")))
  })
)

it.scoped("never takes a part of the shards for the whole", () =>
  Effect.gen(function* () {
    const half = { took: 1, timed_out: false, _shards: { total: 3, successful: 2, failed: 1 }, hits: { hits: [] } }
    const { asked, store } = yield* opened(({ path }) => [200, path.includes("_search") ? half : {}])
    const failed = yield* Effect.fork(Effect.flip(store.recent(1)))
    yield* advancing(failed)
    assert.include((yield* Fiber.join(failed)).message, "some of its nodes or shards do not answer")
    assert.isTrue(
      asked
        .filter(({ path }) => path.includes("_search"))
        .every(({ path }) => path.includes("allow_partial_search_results=false"))
    )
  })
)
