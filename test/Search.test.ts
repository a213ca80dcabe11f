import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as TestClock from "effect/TestClock"
import * as NodeFs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Embedder } from "../src/Embedder.ts"
import * as Builtin from "../src/Embedder/Builtin.ts"
import { CollectionName, defaultCollection } from "../src/model/Collection.ts"
import type { DoorRequest, SearchRequest } from "../src/model/Query.ts"
import { Search } from "../src/Search.ts"
import { ports, whole } from "../src/Store.ts"
import { document } from "./contracts/Store.ts"
import { compass, embeddersLayer, makeEmbedder, searchConfig, searchLayer } from "./fakes.ts"

const setUpWith = Effect.fnUntraced(function* (change: Partial<Embedder["Type"]> = {}) {
  const { down, embedder: made } = yield* makeEmbedder()
  const embedder = { ...made, ...change }
  const context = yield* Layer.build(searchLayer(embedder))
  return {
    down,
    embedder,
    search: yield* Effect.provide(Search, context),
    store: yield* Effect.provide(whole, context)
  }
})

const setUp = setUpWith()

const withDocuments = Effect.tap(setUp, ({ embedder, store }) =>
  Effect.gen(function* () {
    yield* store.createCollection(defaultCollection, compass)
    for (const [source, text] of [
      ["n", "north north"],
      ["ne", "north east wind"],
      ["s", "south wind"],
      ["none", "wind alone"]
    ] as const) {
      const [vector] = yield* embedder.embedPassages([text])
      yield* store.put(defaultCollection, [document(text, { source, vectors: [Option.getOrUndefined(vector!)] })])
    }
  })
)

const query = (query: string, more: Partial<SearchRequest> = {}): SearchRequest => ({ query, ...more })

it.scoped("answers by the legs it was asked for, and says which", () =>
  Effect.gen(function* () {
    const { search } = yield* withDocuments
    const modes = [
      [query("north wind", { hybrid: true }), "hybrid"],
      [query("north wind", { hybrid: false }), "vector"],
      [query("north wind", { alpha: 0 }), "keyword"],
      [query("north wind", { alpha: 1 }), "vector"]
    ] as const
    for (const [request, mode] of modes) {
      const outcome = yield* search.run(request)
      assert.strictEqual(outcome.mode, mode)
      assert.isUndefined(outcome.degraded)
      assert.strictEqual(outcome.hits.length > 0, true)
      assert.strictEqual(
        outcome.hits.every((hit) => hit.vector === undefined),
        mode === "keyword"
      )
      assert.strictEqual(
        outcome.hits.every((hit) => hit.keyword === undefined),
        mode === "vector"
      )
    }
  })
)

it.scoped("a file whose size or time is another than what was indexed has changed, though it is older", () =>
  Effect.gen(function* () {
    const { search, store } = yield* setUp
    const folder = NodeFs.mkdtempSync(join(tmpdir(), "clew-stale-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => NodeFs.rmSync(folder, { recursive: true })))
    const path = join(folder, "a.txt")
    NodeFs.writeFileSync(path, "wind")
    NodeFs.utimesSync(path, 1000, 1000)
    const { ctimeNs, ino, mtimeNs, size } = NodeFs.statSync(path, { bigint: true })
    const stamp = { size: Number(size), modified: `${mtimeNs}`, changed: `${ctimeNs}`, inode: `${ino}` }
    const file = { path, stamp, reader: "text", settings: "", outcome: "indexed", documents: 1, many: false } as const
    yield* store.createCollection(defaultCollection, compass)
    yield* store.put(defaultCollection, [document("wind", { origin: path })], {
      files: [{ ...file, expected: undefined }]
    })
    const stale = Effect.map(search.run(query("wind", { alpha: 0 })), ({ hits }) => hits.map(({ stale }) => stale))
    assert.deepStrictEqual(yield* stale, [undefined])
    /** On a busy machine the file system may not answer in the time that a search waits for it. */
    const is = Effect.fnUntraced(function* (wanted: "changed" | "gone") {
      let found = yield* stale
      for (let n = 0; n < 50 && found[0] !== wanted; n++) {
        yield* Effect.promise(() => setTimeout(20))
        found = yield* stale
      }
      assert.deepStrictEqual(found, [wanted])
    })
    NodeFs.utimesSync(path, 500, 500)
    yield* is("changed")
    NodeFs.writeFileSync(path, "winds")
    NodeFs.utimesSync(path, 1000, 1000)
    yield* is("changed")
    NodeFs.rmSync(path)
    yield* is("gone")
  })
)

it.scoped("answers although a stored path is none that a file system has, as earlier imports took it", () =>
  Effect.gen(function* () {
    const { search, store } = yield* setUp
    yield* store.createCollection(defaultCollection, compass)
    yield* store.put(defaultCollection, [document("wind", { origin: "/a\0b" })])
    const { hits } = yield* search.run(query("wind", { alpha: 0 }))
    assert.deepStrictEqual(
      hits.map(({ stale }) => stale),
      [undefined]
    )
  })
)

it.scoped("does not call a file gone whose folders are not on this machine", () =>
  Effect.gen(function* () {
    const { search, store } = yield* setUp
    yield* store.createCollection(defaultCollection, compass)
    yield* store.put(defaultCollection, [document("wind", { origin: "/nowhere/of/this/machine/a.txt" })])
    const { hits } = yield* search.run(query("wind", { alpha: 0 }))
    assert.deepStrictEqual(
      hits.map(({ stale }) => stale),
      [undefined]
    )
  })
)

it.scoped("the top of a long list is the short list", () =>
  Effect.gen(function* () {
    const { search } = yield* withDocuments
    const long = yield* search.run(query("north wind", { topK: 100 }))
    for (const topK of [1, 2, 3]) {
      const short = yield* search.run(query("north wind", { topK }))
      assert.deepStrictEqual(short.hits, long.hits.slice(0, topK))
    }
  })
)

it.scoped("answers from the keyword leg when the embedder is down, and says so; again by both when it is back", () =>
  Effect.gen(function* () {
    const { down, search } = yield* withDocuments
    yield* Ref.set(down, "connection refused")
    const degraded = yield* search.run(query("north wind"))
    assert.strictEqual(degraded.mode, "keyword")
    assert.strictEqual(degraded.degraded, "embedder unavailable: connection refused")
    assert.isNotEmpty(degraded.hits)
    const failure = yield* Effect.flip(search.run(query("north wind", { hybrid: false })))
    assert.strictEqual(failure._tag, "EmbedderUnavailable")
    assert.strictEqual((yield* search.run(query("north", { alpha: 0 }))).degraded, undefined)
    yield* Ref.set(down, undefined)
    assert.strictEqual((yield* search.run(query("north wind"))).mode, "hybrid")
  })
)

it.scoped("answers a query without a vector from the keyword leg, and says so", () =>
  Effect.gen(function* () {
    const { search } = yield* withDocuments
    for (const hybrid of [true, false]) {
      const outcome = yield* search.run(query("wind", { hybrid }))
      assert.strictEqual(outcome.mode, "keyword")
      assert.strictEqual(outcome.degraded, "the embedding model's vector of the query is zero or missing")
      assert.strictEqual(outcome.hits.length, 3)
    }
  })
)

it.scoped("refuses a collection that another embedder made, naming both", () =>
  Effect.gen(function* () {
    const { search, store } = yield* setUp
    yield* store.createCollection(defaultCollection, { ...compass, model: "gyroscope", dimensions: 8 })
    const error = yield* Effect.flip(search.run(query("north")))
    assert.strictEqual(error._tag, "EmbedderMismatch")
    assert.match(error.message, /gyroscope \(8 dimensions\).*compass \(4 dimensions\).*clew reindex/)
  })
)

it.scoped("finds nothing in a default collection that has no document yet, and fails on others", () =>
  Effect.gen(function* () {
    const { search } = yield* setUp
    assert.deepStrictEqual((yield* search.run(query("north"))).hits, [])
    const error = yield* Effect.flip(search.run(query("north", { collection: CollectionName.make("other") })))
    assert.strictEqual(error._tag, "CollectionNotFound")
  })
)

it.scoped("waits five seconds for an embedder that does not say what it is, and answers by keywords", () =>
  Effect.gen(function* () {
    const { search, store } = yield* setUpWith({ identity: Effect.never })
    yield* store.createCollection(defaultCollection, compass)
    yield* store.put(defaultCollection, [document("north wind", { source: "n" })])
    const asking = yield* Effect.fork(search.run(query("north", { hybrid: true })))
    yield* TestClock.adjust("5 seconds")
    const { degraded, hits, mode } = yield* Fiber.join(asking)
    assert.strictEqual(mode, "keyword")
    assert.lengthOf(hits, 1)
    assert.include(degraded, "no answer within 5 s")
  })
)

it.scoped("fuses scores, or what the door is used to, unless the request or the configuration says how", () =>
  Effect.gen(function* () {
    const { embedder, search, store } = yield* withDocuments
    const fusionOf = (request: DoorRequest) => Effect.map(search.run(request), ({ fusion }) => fusion)
    assert.strictEqual(yield* fusionOf(query("north wind")), "score")
    assert.strictEqual(yield* fusionOf({ ...query("north wind"), usualFusion: "rrf" }), "rrf")
    assert.strictEqual(yield* fusionOf({ ...query("north wind", { fusion: "score" }), usualFusion: "rrf" }), "score")
    assert.isUndefined(yield* fusionOf(query("north wind", { alpha: 0 })))
    const configured = yield* Effect.provide(
      Search,
      Search.Default.pipe(
        Layer.provide(embeddersLayer(embedder)),
        Layer.provide(searchConfig({ fusion: "score" })),
        Layer.provide(Layer.succeedContext(ports(store)))
      )
    )
    const outcome = yield* configured.run({ ...query("north wind"), usualFusion: "rrf" })
    assert.strictEqual(outcome.fusion, "score")
  })
)

it.scoped("ranks a name in code by how it is written, unless a weight is given", () =>
  Effect.gen(function* () {
    const { embedder, search, store } = yield* withDocuments
    for (const [source, text] of [
      ["set", "Set north_wind, else the south wind of the south blows to the south."],
      ["nw", "north wind wind"]
    ] as const) {
      const [vector] = yield* embedder.embedPassages([text])
      yield* store.put(defaultCollection, [document(text, { source, vectors: [Option.getOrUndefined(vector!)] })])
    }
    const first = (more: Partial<SearchRequest> = {}) =>
      Effect.map(
        search.run(query("`north_wind`", { fusion: "rrf", topK: 10, ...more })),
        ({ hits }) => hits[0]!.document.source
      )
    assert.strictEqual(yield* first(), "set")
    assert.notStrictEqual(yield* first({ alpha: 0.9 }), "set")
    const weight = (text: string, more: Partial<SearchRequest>) =>
      Effect.map(search.run({ ...query(text, more), explain: true }), ({ explain }) => explain!.alpha)
    assert.strictEqual(yield* weight("north of north_wind", { fusion: "rrf" }), 0.2)
    assert.strictEqual(yield* weight("path:set north wind", { fusion: "rrf" }), 0.4)
    assert.strictEqual(yield* weight("north of north_wind", { fusion: "rrf", alpha: 0.4 }), 0.4)
    assert.strictEqual(yield* weight("north of north_wind", { fusion: "score" }), 0.5)
    const { hits } = yield* search.run(query("north_wind", { fusion: "rrf", topK: 10 }))
    assert.sameMembers(
      hits.map(({ document }) => document.source),
      ["set", "nw", "n", "ne", "s", "none"]
    )
  })
)

it.scoped("finds what has a name and the query's other word before what repeats the name", () =>
  Effect.gen(function* () {
    const { search, store } = yield* withDocuments
    const documents = [
      ["both", "Then enable it, and call get_user_name."],
      ...Array.from({ length: 6 }, (_, n) => [`name${n}`, `get_user_name get_user_name: getUserName ${n}.`] as const),
      ...Array.from({ length: 6 }, (_, n) => [`word${n}`, `Enable the heater number ${n}.`] as const)
    ] as const
    for (const [source, text] of documents) {
      yield* store.put(defaultCollection, [document(text, { source, vectors: [undefined] })])
    }
    const { hits } = yield* search.run(query("get_user_name enable", { alpha: 0 }))
    assert.strictEqual(hits[0]!.document.source, "both")
  })
)

it.scoped("finds a name as it is written first, though its parts stand elsewhere more often", () =>
  Effect.gen(function* () {
    const { search, store } = yield* withDocuments
    const documents = [
      ["whole", "Then this.vane.needle.turn() is called, and the needle of the vane follows."],
      ...Array.from({ length: 60 }, (_, n) => [`parts${n}`, `Needle turn: turn needle, turn ${n}.`] as const)
    ] as const
    for (const [source, text] of documents) {
      yield* store.put(defaultCollection, [document(text, { source, vectors: [undefined] })])
    }
    for (const more of [{ alpha: 0 }, { fusion: "rrf" }, { fusion: "score" }] as const) {
      const { hits } = yield* search.run(query("needle.turn", more))
      assert.strictEqual(hits[0]!.document.source, "whole")
    }
  })
)

it.scoped("weighs the vector leg by how much of the query it knows, and says so", () =>
  Effect.gen(function* () {
    const { embedder, search, store } = yield* setUpWith({ knownShare: () => Effect.succeed(0.25) })
    yield* store.createCollection(defaultCollection, compass)
    for (const source of ["north", "wind"]) {
      const [vector] = yield* embedder.embedPassages([source])
      yield* store.put(defaultCollection, [document(source, { source, vectors: [Option.getOrUndefined(vector!)] })])
    }
    const whole = yield* search.run(query("north zephyr wind", { alpha: 0.8 }))
    assert.strictEqual(whole.mode, "hybrid")
    assert.strictEqual(
      whole.degraded,
      "the embedding model knows only 25 % of the query's letters, so meaning counts proportionally less"
    )
    const north = whole.hits.find(({ document }) => document.source === "north")!
    assert.closeTo(
      north.score,
      0.2 + 0.8 * (north.keyword!.score / Math.max(...whole.hits.map((hit) => hit.keyword!.score))),
      1e-9
    )
  })
)

it.scoped("weighs an English model's vectors less for a query in another language, unless a weight is given", () =>
  Effect.gen(function* () {
    const { embedder, search, store } = yield* setUpWith({ languages: Effect.succeed(["en"]) })
    yield* store.createCollection(defaultCollection, compass)
    const [vector] = yield* embedder.embedPassages(["north"])
    const vectors = [Option.getOrUndefined(vector!)]
    yield* store.put(defaultCollection, [
      document("Der Wind weht aus dem Norden (north).", { source: "de", vectors, language: "de" })
    ])
    const weight = (text: string, more: Partial<SearchRequest> = {}) =>
      Effect.map(search.run({ ...query(text, more), explain: true }), ({ explain }) => explain!.alpha)
    assert.strictEqual(yield* weight("the wind of the north"), 0.5)
    assert.strictEqual(yield* weight("woher weht der Wind, north"), 0.25)
    assert.strictEqual(yield* weight("north 北風はどこ"), 0.25)
    assert.strictEqual(yield* weight("the wind of the north, 5 \u00b5m and \u0394G"), 0.5)
    assert.strictEqual(yield* weight("woher weht der Wind, north", { alpha: 0.4 }), 0.4)
  })
)

const languages = {
  en: ["What are the rules of ownership", "Each value has one owner at a time", "Tides follow the moon"],
  zh: ["所有权的规则是什么", "所有权的规则：每个值都有一个所有者。", "潮汐是什么？月亮。！？！？"],
  ru: ["Какие правила владения", "Правила владения: у каждого значения один владелец.", "Что такое прилив? Луна! ?!"],
  ja: ["所有権の規則は何ですか", "所有権の規則：各値には所有者が一人います。", "潮の満ち引き？！月。"],
  de: [
    "Was sind die Regeln der Eigentümerschaft",
    "Regeln der Eigentümerschaft: jeder Wert hat einen.",
    "Gezeiten? Mond!"
  ]
}

it.scoped("tells the same relevance of a passage by words, by meaning and by both", () =>
  Effect.gen(function* () {
    const embedder = yield* Effect.provide(Embedder, Builtin.layer)
    const { search, store } = yield* setUpWith(embedder)
    yield* store.createCollection(defaultCollection, yield* embedder.identity)
    const texts = [
      "The tide rises twice a day.",
      "When the moon is full, high water is higher.",
      "Rise early to bake bread."
    ]
    for (const [index, vector] of (yield* embedder.embedPassages(texts)).entries()) {
      const text = texts[index]!
      yield* store.put(defaultCollection, [document(text, { source: text, vectors: [Option.getOrUndefined(vector)] })])
    }
    const told = (request: Partial<SearchRequest>) =>
      Effect.map(
        search.run(query("when does the tide rise", request)),
        ({ hits }) => new Map(hits.map(({ document, relevance }) => [document.source, relevance]))
      )
    const byBoth = yield* told({})
    assert.strictEqual(byBoth.size, texts.length)
    for (const request of [{ alpha: 0 }, { hybrid: false }, { fusion: "rrf" as const }]) {
      const found = yield* told(request)
      assert.isAbove(found.size, 1)
      for (const [source, relevance] of found) assert.closeTo(relevance!, byBoth.get(source)!, 1e-6)
    }
  })
)

it.scoped("finds the same first, whatever punctuation a question ends in, in every language", () =>
  Effect.gen(function* () {
    const embedder = yield* Effect.provide(Embedder, Builtin.layer)
    const { search, store } = yield* setUpWith(embedder)
    yield* store.createCollection(defaultCollection, yield* embedder.identity)
    const texts = [...Object.values(languages).flatMap(([, ...texts]) => texts), "？", "?!", "..."]
    const vectors = yield* embedder.embedPassages(texts)
    for (const [index, text] of texts.entries()) {
      const vector = Option.getOrUndefined(vectors[index]!)
      yield* store.put(defaultCollection, [document(text, { source: text, vectors: [vector] })])
    }
    for (const [question, answer] of Object.values(languages)) {
      for (const fusion of ["score", "rrf"] as const) {
        const plain = yield* search.run(query(question!, { fusion }))
        assert.strictEqual(plain.hits[0]?.document.source, answer)
        for (const mark of ["?", " ?", "？", "。", "!", "…", ' "', "?!»"]) {
          const marked = yield* search.run(query(question + mark, { fusion }))
          assert.deepStrictEqual(
            marked.hits.map(({ document, score }) => [document.source, score]),
            plain.hits.map(({ document, score }) => [document.source, score]),
            question + mark
          )
        }
      }
    }
    for (const mark of ["？", "?!", "…"]) {
      const { degraded, hits } = yield* search.run(query(mark))
      assert.deepStrictEqual(hits, [])
      assert.include(degraded, "no word that the embedding model knows")
    }
  })
)

it.scoped("finds a name among words of a script without spaces, whose many pairs are mostly grammar", () =>
  Effect.gen(function* () {
    const { search, store } = yield* setUp
    yield* store.createCollection(defaultCollection, compass)
    // Each has about half of the question's pairs, but not its name.
    const others = {
      ja: "値の設定はどこですか。どこでも変えられます。",
      zh: "你的文件在哪里。这个问题在哪里都会问。",
      ko: "값은 어디에 있나요. 문제는 어디에 있나요.",
      th: "ค่าของระบบอยู่ที่ไหน หนังสืออยู่ที่ไหน"
    }
    for (const [language, text] of Object.entries(others)) {
      for (let n = 0; n < 12; n++)
        yield* store.put(defaultCollection, [document(`${text} ${n}`, { source: `${language}${n}` })])
    }
    for (let n = 0; n < 4; n++) {
      yield* store.put(defaultCollection, [
        document(`Vite reads its file number ${n} from the root.`, { source: `vite${n}` })
      ])
    }
    const questions = {
      ja: "Vite の設定ファイルはどこですか",
      zh: "Vite 的配置文件在哪里",
      ko: "Vite 설정 파일은 어디에 있나요",
      th: "ไฟล์ตั้งค่าของ Vite อยู่ที่ไหน"
    }
    for (const [language, question] of Object.entries(questions)) {
      const { hits } = yield* search.run(query(question, { alpha: 0, topK: 8 }))
      const found = hits.filter(({ document: { source } }) => source?.startsWith("vite"))
      assert.lengthOf(found, 4, `${language}: ${hits.map(({ document }) => document.source).join(" ")}`)
    }
  })
)
