import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { read } from "../../src/Config/Env.ts"
import { type Key, keys, Settings } from "../../src/Config/Settings.ts"

const example: Readonly<Record<Key["kind"], FastCheck.Arbitrary<unknown>>> = {
  boolean: FastCheck.boolean(),
  number: FastCheck.oneof(FastCheck.integer(), FastCheck.double({ noDefaultInfinity: true, noNaN: true })),
  text: FastCheck.string(),
  list: FastCheck.array(FastCheck.stringMatching(/^[a-z:/]+$/)),
  table: FastCheck.record({ key: FastCheck.stringMatching(/^[a-z_]+$/), half_life_days: FastCheck.nat() }),
  tables: FastCheck.array(FastCheck.record({ name: FastCheck.string(), rights: FastCheck.array(FastCheck.string()) }), {
    minLength: 1
  })
}

const written = (value: unknown): string =>
  typeof value === "object" && !Array.isArray(value)
    ? `{ ${Object.entries(value!)
        .map(([name, each]) => `${name} = ${JSON.stringify(each)}`)
        .join(", ")} }`
    : Array.isArray(value) && value.some((each) => typeof each === "object")
      ? JSON.stringify(value)
      : String(value)

describe("the environment", () => {
  it("has a variable of its own for every key", () => {
    assert.strictEqual(new Set(keys.map((key) => key.variable)).size, keys.length)
    assert.strictEqual(keys.find((key) => key.path === "rate_limit_per_second")?.variable, "CLEW_RATE_LIMIT_PER_SECOND")
    assert.strictEqual(keys.find((key) => key.path === "embedding.batch_size")?.variable, "CLEW_EMBEDDING_BATCH_SIZE")
  })

  it.each(keys.map((key) => [key.path, key] as const))("gives %s the value that it was written from", (_, key) => {
    FastCheck.assert(
      FastCheck.property(example[key.kind], (value) => {
        const { unknown, values } = read({ [key.variable]: written(value), PATH: "/bin" })
        assert.deepStrictEqual(unknown, [])
        assert.deepStrictEqual(values, [{ key, value: Object.is(value, -0) ? 0 : value }])
      })
    )
  })

  it("takes numbers as flags do", () => {
    for (const text of [".5", "0.5", " 5e-1 "]) {
      assert.strictEqual(read({ CLEW_SEARCH_ALPHA: text }).values[0]?.value, 0.5)
    }
  })

  it("takes a table with and without braces and quotes", () => {
    const value = (text: string) => read({ CLEW_SEARCH_RECENCY: text }).values[0]?.value
    for (const text of ['{ key = "date", half_life_days = 90 }', "key=date,half_life_days=90"]) {
      assert.deepStrictEqual(value(text), { key: "date", half_life_days: 90 })
    }
    assert.strictEqual(value("90"), "90")
  })

  it("takes 1 and 0 for true and false", () => {
    const value = (text: string) => read({ CLEW_VECTOR_EXACT: text }).values[0]?.value
    assert.deepStrictEqual(["1", "0", "true", "FALSE"].map(value), [true, false, true, false])
  })

  it("names what means nothing, and leaves other programs' variables alone", () => {
    const env = {
      CLEW_ZOO: "1",
      CLEW_CONFIG: "x",
      CLEW_LLM_API_KEY: "x",
      SERVICE_API_KEY: "x",
      HOME: "x",
      CLEWLESS: "x"
    }
    assert.deepStrictEqual(read(env), { values: [], unknown: ["CLEW_ZOO"] })
  })
})

describe("settings", () => {
  it("come out of encoding as they went in", () => {
    const given = {
      store: { path: "/x.db" },
      search: { alpha: 0.5 },
      vector: { oversample: 8, workers: "auto" as const }
    }
    const settings = Schema.decodeSync(Settings)(given)
    assert.deepStrictEqual(Schema.decodeSync(Settings)(Schema.encodeSync(Settings)(settings)), settings)
    assert.strictEqual(settings.vector.oversample, 8)
    assert.strictEqual(settings.embedding.dimensions, undefined)
  })
})
