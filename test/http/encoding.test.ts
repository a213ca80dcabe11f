import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { preferred } from "../../src/http/encoding.ts"
import { start } from "./server.ts"

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
