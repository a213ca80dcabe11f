import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import { type Stores, whole } from "../../src/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { Transfer } from "../../src/upkeep/Transfer.ts"
import { document, embedder } from "../contracts/Store.ts"

/** A store with what is moved in and out of it. */
const inMemory = <A, E>(use: Effect.Effect<A, E, Stores | Transfer>) =>
  use.pipe(Effect.provide(Transfer.Default), Effect.provide(Sqlite.layerMemory))

const vectorOf = (seed: number) => {
  const values = Array.from({ length: 4 }, (_, index) => Math.sin(seed * 7 + index))
  const norm = Math.hypot(...values)
  return Float32Array.from(values, (value) => value / norm)
}

const other = CollectionName.make("other")

const fill = Effect.gen(function* () {
  const store = yield* whole
  for (const name of [defaultCollection, other]) yield* store.createCollection(name, embedder)
  for (let n = 0; n < 130; n++) {
    const { passages, ...rest } = document(`Otters of the ${n}th river 𝒳\n\n château ${n % 7}\nlines and otters`, {
      source: `/docs/${n}.md`,
      docId: n % 2 === 0 ? DocumentId.make(`id ${n}`) : undefined,
      title: n % 5 === 0 ? `Otter ${n}` : undefined,
      origin: `/docs/${n}.md`,
      line: n % 11 === 0 ? n + 1 : undefined,
      metadata: { n, tags: ["a", `t${n % 4}`], deep: { yes: [null, true] } },
      vectors: n % 13 === 0 ? [undefined] : [vectorOf(n), vectorOf(n + 0.5)]
    })
    const beside = { locator: { _tag: "Page" as const, page: n }, tableHeader: `Column ${n}` }
    yield* store.put(n % 3 === 0 ? other : defaultCollection, [
      { ...rest, passages: n % 17 === 0 ? passages.map((passage) => ({ ...passage, ...beside })) : passages }
    ])
  }
  yield* store.deleteSource(defaultCollection, "/docs/1.md")
})

const questions = Effect.gen(function* () {
  const store = yield* whole
  const answers = []
  for (const collection of [defaultCollection, other]) {
    for (let n = 0; n < 10; n++) {
      for (const alpha of [0, 0.4, 1]) {
        const hits = yield* store.rank({
          collection,
          ...(alpha === 1 ? {} : { keyword: `otters château ${n}` }),
          ...(alpha === 0 ? {} : { vector: vectorOf(n * 3.3) }),
          alpha,
          fusion: n % 2 === 0 ? "rrf" : "score",
          filter: n % 3 === 0 ? { tags: "t1" } : {},
          limit: 20
        })
        answers.push(hits.map(({ document, passage, score }) => [document, passage, score]))
      }
    }
    for (const { docId } of yield* store.list(collection, { limit: 1000 })) {
      const { indexedAt: _, ...stored } = yield* store.get(collection, docId)
      answers.push(stored)
    }
  }
  return answers
})

const exported = (collection?: CollectionName) =>
  Effect.flatMap(Transfer, ({ lines }) => Effect.map(Stream.runCollect(lines(collection)), Chunk.toReadonlyArray))

it.effect("gives the same answers with the same scores elsewhere", () =>
  Effect.gen(function* () {
    const [before, lines] = yield* inMemory(Effect.zipRight(fill, Effect.all([questions, exported()])))
    const [taken, after, again] = yield* inMemory(
      Effect.flatMap(Transfer, ({ take }) => Effect.all([take(Stream.fromIterable(lines)), questions, exported()]))
    )
    assert.strictEqual(taken.documents, 129)
    assert.deepStrictEqual(after, before)
    // And from there again, byte by byte.
    assert.deepStrictEqual(again, lines)
  })
)

it.effect("replaces what is there, and leaves the rest", () =>
  inMemory(
    Effect.gen(function* () {
      yield* fill
      const store = yield* whole
      const { take } = yield* Transfer
      const lines = yield* exported(other)
      yield* store.put(other, [document("changed", { source: "/docs/0.md" }), document("new", { source: "new" })])
      const before = yield* store.stats()
      yield* take(Stream.fromIterable(lines))
      assert.deepStrictEqual((yield* store.stats()).documents, before.documents)
      assert.match((yield* store.get(other, DocumentId.make("id 0"))).content, /^Otters of the 0th/)
    })
  )
)

it.effect("says where an export is wrong, and in what", () =>
  Effect.gen(function* () {
    const lines = yield* inMemory(Effect.zipRight(fill, exported(other)))
    const [header = "", first = "", ...rest] = lines
    const change = (line: string, with_: object) => JSON.stringify({ ...JSON.parse(line), ...with_ })
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
      [[], /Line 0 of the export: it ends here/],
      [["hello"], /Line 1 .*not an export by Clew/],
      [[change(header, { version: 2 })], /has version 2, but this program reads version 1/],
      [[header, first], /Line 2 .*truncated/],
      [lines.toSpliced(5, 1), /should have \d+ documents, but has \d+/],
      [[...lines, first], /there are lines after its end/],
      [[header, "{", ...rest], /Line 2 /],
      [[header, change(first, { collection: "elsewhere" }), ...rest], /collection elsewhere is not in the first line/],
      [[header, change(first, { doc_id: "" }), ...rest], /Line 2 /],
      [
        [header, change(first, { passages: [{ start: 5, end: 9999, start_line: 1, end_line: 1, heading: [] }] })],
        /passage 0 is outside the content/
      ],
      [
        [
          header,
          change(first, { passages: [{ start: 0, end: 1, start_line: 1, end_line: 1, heading: [], vector: "AAAA" }] })
        ],
        /passage 0 has a vector of 0.75 numbers, not 4/
      ],
      [
        [
          header,
          change(first, {
            passages: [
              {
                start: 0,
                end: 1,
                start_line: 1,
                end_line: 1,
                heading: [],
                vector: Buffer.from(Float32Array.of(NaN, 0, 0, 1).buffer).toString("base64")
              }
            ]
          })
        ],
        /not a number/
      ]
    ]
    for (const [given, reason] of cases) {
      const error = yield* inMemory(
        Effect.flatMap(Transfer, ({ take }) => Effect.flip(take(Stream.fromIterable(given))))
      )
      assert.match(error.message, reason)
    }
    const mismatch = yield* inMemory(
      Effect.gen(function* () {
        yield* (yield* whole).createCollection(other, { ...embedder, model: "another" })
        return yield* Effect.flip((yield* Transfer).take(Stream.fromIterable(lines)))
      })
    )
    assert.strictEqual(mismatch._tag, "EmbedderMismatch")
  })
)
