import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ask, start } from "./server.ts"

const documents = [
  ...["a.md", "b.MD", "deep/c.md", "deep/er/d.txt"].map((name, n) => ({
    content: `the tide rises, ${name}`,
    metadata: { source: `/home/ada/notes/sea/${name}`, lang: n % 2 === 0 ? "en" : ["en", "de"], year: 2020 + n }
  })),
  { content: "the moon pulls the sea", metadata: { source: "/home/ada/notes/sky/moon.md", lang: "fr", draft: true } },
  { content: "a log of tides", metadata: { source: "/home/ada/notes/sky/log.jsonl#1", lang: "1" } },
  { content: "another log", metadata: { source: "/home/ada/notes/sky/log.jsonl#2", lang: 1 } }
]

const served = Effect.gen(function* () {
  const { port } = yield* start({ documents })
  const post = (path: string, body: object) => ask(port, "POST", path, { body })
  const counted = (facets: ReadonlyArray<string>, more: object = {}) =>
    Effect.map(post("/query", { query: "tide", facets, ...more }), ({ json, status, text }) => {
      assert.strictEqual(status, 200, text)
      return json.facets as Record<string, { values: Array<{ value: unknown; count: number; filter?: object }> }>
    })
  return { port, post, counted }
})

const figures = (facet: { values: Array<{ value: unknown; count: number }> } | undefined) =>
  facet!.values.map(({ count, value }) => [value, count])

it.scopedLive("counts the documents of the whole match by each facet", () =>
  Effect.gen(function* () {
    const { counted } = yield* served
    for (const how of [{ top_k: 1 }, { hybrid: true, top_k: 2 }, { hybrid: true, alpha: 0 }]) {
      const facets = yield* counted(["folder", "format", "collection", "lang", "year", "draft", "none"], how)
      assert.deepStrictEqual(Object.keys(facets), ["folder", "format", "collection", "lang", "year", "draft", "none"])
      assert.deepStrictEqual(figures(facets["folder"]), [
        ["/home/ada/notes/sea", 4],
        ["/home/ada/notes/sky", 3]
      ])
      assert.deepStrictEqual(figures(facets["format"]), [
        ["md", 4],
        ["jsonl", 2],
        ["txt", 1]
      ])
      assert.deepStrictEqual(figures(facets["collection"]), [["default", 7]])
      assert.deepStrictEqual(figures(facets["lang"]), [
        ["en", 4],
        ["de", 2],
        [1, 1],
        ["1", 1],
        ["fr", 1]
      ])
      assert.lengthOf(facets["year"]!.values, 4)
      assert.deepStrictEqual(figures(facets["draft"]), [[true, 1]])
      assert.deepStrictEqual(facets["none"], { values: [], others: 0 } as never)
    }
  })
)

it.scopedLive("gives with each value the filter that leaves as many documents", () =>
  Effect.gen(function* () {
    const { counted, port } = yield* served
    const listed = (filter: object) =>
      Effect.map(
        ask(port, "GET", `/documents?filter=${encodeURIComponent(JSON.stringify(filter))}`),
        ({ json }) => json.documents.length as number
      )
    const names = ["folder", "format", "indexed", "lang", "year", "draft"]
    for (const filter of [{}, { source: "*/sea/*" }, { lang: { not: "de" } }, { source: "*/sea/deep/*" }]) {
      const facets = yield* counted(names, { filter })
      for (const name of names) {
        for (const { count, filter: own, value } of facets[name]!.values) {
          assert.strictEqual(yield* listed({ and: [filter, own!] }), count, `${name} ${String(value)}`)
        }
      }
    }
    // A folder that was chosen shows those in it.
    const sea = yield* counted(["folder"], { filter: { source: "/home/ada/notes/sea/*" } })
    assert.deepStrictEqual(figures(sea["folder"]), [["/home/ada/notes/sea/deep", 2]])
    const deepest = yield* counted(["folder"], { filter: { source: "/home/ada/notes/sea/deep/er/*" } })
    assert.deepStrictEqual(figures(deepest["folder"]), [["/home/ada/notes/sea/deep/er", 1]])
  })
)

it.scopedLive("counts what quotes and a dash leave, and several collections together", () =>
  Effect.gen(function* () {
    const { counted, post } = yield* served
    const lang = (query: string, more: object = {}) =>
      Effect.map(counted(["lang", "collection"], { query, hybrid: true, ...more }), (facets) => [
        figures(facets["lang"]),
        figures(facets["collection"])
      ])
    assert.deepStrictEqual(yield* lang('"the moon"'), [[["fr", 1]], [["default", 1]]])
    assert.deepStrictEqual(yield* lang("log -another"), [
      [
        ["en", 4],
        ["de", 2],
        ["1", 1],
        ["fr", 1]
      ],
      [["default", 6]]
    ])
    yield* post("/index", { collection: "more", documents: [{ content: "tide again", metadata: { lang: "en" } }] })
    assert.deepStrictEqual((yield* lang("tide"))[0]![0], ["en", 5])
    assert.deepStrictEqual((yield* lang("tide"))[1], [
      ["default", 7],
      ["more", 1]
    ])
    assert.deepStrictEqual(yield* lang("tide", { collection: "more" }), [[["en", 1]], [["more", 1]]])
    assert.deepStrictEqual(yield* lang("tide", { filter: { lang: "xx" } }), [[], []])
  })
)

it.scopedLive("follows documents that come, change and go", () =>
  Effect.gen(function* () {
    const { counted, port, post } = yield* served
    const langs = (more: object = {}) =>
      Effect.map(counted(["lang", "folder"], more), (facets) => [figures(facets["lang"]), figures(facets["folder"])])
    const before = yield* langs()
    const moon = { source: "/home/ada/notes/sky/moon.md" }
    yield* post("/index", {
      documents: [
        { content: "the moon pulls the sea, twice a day", metadata: { ...moon, lang: "de" } },
        { content: "a new one", metadata: { source: "/home/ada/other/new.md", lang: "en" } }
      ]
    })
    assert.deepStrictEqual(yield* langs(), [
      [
        ["en", 5],
        ["de", 3],
        [1, 1],
        ["1", 1]
      ],
      [
        ["/home/ada/notes", 7],
        ["/home/ada/other", 1]
      ]
    ])
    yield* ask(port, "DELETE", "/documents", { body: moon })
    yield* ask(port, "DELETE", "/documents", { body: { source: "/home/ada/other/new.md" } })
    yield* post("/index", { documents: [documents[4]!] })
    assert.deepStrictEqual(yield* langs(), before)
  })
)

it.scopedLive("lists the hundred values of most documents, and says how many further ones there are", () =>
  Effect.gen(function* () {
    const { port } = yield* start({
      documents: Array.from({ length: 260 }, (_, n) => ({
        content: `tide ${n}`,
        metadata: { n: Math.floor(n / 2) % 120, [`?*${n % 2}`]: "x".repeat(300 - n), source: `w*/${n % 3}/${n}.md` }
      }))
    })
    const { json } = yield* ask(port, "POST", "/query", {
      body: { query: "tide", facets: ["n", "?*0", "folder"], explain: true }
    })
    const { n, folder } = json.facets
    assert.lengthOf(n.values, 100)
    assert.strictEqual(n.others, 20)
    assert.deepStrictEqual(figures(n).slice(0, 11), [...Array.from({ length: 10 }, (_, at) => [at, 4]), [10, 2]])
    // Longer texts are not counted; a filter could not name all of them.
    assert.strictEqual(json.facets["?*0"].values.length + json.facets["?*0"].others, 108)
    assert.deepStrictEqual(folder.values[0], {
      value: "w*/0",
      count: 87,
      filter: { source: { gte: "w*/0/", lt: "w*/00" } }
    })
    assert.isTrue(Number.isInteger(json.explain.stages_us.facets))
  })
)

it.scopedLive("counts for similar passages and over several queries too, and refuses what is no facet", () =>
  Effect.gen(function* () {
    const { counted, post } = yield* served
    const similar = yield* post("/similar", { text: "the sea", facets: ["lang"] })
    assert.deepStrictEqual(figures(similar.json.facets.lang)[0], ["en", 4])
    const several = yield* counted(["lang"], { queries: ["moon", '"a log"'] })
    assert.deepStrictEqual(figures(several["lang"])[0], ["en", 4])
    assert.notProperty((yield* post("/query", { query: "tide" })).json, "facets")
    for (const [facets, message] of [
      [["source"], "source is no facet"],
      [["__proto__"], "__proto__ is no facet"],
      [[""], "must have 1 to 256 characters"],
      [Array.from({ length: 11 }, (_, n) => `f${n}`), "at most 10 names, got 11"],
      ["lang", "must be a list of names"]
    ] as const) {
      const { json, status } = yield* post("/query", { query: "tide", facets })
      assert.strictEqual(status, 400)
      assert.include(JSON.stringify(json.errors), message)
    }
  })
)

it.scopedLive("counts nothing where nothing was indexed", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const { json } = yield* ask(port, "POST", "/query", { body: { query: "tide", facets: ["folder", "lang"] } })
    assert.deepStrictEqual(json.facets, { folder: { values: [], others: 0 }, lang: { values: [], others: 0 } })
  })
)
