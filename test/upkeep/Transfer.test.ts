import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { createHash } from "node:crypto"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import { type Stores, whole } from "../../src/Store.ts"
import { nextTurn } from "../../src/runtime/EventLoop.ts"
import { Transfer } from "../../src/upkeep/Transfer.ts"
import { document, embedder } from "../contracts/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

/** A store with what is moved in and out of it. */
const inMemory = <A, E>(use: Effect.Effect<A, E, Stores | Transfer>) =>
  use.pipe(Effect.provide(Transfer.Default), Effect.provide(Sqlite.layerMemory))

const vectorOf = (seed: number) => {
  const values = Array.from({ length: 4 }, (_, index) => Math.sin(seed * 7 + index))
  const norm = Math.hypot(...values)
  return Float32Array.from(values, (value) => value / norm)
}

const other = CollectionName.make("other")

/** Its similarities do not depend on the mean of the vectors, of which an index knows a sample. */
const exact = { ...embedder, backend: "builtin" }

const fill = Effect.gen(function* () {
  const store = yield* whole
  for (const name of [defaultCollection, other]) yield* store.createCollection(name, exact)
  const filled = Array.from({ length: 130 }, (_, n) => {
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
    return { ...rest, passages: n % 17 === 0 ? passages.map((passage) => ({ ...passage, ...beside })) : passages }
  })
  for (let from = 0; from < filled.length; from += 13) {
    const batch = filled.slice(from, from + 13)
    const [others, ours] = Arr.partition(batch, (_, at) => (from + at) % 3 !== 0)
    yield* store.put(other, others)
    yield* store.put(defaultCollection, ours)
  }
  yield* store.deleteSource(defaultCollection, "/docs/1.md")
})

const questions = Effect.gen(function* () {
  const store = yield* whole
  const answers = []
  for (const collection of [defaultCollection, other]) {
    for (let n = 0; n < 10; n++) {
      for (const alpha of [0, 0.4, 1]) {
        const hits = yield* ranked(store, {
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

it.effect(
  "skips a document without text, as earlier versions stored it, and deletes what was stored under its name",
  () =>
    Effect.gen(function* () {
      const lines = yield* inMemory(
        Effect.gen(function* () {
          const store = yield* whole
          yield* store.createCollection(other, exact)
          yield* store.put(other, [
            document("Otters", { source: "otters" }),
            { ...document("\u00a0 \n", { source: "blank" }), passages: [] }
          ])
          return yield* exported()
        })
      )
      assert.isTrue(lines.some((line) => line.includes('"blank"')))
      const [taken, stored] = yield* inMemory(
        Effect.gen(function* () {
          const { take } = yield* Transfer
          const store = yield* whole
          yield* store.createCollection(other, exact)
          yield* store.put(other, [document("It had text once", { source: "blank", docId: DocumentId.make("own") })])
          return [yield* take(Stream.fromIterable(lines)), yield* store.list(other, { limit: 10 })] as const
        })
      )
      assert.deepStrictEqual([taken.documents, taken.skipped], [1, 1])
      assert.deepStrictEqual(
        stored.map(({ source }) => source),
        ["otters"]
      )
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

it.effect("writes a document once that changes meanwhile, also if it changes its id", () =>
  Effect.gen(function* () {
    const lines = yield* inMemory(
      Effect.gen(function* () {
        yield* fill
        const store = yield* whole
        const { lines } = yield* Transfer
        let written = 0
        const changing = Stream.tap(lines(defaultCollection), () => {
          // Before the second page is read, what the first one had.
          if (++written !== 20) return Effect.void
          const source = "/docs/2.md"
          return Effect.zipRight(
            store.put(defaultCollection, [document("changed", { source, docId: DocumentId.make("another id") })]),
            store.put(defaultCollection, [document("changed", { source: "/docs/5.md" })])
          )
        })
        return Chunk.toReadonlyArray(yield* Stream.runCollect(changing))
      })
    )
    const { documents } = yield* inMemory(Effect.flatMap(Transfer, ({ take }) => take(Stream.fromIterable(lines))))
    assert.strictEqual(documents, lines.length - 2)
  })
)

it.effect("says where an export is wrong, and in what", () =>
  Effect.gen(function* () {
    const lines = yield* inMemory(Effect.zipRight(fill, exported(other)))
    const [header = "", first = "", ...rest] = lines
    const change = (line: string, with_: object) => JSON.stringify({ ...JSON.parse(line), ...with_ })
    const counted = (changed: ReadonlyArray<string>) => {
      const documents = changed.slice(1, -1).map((line) => JSON.parse(line))
      const passages = documents.reduce((sum, document) => sum + document.passages.length, 0)
      return changed.toSpliced(-1, 1, change(changed.at(-1)!, { documents: documents.length, passages }))
    }
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
      [[], /^The export is empty; see whether the command/],
      [["hello"], /Line 1 .*not an export by Clew/],
      [[change(header, { version: 2 })], /has version 2, but this program reads version 1/],
      [
        [change(header, { collections: [...JSON.parse(header).collections, ...JSON.parse(header).collections] })],
        /Line 1 .*it names collection other twice/
      ],
      [[header, first], /Line 2 .*truncated/],
      [lines.toSpliced(5, 1), /should have 44 documents with \d+ passages, but has 43 with \d+/],
      [[...lines, first], /there are lines after its end/],
      [[header, "{", ...rest], /Line 2 /],
      // Far behind what a first transaction holds.
      [[...lines.slice(0, -1), "{", lines.at(-1)!], /Line 46 /],
      [counted(lines.toSpliced(30, 0, first)), /Line 31 .*the doc_id .* is in an earlier line of collection other too/],
      [
        counted(lines.toSpliced(30, 0, change(first, { doc_id: "another" }))),
        /Line 31 .*the source .* is in an earlier line of collection other too/
      ],
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
      ],
      [
        [
          header,
          change(first, {
            content: "a😀b",
            passages: [{ start: 2, end: 4, start_line: 1, end_line: 1, heading: [] }]
          })
        ],
        /Line 2 .*passage 0 begins or ends within a surrogate pair: 2 to 4/
      ],
      ...[{ title: "\ud800" }, { origin: "/x/\ud800" }, { fingerprint: "\ud800" }, { content: "\ud800" }].map(
        (half) => [[header, change(first, half)], /Line 2 .*half a surrogate pair/] as const
      ),
      // In a few words, and at once, however much it is.
      [[header, JSON.stringify(Array.from({ length: 100_000 }, () => ({})))], /^.{0,200}$/],
      [[header, change(first, { line: Array.from({ length: 100_000 }, () => ({})) })], /^Line 2 .* line: .{0,100}$/],
      [[header, change(first, { metadata: { key: "\ud800" } })], /Line 2 .*half a surrogate pair/],
      [
        [header, change(first, { metadata: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [n, n])) })],
        /Line 2 .*metadata must have at most 1000 keys at all levels/
      ],
      [[header, change(first, { metadata: { deep: { to: "x".repeat(65_536) } } })], /Line 2 .*at most 65536 bytes/],
      [[header, change(first, { metadata: [] })], /Line 2 .*metadata: cannot be a list/],
      [[header, change(first, { source: "x".repeat(4097) })], /Line 2 .*source has more than 4096 characters/],
      [
        [
          header,
          change(first, {
            passages: Array.from({ length: 100_000 }, () => ({
              start: 0,
              end: 9,
              start_line: 1,
              end_line: 1,
              heading: []
            }))
          })
        ],
        /Line 2 .*its passages repeat the content more than 1000 times/
      ],
      [[header, change(first, { origin: "/docs/a\0b.md" })], /Line 2 .*origin has a NUL/],
      ...[
        [9, 8, /Line 2 .*passage 0 ends before it begins: lines 9 to 8/],
        [1, 2 ** 53 - 1, /Line 2 .*passages\[0\]\.end_line: /],
        [0, 1, /Line 2 .*passages\[0\]\.start_line: /]
      ].map(
        ([start_line, end_line, reason]) =>
          [
            [header, change(first, { passages: [{ start: 0, end: 1, start_line, end_line, heading: [] }] })],
            reason
          ] as const as readonly [ReadonlyArray<string>, RegExp]
      ),
      [
        [
          header,
          change(first, {
            passages: [{ start: 0, end: 1, start_line: 1, end_line: 1, heading: [], table_header: "\ud800" }]
          })
        ],
        /Line 2 .*half a surrogate pair/
      ]
    ]
    yield* inMemory(
      Effect.gen(function* () {
        for (const [given, reason] of cases) {
          const error = yield* Effect.flip((yield* Transfer).take(Stream.fromIterable(given)))
          assert.match(error.message, reason)
          const { collections, documents } = yield* (yield* whole).stats()
          assert.deepStrictEqual([collections, documents], [0, 0], error.message)
        }
      })
    )
    const conflict = yield* inMemory(
      Effect.gen(function* () {
        const store = yield* whole
        yield* store.createCollection(other, embedder)
        // The last document's id and source belong to two others.
        const last = JSON.parse(lines.at(-2)!)
        yield* store.put(other, [
          document("one", { docId: DocumentId.make(last.doc_id) }),
          document("two", { source: last.source, docId: DocumentId.make("two") })
        ])
        const error = yield* Effect.flip((yield* Transfer).take(Stream.fromIterable(lines)))
        assert.strictEqual((yield* store.stats()).documents, 2)
        return error
      })
    )
    assert.match(conflict.message, /Line 45 of the export: the index has another document: doc_id .* and source /)
    const mismatch = yield* inMemory(
      Effect.gen(function* () {
        yield* (yield* whole).createCollection(other, { ...embedder, model: "another" })
        return yield* Effect.flip((yield* Transfer).take(Stream.fromIterable(lines)))
      })
    )
    assert.strictEqual(mismatch._tag, "EmbedderMismatch")
    assert.match(mismatch.message, /^Collection other of the index has vectors by \w+ another .*, the export's are by /)
  })
)

it.effect("lets others work while it reads a document of very many passages", () =>
  inMemory(
    Effect.gen(function* () {
      const passage = { start: 0, end: 0, start_line: 1, end_line: 1, heading: [] }
      const passages = [...Array.from({ length: 10_000 }, () => passage), { ...passage, end: 9999 }]
      const lines = [
        JSON.stringify({
          format: "clew-export",
          version: 1,
          clew: "0.1.0",
          collections: [
            {
              name: other,
              embedding: { backend: "x", model: "x", dimensions: 4, query_prefix: "", passage_prefix: "" }
            }
          ]
        }),
        JSON.stringify({
          collection: other,
          doc_id: "a",
          metadata: {},
          fingerprint: "",
          content: "x".repeat(10),
          passages
        })
      ]
      let turns = 0
      yield* Effect.fork(
        Effect.forever(
          Effect.tap(nextTurn, () => {
            turns++
          })
        )
      )
      const error = yield* Effect.flip((yield* Transfer).take(Stream.fromIterable(lines)))
      assert.match(error.message, /passage 10000 is outside the content/)
      assert.isAbove(turns, 5)
    })
  )
)

it.effect("cuts long metadata, as earlier versions kept of a mail to very many", () =>
  inMemory(
    Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(other, embedder)
      const to = Array.from({ length: 3000 }, (_, n) => `reader${n}@mailing-list.example`)
      yield* store.put(other, [document("Dear all", { source: "all.eml", metadata: { to, from: "me" } })])
      const lines = yield* exported(other)
      yield* store.dropCollection(other)
      yield* (yield* Transfer).take(Stream.fromIterable(lines))
      const [, line = ""] = yield* exported(other)
      const { metadata } = JSON.parse(line) as { metadata: { from: string; to: ReadonlyArray<string> } }
      assert.strictEqual(metadata.from, "me")
      assert.deepStrictEqual(metadata.to, to.slice(0, metadata.to.length))
      assert.isAbove(metadata.to.length, 500)
    })
  )
)

it.effect("takes passages that do not begin in their order, as earlier versions made of subtitles", () =>
  inMemory(
    Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(other, embedder)
      const { passages: _, ...given } = document("one two three four", { source: "talk.srt" })
      const passages = [
        [0, 7],
        [8, 18],
        [4, 13]
      ].map(([start, end]) => ({
        text: given.content.slice(start, end),
        heading: [],
        start: start!,
        end: end!,
        startLine: 1,
        endLine: 1,
        vector: Option.none()
      }))
      yield* store.put(other, [{ ...given, passages }])
      const stored = Effect.map(store.get(other, given.derivedId), (document) => Struct.omit(document, "indexedAt"))
      const before = yield* stored
      const lines = yield* exported(other)
      yield* store.dropCollection(other)
      yield* (yield* Transfer).take(Stream.fromIterable(lines))
      assert.deepStrictEqual(yield* stored, before)
    })
  )
)

it.effect("goes on where an import broke off, and leaves alone what is there already", () =>
  Effect.gen(function* () {
    const lines = yield* inMemory(Effect.zipRight(fill, exported()))
    const resumed = yield* inMemory(
      Effect.gen(function* () {
        const { take } = yield* Transfer
        let passes = 0
        const broken = Stream.suspend(() =>
          passes++ === 0
            ? Stream.fromIterable(lines)
            : Stream.concat(Stream.fromIterable(lines.slice(0, -20)), Stream.fail("gone"))
        )
        assert.strictEqual(yield* Effect.flip(take(broken)), "gone")
        const before = (yield* (yield* whole).stats()).documents
        const { documents, unchanged } = yield* take(Stream.fromIterable(lines))
        assert.isAbove(before, 0)
        assert.deepStrictEqual([documents, unchanged], [lines.length - 2, before])
        assert.strictEqual((yield* take(Stream.fromIterable(lines))).unchanged, documents)
        return yield* exported()
      })
    )
    assert.deepStrictEqual(resumed, lines)
  })
)

it.effect("brings a large collection's linkage along, in whatever order its documents came", () =>
  Effect.gen(function* () {
    const nameOf = (n: number) => `Basin ${[...`${n}`].map((digit) => "BcdfgHjklm"[Number(digit)]).join("a")}`
    const named = (n: number) => ({
      ...document(`The water of ${n % 3 === 0 ? nameOf((n * 7 + 1) % 900) : "nothing"} lies beside it.`, {
        source: `/basins/${n}.md`,
        title: nameOf(n)
      }),
      fingerprint: createHash("sha256").update(`${n}`).digest("hex")
    })
    const [before, measured, lines] = yield* inMemory(
      Effect.gen(function* () {
        const store = yield* whole
        yield* store.createCollection(other, embedder)
        for (let from = 0; from < 900; from += 100) {
          yield* store.put(
            other,
            Array.from({ length: 100 }, (_, n) => named(from + n))
          )
        }
        for (let n = 0; n < 300; n++) yield* store.deleteSource(other, `/basins/${n}.md`)
        yield* store.put(
          other,
          Array.from({ length: 90 }, (_, n) => named(n))
        )
        const before = yield* store.linkage(other)
        // Few enough changes that the measured figure is kept, and documents in another order.
        for (let n = 300; n < 330; n++) yield* store.put(other, [named(n)])
        return [before, yield* store.linkage(other), yield* exported(other)] as const
      })
    )
    assert.isAbove(before, 0)
    const after = yield* inMemory(
      Effect.gen(function* () {
        yield* (yield* Transfer).take(Stream.fromIterable(lines))
        const store = yield* whole
        const taken = yield* store.linkage(other)
        const again = yield* exported(other)
        assert.deepStrictEqual(again, lines)
        return taken
      })
    )
    assert.strictEqual(after, measured)
  })
)
