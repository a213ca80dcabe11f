import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { preferred } from "../../src/http/respond.ts"
import { limits } from "../../src/model/Limits.ts"
import { ask, start } from "./server.ts"

const repeated = (unit: string, times: number, separator = ",") =>
  Array.from({ length: times }, () => unit).join(separator)
const keys = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":1`).join(",")
const json = { "content-type": "application/json" }

/** Bodies that once froze the server, ended it, or were answered at length. */
const hostile: ReadonlyArray<readonly [name: string, path: string, body: string]> = [
  ["a million documents", "/index", `{"documents":[${repeated('{"c":1}', 1_000_000)}]}`],
  ["over a thousand documents", "/index", `{"documents":[${repeated('{"c":1}', 1001)}]}`],
  [
    "a thousand wrong documents",
    "/index",
    `{"documents":[${repeated('{"content":1,"metadata":1,"doc_id":1}', 1000)}]}`
  ],
  ["documents of unknown keys", "/index", `{"documents":[${repeated(`{"content":"x",${keys(900)}}`, 200)}]}`],
  ["a document of a million keys", "/index", `{"documents":[{"content":"x","metadata":{${keys(1_000_000)}}}]}`],
  ["many unknown keys", "/index", `{${keys(1000)}}`],
  ["lists in lists", "/index", "[".repeat(8_000_000)],
  ["objects in objects", "/query", '{"a":'.repeat(1_000_000)],
  ["a list for a query", "/query", `{"query":[${repeated("1", 150_000)}]}`],
  ["a filter of lists", "/query", `{"query":"x","filter":{"a":[${repeated("1", 150_000)}]}}`],
  ["filters in filters", "/query", `{"query":"x","filter":{"or":[${repeated('{"or":[{"a":1}]}', 50_000)}]}}`],
  ["a key of a million characters", "/query", `{"query":"x","${"k".repeat(1_000_000)}":1}`],
  ["a filter key of a million characters", "/query", `{"query":"x","filter":{"${"k".repeat(1_000_000)}":[{}]}}`],
  [
    "a metadata key of a million characters",
    "/index",
    `{"documents":[{"content":"x","metadata":{"${"k".repeat(1_000_000)}":"\\ud800"}}]}`
  ],
  ["a very long query", "/query", `{"query":"${"é".repeat(10_000_000)}"}`],
  ["a number of a million digits", "/query", `{"query":"x","alpha":${"1".repeat(1_000_000)}}`]
]

it.scopedLive("refuses bodies that are much work in few words", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    for (const [name, path, body] of hostile) {
      const answer = yield* ask(port, "POST", path, { body, headers: json })
      assert.strictEqual(answer.status, 400, name)
      assert.isBelow(JSON.stringify(answer.json).length, 8000, name)
      assert.isAtMost((answer.json.errors ?? []).length, limits.errors, name)
    }
  })
)

const document = (document: object) => JSON.stringify({ documents: [{ content: "x" }, { content: "y", ...document }] })

const refused: ReadonlyArray<readonly [name: string, path: string, body: string, field: string, says: string]> = [
  ["a choice of values", "/query", '{"query":"x","graph":"yes"}', "graph", 'must be true, false or "auto"'],
  ["half a surrogate in a query", "/query", '{"query":"\\ud800"}', "query", "half a surrogate pair"],
  ["half a surrogate in a text", "/index", '{"documents":[{"content":"a\\udc00"}]}', "documents[0].content", "half"],
  [
    "half a surrogate in an id",
    "/index",
    '{"documents":[{"content":"a","doc_id":"\\ud800"}]}',
    "documents[0].doc_id",
    "half"
  ],
  [
    "half a surrogate in metadata",
    "/index",
    document({ metadata: { a: ["\ud800"] } }),
    "documents[1].metadata.a[0]",
    "half"
  ],
  ["half a surrogate in a filter", "/query", '{"query":"x","filter":{"a":"\\ud800"}}', "filter.a", "half"],
  ["a number for a collection", "/query", '{"query":"x","collection":5}', "collection", "name is 1 to 64 letters"],
  ["a dot for an id", "/index", document({ doc_id: "." }), "documents[1].doc_id", "which no URL can carry"],
  ["two dots for an id", "/index", document({ doc_id: ".." }), "documents[1].doc_id", "which no URL can carry"],
  [
    "a number beyond 2^53",
    "/index",
    '{"documents":[{"content":"x","metadata":{"n":9007199254740993}}]}',
    "documents[0].metadata.n",
    "send it as a string"
  ],
  [
    "a number beyond any",
    "/index",
    '{"documents":[{"content":"x","metadata":{"n":1e400}}]}',
    "documents[0].metadata.n",
    "too large"
  ],
  [
    "metadata of too many keys",
    "/index",
    document({ metadata: { a: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [i, 1])) } }),
    "documents[1].metadata",
    "at most 1000 keys"
  ],
  [
    "too much metadata",
    "/index",
    document({ metadata: { a: "x".repeat(65_536) } }),
    "documents[1].metadata",
    "at most 65536 bytes"
  ],
  [
    "metadata too much in UTF-8",
    "/index",
    document({ metadata: { a: "é".repeat(33_000) } }),
    "documents[1].metadata",
    "at most 65536 bytes"
  ]
]

it.scopedLive("refuses what could not be kept as it is, and says where it stands", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    for (const [name, path, body, field, says] of refused) {
      const answer = yield* ask(port, "POST", path, { body, headers: json })
      assert.strictEqual(answer.status, 400, name)
      assert.deepStrictEqual(
        answer.json.errors.map(({ path }: { path: string }) => path),
        [field],
        name
      )
      assert.include(answer.json.errors[0].message, says, name)
    }
  })
)

it.scopedLive("counts characters, not halves of them", () =>
  Effect.gen(function* () {
    const docId = "😀".repeat(1000)
    const documents = [{ content: "x", doc_id: docId, metadata: { source: "😀".repeat(4096) } }]
    const { port } = yield* start({ documents })
    assert.strictEqual((yield* ask(port, "GET", `/documents/${encodeURIComponent(docId)}`)).status, 200)
    assert.strictEqual((yield* ask(port, "POST", "/query", { body: { query: "😀".repeat(10_000) } })).status, 200)
    assert.strictEqual((yield* ask(port, "POST", "/query", { body: { query: "😀".repeat(10_001) } })).status, 400)
  })
)

it("takes the encoding that the client likes best", () => {
  assert.strictEqual(preferred("gzip, deflate, br"), "br")
  assert.strictEqual(preferred("gzip"), "gzip")
  assert.strictEqual(preferred("br;q=0.5, gzip;q=0.8"), "gzip")
  assert.strictEqual(preferred("*"), "br")
  for (const none of [undefined, "", "identity", "gzip;q=0", "br;q=0, *;q=0", "gzip;q=x"]) {
    assert.isUndefined(preferred(none), none)
  }
})

it.scopedLive("answers others in it, the same bytes, and says so", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ settings: { server: { trust_proxy: true } } })
    const get = (path: string, accepted: string, client = "203.0.113.9") =>
      Effect.promise(async () => {
        const { request } = await import("node:http")
        return await new Promise<{ bytes: Buffer; headers: Record<string, unknown> }>((resolve, reject) => {
          const sent = request(
            {
              host: "127.0.0.1",
              port,
              path,
              agent: false,
              headers: { "accept-encoding": accepted, "x-forwarded-for": client }
            },
            (response) => {
              const chunks: Array<Buffer> = []
              response.on("data", (chunk: Buffer) => chunks.push(chunk))
              response.on("end", () => resolve({ bytes: Buffer.concat(chunks), headers: response.headers }))
            }
          )
          sent.on("error", reject)
          sent.end()
        })
      })
    const plain = yield* get("/openapi.json", "identity")
    assert.isUndefined(plain.headers["content-encoding"])
    assert.include(String(plain.headers["vary"]), "Accept-Encoding")
    for (const [accepted, decode] of [
      ["gzip", gunzipSync],
      ["br", brotliDecompressSync]
    ] as const) {
      const { bytes, headers } = yield* get("/openapi.json", accepted)
      assert.strictEqual(headers["content-encoding"], accepted)
      assert.strictEqual(Number(headers["content-length"]), bytes.length)
      assert.isBelow(bytes.length, plain.bytes.length / 4)
      assert.isTrue(decode(bytes).equals(plain.bytes))
    }
    assert.isUndefined((yield* get("/health", "gzip")).headers["content-encoding"])
    const near = yield* get("/openapi.json", "gzip", "127.0.0.1")
    assert.isUndefined(near.headers["content-encoding"])
    assert.isTrue(near.bytes.equals(plain.bytes))
  })
)
