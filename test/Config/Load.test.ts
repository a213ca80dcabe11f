import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { LoadOptions } from "../../src/Config/Load.ts"
import { place, test } from "./place.ts"

test("flag over environment over file over default, key by key", () =>
  Effect.gen(function* () {
    const { at, load } = yield* place({ "./clew.toml": "[server]\nport = 1\nmax_sockets = 1\nmax_body_bytes = 2048" })
    const { origins, settings } = yield* load({
      env: { CLEW_SERVER_PORT: "2", CLEW_SERVER_MAX_SOCKETS: "2" },
      flags: [
        { name: "--port", key: "server.port", value: 3 },
        { name: "--host", key: "server.host", value: undefined }
      ]
    })
    const { host, maxBodyBytes, maxSockets, port } = settings.server
    assert.deepStrictEqual(
      { host, maxBodyBytes, maxSockets, port },
      {
        host: "127.0.0.1",
        maxBodyBytes: 2048,
        maxSockets: 2,
        port: 3
      }
    )
    assert.deepStrictEqual(origins.get("server.port"), { kind: "flag", name: "--port" })
    assert.deepStrictEqual(origins.get("server.max_sockets"), { kind: "environment", name: "CLEW_SERVER_MAX_SOCKETS" })
    assert.deepStrictEqual(origins.get("server.max_body_bytes"), { kind: "file", name: at("./clew.toml") })
    assert.strictEqual(origins.get("server.host"), undefined)
  }))

test("a relative path is relative to the file that says it, else to the working directory", () =>
  Effect.gen(function* () {
    const { at, load } = yield* place({ "~/conf/clew.toml": '[store]\npath = "data/x.db"' })
    const config = at("~/conf/clew.toml")
    const database = (over: Partial<LoadOptions>) => Effect.map(load(over), ({ settings }) => settings.store.path)
    const flag = (value: string) => [{ name: "--db", key: "store.path", value } as const]
    assert.strictEqual(yield* database({ config }), at("~/conf/data/x.db"))
    assert.strictEqual(yield* database({ config, env: { CLEW_STORE_PATH: "data/x.db" } }), at("./data/x.db"))
    assert.strictEqual(yield* database({ config, flags: flag("../x.db") }), at("./../x.db"))
    assert.strictEqual(yield* database({ config, flags: flag("~/x.db") }), at("~/x.db"))
  }))

test("an embedding model is a path where it can be one", () =>
  Effect.gen(function* () {
    const { at, load } = yield* place({})
    const model = (backend: string, model: string) =>
      Effect.map(
        load({ env: { CLEW_EMBEDDING_BACKEND: backend, CLEW_EMBEDDING_MODEL: model } }),
        ({ settings }) => settings.embedding.model
      )
    assert.strictEqual(yield* model("builtin", "models/potion"), at("./models/potion"))
    assert.strictEqual(yield* model("auto", "./models/potion"), at("./models/potion"))
    assert.strictEqual(yield* model("auto", "~/potion"), at("~/potion"))
    assert.strictEqual(yield* model("auto", "user/potion:latest"), "user/potion:latest")
    assert.strictEqual(yield* model("openai", "/models/x/"), "/models/x/")
  }))

test("keys to other services come from the environment, empty ones count as not set", () =>
  Effect.gen(function* () {
    const { load } = yield* place()
    const { apiKeys } = yield* load({ env: { CLEW_EMBEDDING_API_KEY: "sesame", CLEW_LLM_API_KEY: "" } })
    assert.deepStrictEqual(Option.map(apiKeys.embedding, Redacted.value), Option.some("sesame"))
    assert.deepStrictEqual(apiKeys.llm, Option.none())
  }))
