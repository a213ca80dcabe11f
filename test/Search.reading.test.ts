import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { CollectionName, defaultCollection } from "../src/model/Collection.ts"
import { DocumentId } from "../src/model/Document.ts"
import type { SearchRequest } from "../src/model/Query.ts"
import { Search } from "../src/Search.ts"
import { Store } from "../src/Store.ts"
import { document } from "./contracts/Store.ts"
import { compass, makeEmbedder, searchLayer } from "./fakes.ts"

const texts = [
  ["docs/gale.md", "the north wind is a gale", { title: "Gale", year: 2020, author: "Kim", kinds: ["wind", "storm"] }],
  ["docs/calm.md", "wind from the north is calm", { title: "Calm days", year: 2021, author: "Ada Lovelace" }],
  ["docs/Old/storm.md", "north and east make a storm", { title: "Storms and gales" }],
  ["notes/java.md", "run java -jar north.jar; a jar of east wind", {}]
] as const

const setUp = Effect.gen(function* () {
  const { embedder } = yield* makeEmbedder()
  const context = yield* Layer.build(searchLayer(embedder))
  const store = yield* Effect.provide(Store, context)
  const search = yield* Effect.provide(Search, context)
  yield* store.createCollection(defaultCollection, compass)
  const put = (
    source: string,
    text: string,
    metadata: Readonly<Record<string, unknown>> = {},
    to = defaultCollection
  ) =>
    Effect.gen(function* () {
      const vectors = yield* embedder.embedPassages(text.split("\n"))
      const title = metadata["title"]
      yield* store.put(to, [
        document(text, {
          source,
          metadata,
          ...(typeof title === "string" ? { title } : {}),
          vectors: vectors.map(Option.getOrUndefined)
        })
      ])
    })
  for (const [source, text, metadata] of texts) yield* put(source, text, metadata)
  const run = (query: string, more: Partial<SearchRequest> = {}) => search.run({ query, topK: 10, ...more })
  const sources = (query: string, more: Partial<SearchRequest> = {}) =>
    Effect.map(run(query, more), ({ hits }) => hits.map(({ document }) => document.source).sort())
  return { store, search, put, run, sources }
})

const legs = [{}, { hybrid: false }, { alpha: 0 }, { fusion: "rrf" }] as const

it.scoped("quotes, -word and fields restrict every leg alike", () =>
  Effect.gen(function* () {
    const { run, sources } = yield* setUp
    for (const how of legs) {
      assert.deepStrictEqual(yield* sources('"north wind"', how), ["docs/gale.md"])
      assert.deepStrictEqual(yield* sources('calm "from the North"', how), ["docs/calm.md"])
      assert.deepStrictEqual(yield* sources("north -wind", how), ["docs/Old/storm.md"])
      assert.deepStrictEqual(yield* sources('north -"north wind" -storms -java', how), ["docs/calm.md"])
      assert.deepStrictEqual(yield* sources("north title:gale", how), ["docs/Old/storm.md", "docs/gale.md"])
      assert.deepStrictEqual(yield* sources("north -title:gale -path:notes", how), ["docs/calm.md"])
      assert.deepStrictEqual(yield* sources("north path:old", how), ["docs/Old/storm.md"])
      assert.deepStrictEqual(yield* sources("north source:docs/*.md year:2020", how), ["docs/gale.md"])
      assert.deepStrictEqual(yield* sources('north author:"Ada Lovelace"', how), ["docs/calm.md"])
      assert.deepStrictEqual(yield* sources("north author:kim", how), ["docs/gale.md"])
      assert.deepStrictEqual(yield* sources("north kinds:storm", how), ["docs/gale.md"])
      assert.deepStrictEqual(yield* sources("year:2020", { ...how, filter: { year: 2021 } }), [])
    }
    const { readAs } = yield* run('north "wind" -calm year:2020')
    assert.deepStrictEqual(readAs, { words: "north wind", phrases: ["wind"], without: ["calm"], fields: ["year:2020"] })
  })
)

it.scoped("what nothing meets is read as plain words and said so; quotes alone find nothing and say why", () =>
  Effect.gen(function* () {
    const { run, sources } = yield* setUp
    const pasted = yield* run('error: missing file "east of eden" in north')
    assert.isAbove(pasted.hits.length, 2)
    assert.deepStrictEqual(pasted.readAs, {
      words: 'error: missing file "east of eden" in north',
      as_words: "nothing meets all its quotes, dashes and fields"
    })
    const alone = yield* run('"east of eden"')
    assert.deepStrictEqual(alone.hits, [])
    assert.include(alone.hint ?? "", "“east of eden”")
    // A page beyond the last is empty, and no reason to read the query otherwise.
    const beyond = yield* (yield* setUp).search.run({ query: 'north "north wind"', offset: 5 })
    assert.deepStrictEqual(beyond.hits, [])
    assert.isUndefined(beyond.readAs?.as_words)
    assert.lengthOf(yield* sources("north path:nowhere"), 4)
  })
)

it.scoped(
  "quotes in a sentence name something, which the answer need not have, and dashes may be punctuation; conditions hold",
  () =>
    Effect.gen(function* () {
      const { run, sources } = yield* setUp
      const plain = yield* run('Where does the "north wind" of the gale come from?')
      assert.isAbove(plain.hits.length, 2)
      assert.deepStrictEqual(plain.readAs, {
        words: 'Where does the "north wind" of the gale come from?',
        as_words: "its quotes and dashes are part of a sentence"
      })
      assert.deepStrictEqual(yield* sources('Where does the "north wind" of a gale come from? year:2020'), [
        "docs/gale.md"
      ])
      assert.deepStrictEqual((yield* run('"north wind" in gale')).readAs?.phrases, ["north wind"])
      for (const dashed of [
        "what is the wind -which blows- of a gale",
        "is the north -wind or the wind -wind of a gale"
      ]) {
        assert.deepStrictEqual((yield* run(dashed)).readAs, {
          words: dashed,
          as_words: "its quotes and dashes are part of a sentence"
        })
      }
      assert.deepStrictEqual(yield* sources("what is in the north of the sea -wind"), ["docs/Old/storm.md"])
    })
)

it.scoped("a flag that the documents write with its dash, an unknown field and signs are plain words", () =>
  Effect.gen(function* () {
    const { run } = yield* setUp
    for (const query of [
      "java -jar",
      "north colour:red",
      "http://north:80",
      "north: wind",
      'north "',
      "north -v",
      "north --wind"
    ]) {
      const found = yield* run(query)
      assert.isUndefined(found.readAs, query)
      assert.isNotEmpty(found.hits, query)
    }
    assert.strictEqual((yield* run("java -jar")).hits[0]?.document.source, "notes/java.md")
  })
)

it.scoped("if k passages meet the demands, k are found; what was deleted meets none", () =>
  Effect.gen(function* () {
    const { put, run, store } = yield* setUp
    yield* put("many.md", Array.from({ length: 30 }, (_, at) => `east ${at} with a grey seal`).join("\n"))
    for (const how of legs) {
      const { hits } = yield* run('west "grey seal" -wind', how)
      assert.lengthOf(hits, 10)
      assert.isTrue(hits.every(({ document }) => document.source === "many.md"))
    }
    yield* store.deleteSource(defaultCollection, "many.md")
    assert.deepStrictEqual((yield* run('"grey seal"')).hits, [])
    assert.lengthOf((yield* run("north -jar")).hits, 4)
  })
)

it.scoped("of a phrase whose words are in very many passages the best are looked at, and it is said", () =>
  Effect.gen(function* () {
    const { put, run } = yield* setUp
    const lines = Array.from({ length: 5003 }, (_, at) => (at === 7 ? "grey seal grey seal" : "seal, so grey"))
    yield* put("seals.md", lines.join("\n"))
    const { hits, readAs } = yield* run('"grey seal"')
    assert.deepStrictEqual(
      hits.map(({ passage }) => passage.text),
      ["grey seal grey seal"]
    )
    assert.strictEqual(readAs?.unchecked, 3)
  })
)

it.scoped("demands hold in all collections, and explain counts what they leave", () =>
  Effect.gen(function* () {
    const { put, search, store } = yield* setUp
    const other = CollectionName.make("other")
    yield* store.createCollection(other, compass)
    yield* put("o.md", "a north wind again\nno wind", { author: "Kim" }, other)
    const found = yield* search.run({ query: '"north wind"', explain: true })
    assert.deepStrictEqual(found.hits.map(({ document }) => document.source).sort(), ["docs/gale.md", "o.md"])
    assert.strictEqual(found.explain?.filtered, 2)
    assert.deepStrictEqual(found.explain?.read_as, found.readAs)
    assert.isDefined(found.hits[0]?.explain)
    assert.notProperty((yield* search.run({ query: '"north wind"' })).hits[0]!, "explain")
    const byId = yield* search.run({ query: `doc_id:${DocumentId.make("derived:o.md")} wind` })
    assert.lengthOf(byId.hits, 2)
  })
)

it.scoped("of a pasted message behind a long trace, or before it, the words are searched", () =>
  Effect.gen(function* () {
    const { put, run, sources } = yield* setUp
    for (let n = 0; n < 12; n++) yield* put(`notes/${n}.md`, `return await self run in file line ${n} of main loop`)
    yield* put("docs/errors.md", "frobnication: the north pole is away")
    const frames = Array.from(
      { length: 40 },
      (_, n) => `  File "/srv/main/loop_${n}.py", line ${n}, in run\n    return await self.loop_${n}()`
    )
    const logged = Array.from({ length: 40 }, (_, n) => `q${n}w became e${n}r before t${n}y`)
    const { readAs } = yield* run([...frames, 'RuntimeError: "no wind" -north'].join("\n"))
    assert.isUndefined(readAs)
    for (const trace of [frames, logged]) {
      for (const pasted of [
        [...trace, "RuntimeError: frobnication"],
        ["RuntimeError: frobnication", ...trace]
      ]) {
        assert.include(yield* sources(pasted.join("\n"), { alpha: 0, topK: 1 }), "docs/errors.md")
      }
    }
  })
)

it.scoped("a name that occurs nowhere is searched by its rarest part, whatever surrounds it", () =>
  Effect.gen(function* () {
    const { put, sources } = yield* setUp
    for (let n = 0; n < 12; n++) yield* put(`notes/${n}.md`, `see the http docs of example com, page e 20, link ${n}`)
    yield* put("docs/errors.md", "bhk3: the north pole is away")
    for (const query of ["bhk3 link", "https://docs.example.com/e/20/bhk3 link", "docs.example.bhk3: link page"]) {
      assert.deepStrictEqual(yield* sources(query, { alpha: 0, topK: 1 }), ["docs/errors.md"], query)
    }
  })
)
