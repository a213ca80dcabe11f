import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  EmbeddingConfig,
  indexName,
  layer,
  layerOf,
  layerServer,
  PipelineConfig,
  SearchConfig,
  ServerConfig
} from "../src/Config.ts"
import { noApiKeys } from "../src/Config/Env.ts"
import { Settings } from "../src/Config/Settings.ts"

const parts = (serviceApiKey?: string) => ({
  settings: Schema.decodeSync(Settings)({ store: { path: "/x.db" }, public_stats: true, server: { port: 1 } }),
  apiKeys: {
    ...noApiKeys,
    service: Option.map(Option.fromNullable(serviceApiKey), Redacted.make),
    embedding: Option.some(Redacted.make("sesame"))
  }
})

describe("the configuration's layers", () => {
  it.effect("give each consumer its section", () =>
    Effect.gen(function* () {
      const embedding = yield* EmbeddingConfig
      assert.strictEqual(embedding.batchSize, 32)
      assert.deepStrictEqual(Option.map(embedding.apiKey, Redacted.value), Option.some("sesame"))
      assert.deepStrictEqual(yield* PipelineConfig, { chunkSize: 192, chunkOverlap: 32 })
    }).pipe(Effect.provide(layer(parts())))
  )

  it("wait no longer than Node's fetch does", () => {
    const decode = (timeout_ms: number) =>
      Schema.decodeEither(Settings)({ store: { path: "/x.db" }, embedding: { timeout_ms }, llm: { timeout_ms } })
    assert.isTrue(Either.isRight(decode(300_000)))
    assert.isTrue(Either.isLeft(decode(300_001)))
  })

  it.effect("refuse an empty or unusable key of the server, to the server alone", () =>
    Effect.gen(function* () {
      for (const key of ["", "  ", "sesame\n", "schlüssel"]) {
        const searching = yield* Effect.provide(SearchConfig, layer(parts(key)))
        assert.strictEqual(searching.topK, 5)
        const error = yield* Effect.flip(Effect.provide(ServerConfig, layerServer(parts(key))))
        assert.match(error.message, /^environment variable SERVICE_API_KEY: /)
      }
    })
  )

  it.effect("give the server its key, and the keys without a section", () =>
    Effect.gen(function* () {
      const server = yield* Effect.provide(ServerConfig, layerServer(parts("open sesame")))
      assert.deepStrictEqual(Option.map(server.apiKey, Redacted.value), Option.some("open sesame"))
      assert.deepInclude(server, { port: 1, host: "127.0.0.1", publicStats: true, rateLimitPerSecond: 100 })
      const open = yield* Effect.provide(ServerConfig, layerServer(parts()))
      assert.deepStrictEqual(open.apiKey, Option.none())
    })
  )

  it("tell of a server without its user and password, however it is reached", () => {
    const told = (url: string) =>
      indexName(Schema.decodeSync(Settings)({ store: { path: "/x.db", url } }).store).replace("PostgreSQL ", "")
    assert.strictEqual(told("postgres://ada:secret@db:5433/search?sslmode=require"), "db:5433/search, schema clew")
    assert.strictEqual(told("postgres://ada:secret@/search?host=/run/pg"), "/run/pg/search, schema clew")
    assert.strictEqual(told("postgres:///search"), "localhost/search, schema clew")
  })

  it("refuse a server's address that cannot be read, such as one with a / in its password, without showing it", () => {
    for (const url of [
      "postgres://ada:secr/et@db/search",
      "postgres://ada@db/x?sslmode=nonsense",
      "postgres://ada@/x?sslmode=Require&host=/run/pg",
      "postgres://ada:secret@[db/search",
      "postgres://ada@db:99999/x"
    ]) {
      const read = Schema.decodeEither(Settings)({ store: { path: "/x.db", url } })
      assert.match(String(Either.getLeft(read).pipe(Option.getOrThrow)), /%2F for \//)
    }
  })

  it.effect("are made of values that a program brings", () =>
    Effect.gen(function* () {
      const config = layerOf({ store: { path: "/x.db" }, pipeline: { chunk_size: 64 } })
      assert.strictEqual((yield* Effect.provide(PipelineConfig, config)).chunkSize, 64)
      const wrong = Layer.build(layerOf({ store: { path: "/x.db" }, pipeline: { chunk_size: 16, chunk_overlap: 16 } }))
      assert.isTrue(Either.isLeft(yield* Effect.scoped(Effect.either(wrong))))
    })
  )
})
