import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { place, problems, test } from "./place.ts"

const fileProblem = (toml: string) => problems({ "./clew.toml": toml })

test("a value of the wrong type or out of range: file, key, what was found, what is allowed", () =>
  Effect.gen(function* () {
    const cases: ReadonlyArray<readonly [toml: string, message: string]> = [
      ["public_stats = 1", "public_stats is 1, but must be true or false"],
      ["rate_limit_per_second = 0", "rate_limit_per_second is 0, but must be a whole number from 1 to 1000000"],
      ["[search]\ntop_k = 101", "search.top_k is 101, but must be a whole number from 1 to 100"],
      ["[search]\ntop_k = 1.5", "search.top_k is 1.5, but must be a whole number from 1 to 100"],
      ["[search]\nalpha = nan", "search.alpha is NaN, but must be a number from 0 to 1"],
      ["[llm]\ntemperature = inf", "llm.temperature is Infinity, but must be a number from 0 to 2"],
      ['[server]\nport = "80"', 'server.port is "80", but must be a whole number from 0 to 65535'],
      [
        "[server]\nport = 9223372036854775807",
        "server.port is 9223372036854775807, but must be a whole number from 0 to 65535"
      ],
      [
        "[server]\nport = 1979-05-27T07:32:00Z",
        "server.port is 1979-05-27T07:32:00.000Z, but must be a whole number from 0 to 65535"
      ],
      ['[vector]\nworkers = "many"', 'vector.workers is "many", but must be "auto" or a whole number from 1 to 256'],
      [
        '[log]\nlevel = "loud"',
        'log.level is "loud", but must be one of all, trace, debug, info, warning, error, fatal, none'
      ],
      [
        '[search]\nrecency = { key = "date", half_life = 3 }',
        'search.recency is { key = "date", half_life = 3 }, but must be a table like { key = "date", half_life_days = 90 }, of 0.01 to 100000 days'
      ],
      [
        "[search]\nrecency = 3",
        'search.recency is 3, but must be a table like { key = "date", half_life_days = 90 }, of 0.01 to 100000 days'
      ],
      [
        '[search.recency]\nkey = "date"\nhalf_life_days = 0',
        'search.recency is { key = "date", half_life_days = 0 }, but must be a table like { key = "date", half_life_days = 90 }, of 0.01 to 100000 days'
      ],
      ["embedding = 3", "embedding is 3, but must be a section, written [embedding]"],
      ["[[embedding]]", "embedding is [{}], but must be a section, written [embedding]"],
      ["[server.port]", "server.port is a table, but must be a whole number from 0 to 65535"],
      ['[store]\npath = "~someone/x.db"', 'store.path is "~someone/x.db", but must be a path (~/ is your home folder)'],
      [
        "[pipeline]\nchunk_size = 32",
        "pipeline.chunk_overlap must be less than pipeline.chunk_size (32 is not less than 32)"
      ],
      [
        "[pipeline]\nchunk_overlap = 300",
        "pipeline.chunk_overlap is 300, but must be less than pipeline.chunk_size (300 is not less than 192)"
      ]
    ]
    for (const [toml, message] of cases) assert.deepStrictEqual(yield* fileProblem(toml), [`./clew.toml: ${message}`])
  }))

test("says which key of the server is wrong, and shows none", () =>
  Effect.gen(function* () {
    const hash = `sha256:${"a".repeat(64)}`
    const before =
      "server.keys is not shown, but must be tables [[server.keys]] with name, hash, rights and perhaps collections, as `clew keys new` prints them; "
    for (const [keys, says] of [
      [`[{ name = "ci", hash = "${hash}" }]`, "the key ci needs rights, a list of read, write, admin"],
      [`[{ name = "ci", hash = "secret", rights = ["read"] }]`, "the key ci needs a hash like"],
      [`[{ name = "c i", hash = "${hash}", rights = ["read"] }]`, "the 1. key needs a name of"],
      [`[{ name = "ci", hash = "${hash}", rights = ["read"], collections = [] }]`, "the key ci has collections that"],
      [`[{ name = "ci", hash = "${hash}", rights = ["read"], key = "x" }]`, "the key ci may have name, hash,"]
    ] as const) {
      const { load } = yield* place({ "./own.toml": `[server]\nkeys = ${keys}` })
      const { message } = yield* Effect.flip(load({ config: "own.toml" }))
      assert.include(message, before + says)
      assert.notInclude(message, "secret")
    }
    assert.deepStrictEqual(yield* problems({ "./own.toml": '[server]\nkeys = "secret"' }, { config: "own.toml" }), [
      `./own.toml: ${before.slice(0, -2)}`
    ])
    const { load } = yield* place({ "./clew.toml": `[[server.keys]]\nname = "a"\nhash = "${hash}"\nrights = ["read"]` })
    assert.include((yield* Effect.flip(load({}))).message, "server.keys lets others in; a file that was only found")
    const { settings } = yield* load({ config: "clew.toml" })
    assert.deepStrictEqual(settings.server.keys, [{ name: "a", hash, rights: ["read"] }])
  }))

test("origins are origins, not pages", () =>
  Effect.gen(function* () {
    const { load } = yield* place()
    const origins = (value: string) =>
      Effect.map(load({ env: { CLEW_SERVER_CORS_ORIGINS: value } }), ({ settings }) => settings.server.corsOrigins)
    assert.deepStrictEqual(yield* origins("https://a.example, http://localhost:3000"), [
      "https://a.example",
      "http://localhost:3000"
    ])
    assert.deepStrictEqual(yield* origins(""), [])
    for (const wrong of ["https://a.example/", "a.example", "ftp://a.example", "https://a.example/page"]) {
      yield* Effect.flip(origins(wrong))
    }
  }))

test("an address with a password or a token is refused, and those are not repeated", () =>
  Effect.gen(function* () {
    for (const [address, shown] of [
      ["http://me:sesame@there.example", "http://…@there.example"],
      ["http://me:sesame@there.example/v1?key=sesame", "http://…@there.example/v1?…"],
      ["http://there.example/v1?key=sesame#end", "http://there.example/v1?…"],
      ["http://there.example/v1#sesame", "http://there.example/v1#…"],
      ["http://me:ses?ame@there.example", "http://…"],
      ["http://there.example?key=ses@sesame", "http://…"]
    ] as const) {
      const [line = ""] = yield* problems({}, { env: { CLEW_TELEMETRY_OTLP_ENDPOINT: address } })
      const where = "environment variable CLEW_TELEMETRY_OTLP_ENDPOINT: telemetry.otlp_endpoint"
      assert.include(line, `${where} is "${shown}", but must be`)
    }
  }))

test("an unknown key names the nearest one", () =>
  Effect.gen(function* () {
    const cases: ReadonlyArray<readonly [toml: string, message: string]> = [
      ["[pipeline]\nchunk_sizes = 3", "unknown key pipeline.chunk_sizes; did you mean pipeline.chunk_size?"],
      ["[pipeline]\nchunkSize = 3", "unknown key pipeline.chunkSize; did you mean pipeline.chunk_size?"],
      ["chunk_size = 3", "unknown key chunk_size; did you mean pipeline.chunk_size?"],
      ["chunk-overlap = 3", "unknown key chunk-overlap; did you mean pipeline.chunk_overlap?"],
      ["url = 3", "unknown key url; did you mean embedding.url or llm.url or rerank.url?"],
      ["[server]\npublic_stats = true", "unknown key server.public_stats; did you mean public_stats?"],
      ["[embedding]\ntemperature = 1", "unknown key embedding.temperature; did you mean llm.temperature?"],
      ["[embeddings]\nurl = 3", "unknown section [embeddings]; did you mean [embedding]?"],
      ["[llm]\nmax_token = 3", "unknown key llm.max_token; did you mean llm.max_tokens?"],
      [
        "[store]\nzzzzzzzzz = 3",
        "unknown key store.zzzzzzzzz; [store] has backend, url, schema, pool, urls, index_prefix, username, ca, shards, replicas, refresh, timeout_ms, path, judgements, synchronous"
      ],
      ["zzzzzzzzz = 3", "unknown key zzzzzzzzz; the keys outside a section are public_stats, rate_limit_per_second"],
      [
        "[__proto__]\nx = 1",
        "unknown section [__proto__]; the sections are embedding, llm, rerank, pipeline, search, graph, vector, store, server, mcp, limits, watch, telemetry, log"
      ]
    ]
    for (const [toml, message] of cases) assert.deepStrictEqual(yield* fileProblem(toml), [`./clew.toml: ${message}`])
  }))

test("a secret in a file is refused, not repeated, and sent to its variable", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* fileProblem('[embedding]\napi_key = "sesame"'), [
      "./clew.toml: embedding.api_key: keys are not read from a file; set the environment variable CLEW_EMBEDDING_API_KEY"
    ])
    assert.deepStrictEqual(yield* fileProblem('service_api_key = "sesame"'), [
      "./clew.toml: service_api_key: keys are not read from a file; set the environment variable SERVICE_API_KEY"
    ])
  }))

test("TOML that is none names file, line and column", () =>
  Effect.gen(function* () {
    const secret = 'url = "postgres://clew:sesame@db/clew"\nheaders = ["api-key: sesame"]\n'
    const [line = "", ...more] = yield* fileProblem(`[store]\n${secret}top_k = = 3\n`)
    assert.match(line, /^\.\/clew\.toml:4:9: /)
    assert.notInclude([line, ...more].join("\n"), "sesame")
    assert.match((yield* fileProblem("[search]\n[search]\n"))[0] ?? "", /^\.\/clew\.toml:2:2: /)
    assert.deepStrictEqual(yield* problems({ "./clew.toml": Uint8Array.of(0x23, 0xff, 0xfe) }), [
      "./clew.toml: not valid UTF-8, which TOML requires"
    ])
  }))

test("unknown and wrong variables and flags are named too", () =>
  Effect.gen(function* () {
    const cases: ReadonlyArray<readonly [env: Record<string, string>, message: string]> = [
      [{ CLEW_SERVER_PROT: "1" }, "CLEW_SERVER_PROT: unknown; did you mean CLEW_SERVER_PORT?"],
      [{ CLEW_CHUNK_SIZE: "1" }, "CLEW_CHUNK_SIZE: unknown; did you mean CLEW_PIPELINE_CHUNK_SIZE?"],
      [{ CLEW_SERVICE_API_KEY: "1" }, "CLEW_SERVICE_API_KEY: unknown; did you mean SERVICE_API_KEY?"],
      [{ CLEW_QQQQ: "1" }, "CLEW_QQQQ: unknown; a key is set by CLEW_<SECTION>_<KEY>, like CLEW_PIPELINE_CHUNK_SIZE"],
      [
        { CLEW_SERVER_PORT: "80a" },
        'CLEW_SERVER_PORT: server.port is "80a", but must be a whole number from 0 to 65535'
      ],
      [{ CLEW_SERVER_PORT: "" }, 'CLEW_SERVER_PORT: server.port is "", but must be a whole number from 0 to 65535'],
      [
        { CLEW_SERVER_PORT: "0x50" },
        'CLEW_SERVER_PORT: server.port is "0x50", but must be a whole number from 0 to 65535'
      ],
      [{ CLEW_VECTOR_EXACT: "yes" }, 'CLEW_VECTOR_EXACT: vector.exact is "yes", but must be true or false']
    ]
    for (const [env, message] of cases) {
      assert.deepStrictEqual(yield* problems({}, { env }), [`environment variable ${message}`])
    }
    assert.deepStrictEqual(yield* problems({}, { flags: [{ name: "--port", key: "server.port", value: 70_000 }] }), [
      "flag --port: server.port is 70000, but must be a whole number from 0 to 65535"
    ])
  }))

test("an address of PostgreSQL has one host, and is not shown", () =>
  Effect.gen(function* () {
    for (const hosts of ["one,two", "one:5432,two:5433", "localhost"]) {
      const url = `postgres://clew:sesame@${hosts}/clew?target_session_attrs=read-write&host=/run,/tmp`
      const [line = ""] = yield* problems({}, { env: { CLEW_STORE_URL: url } })
      assert.include(line, "store.url is not shown, but must be an address of one host like postgres://")
      assert.notInclude(line, "sesame")
    }
  }))

test("every problem is listed, a broken file's neighbours included", () =>
  Effect.gen(function* () {
    const lines = yield* problems(
      { "./clew.toml": "[server]\nport = -1\nhots = 2\n[search]\ntop_k = 0" },
      { env: { CLEW_LOG_LEVEL: "x", CLEW_FOO_BAR_BAZ: "x" } }
    )
    const where = lines.map((line) => line.split(" ").slice(0, 3).join(" "))
    assert.sameMembers(where, [
      "./clew.toml: server.port is",
      "./clew.toml: unknown key",
      "./clew.toml: search.top_k is",
      "environment variable CLEW_LOG_LEVEL:",
      "environment variable CLEW_FOO_BAR_BAZ:"
    ])
    const broken = yield* problems({ "./clew.toml": "[" }, { env: { CLEW_LOG_LEVEL: "x" } })
    assert.match(broken[0] ?? "", /^\.\/clew\.toml:1:\d/)
    assert.match(broken.at(-1) ?? "", /^environment variable CLEW_LOG_LEVEL: /)
  }))

test("without a home folder the database needs a place", () =>
  Effect.gen(function* () {
    const { load } = yield* place()
    const error = yield* Effect.flip(load({ env: { HOME: undefined } }))
    assert.include(error.message, "--db FILE")
    const { settings } = yield* load({ env: { HOME: undefined, CLEW_STORE_PATH: "/x.db" } })
    assert.strictEqual(settings.store.path, "/x.db")
  }))

test("a value that another one overrides is looked at all the same, on its own", () =>
  Effect.gen(function* () {
    const flags = [
      { name: "--db", key: "store.path", value: "c.db" },
      { name: "--db", key: "store.backend", value: "sqlite" }
    ] as const
    const env = { CLEW_STORE_BACKEND: "bogus", CLEW_SEARCH_TOP_K: "5" }
    const toml = "[store]\nbackend = 5\npath = 6\n[search]\ntop_k = 1000"
    const allowed = "one of auto, sqlite, postgres, opensearch"
    assert.sameMembers(yield* problems({ "./own.toml": toml }, { config: "own.toml", env, flags }), [
      `./own.toml: store.backend is 5, but must be ${allowed}`,
      "./own.toml: store.path is 6, but must be a path (~/ is your home folder)",
      "./own.toml: search.top_k is 1000, but must be a whole number from 1 to 100",
      `environment variable CLEW_STORE_BACKEND: store.backend is "bogus", but must be ${allowed}`
    ])
    // Alone it would lack the path of its model, which the other one does not need.
    const { load } = yield* place({
      "./own.toml": '[embedding]\nbackend = "onnx"\n[store]\nbackend = "postgres"\npath = "x.db"'
    })
    const { settings } = yield* load({ config: "own.toml", env: { CLEW_EMBEDDING_BACKEND: "builtin" }, flags })
    assert.strictEqual(settings.store.backend, "sqlite")
    // It fits the size in its file, and not the default.
    const large = yield* place({ "./own.toml": "[pipeline]\nchunk_size = 4000\nchunk_overlap = 2500" })
    const smaller = yield* large.load({ config: "own.toml", env: { CLEW_PIPELINE_CHUNK_OVERLAP: "100" } })
    assert.strictEqual(smaller.settings.pipeline.chunkOverlap, 100)
  }))

test("a scope is one, of signs that may stand in a header", () =>
  Effect.gen(function* () {
    for (const scope of ["a b", "日本", '"it"']) {
      const toml = `[server]\noauth_scope = ${JSON.stringify(scope)}`
      const found = yield* problems({ "./own.toml": toml }, { config: "own.toml" })
      assert.match(found[0]!, /server\.oauth_scope is .* one scope: ASCII without blanks/, scope)
    }
  }))

test("an issuer of tokens needs an audience, and the other way round", () =>
  Effect.gen(function* () {
    for (const [given, missing] of [
      ["oauth_issuer", "oauth_audience"],
      ["oauth_audience", "oauth_issuer"]
    ] as const) {
      const toml = `[server]\n${given} = "https://there.example"`
      assert.deepStrictEqual(yield* problems({ "./own.toml": toml }, { config: "own.toml" }), [
        `./own.toml: server.${missing} must be set: server.${given} needs it`
      ])
    }
  }))
