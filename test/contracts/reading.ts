import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import { CollectionName } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Filter } from "../../src/model/Filter.ts"
import type { ListPage } from "../../src/model/Stored.ts"
import { type Stores, whole } from "../../src/Store.ts"
import { ranking } from "../ranked.ts"
import { document, embedder } from "./Store.ts"

let made = 0

/** Each test works in a collection of its own. */
const fresh = Effect.gen(function* () {
  const store = yield* whole
  const { name } = yield* store.createCollection(CollectionName.make(`reading${made++}`), embedder)
  const facets = (names: ReadonlyArray<string>, filter: Filter = {}) =>
    Effect.map(
      store.find({ ...ranking({ collection: name, keyword: "tide", filter }), facets: names }),
      (found) => found.facets!
    )
  return { store, name, facets }
})

const scalar = FastCheck.oneof(
  FastCheck.constantFrom("x", "y", "ä", "", "1", "\u0000\u0001"),
  FastCheck.integer({ min: -2, max: 2 }),
  FastCheck.constantFrom(0.5, -1e300, true, false)
)
const value = FastCheck.oneof(scalar, FastCheck.array(scalar, { maxLength: 3 }), FastCheck.constantFrom(null, {}))
const written = FastCheck.record({
  n: FastCheck.nat(5),
  folder: FastCheck.constantFrom("", "/", "/a/", "/a/b/", "/a/b?/", "c/"),
  metadata: FastCheck.dictionary(FastCheck.constantFrom("m", "n"), value),
  gone: FastCheck.boolean(),
  lines: FastCheck.integer({ min: 1, max: 3 })
})

/** What a user sees of documents without searching, and counted around a search; the same from every store. */
export const readingContract = (name: string, layer: Layer.Layer<Stores, unknown>) =>
  it.layer(layer)(`Store, read: ${name}`, (it) => {
    it.effect.prop(
      "counts by facets what the filter of each value leaves, whatever came and went",
      [
        FastCheck.array(written, { minLength: 1, maxLength: 8 }),
        FastCheck.constantFrom<Filter>({}, { m: { not: "x" } })
      ],
      ([all, filter]) =>
        Effect.gen(function* () {
          const { facets, name, store } = yield* fresh
          const names = ["folder", "format", "indexed", "collection", "m", "n"]
          const compared = Effect.gen(function* () {
            const found = yield* facets(names, filter)
            for (const facet of names) {
              const { others, values } = found[facet]!
              assert.strictEqual(others, 0)
              for (const { count, filter: own, value } of values) {
                const left = yield* store.list(name, { limit: 100, filter: { and: [filter, own ?? {}] } })
                assert.strictEqual(count, left.length, `${facet} ${JSON.stringify(value)}`)
              }
            }
            // And no value is missing.
            for (const key of ["m", "n"]) {
              for (const { docId } of yield* store.list(name, { limit: 100, filter })) {
                const { metadata } = yield* store.get(name, docId)
                const scalars = [metadata[key]].flat().filter((one) => one !== null && typeof one !== "object")
                for (const one of scalars) {
                  if (one === undefined) continue
                  assert.isTrue(
                    found[key]!.values.some(({ value }) => Object.is(value, one)),
                    `${key} ${JSON.stringify(one)}`
                  )
                }
              }
            }
          })
          for (const { folder, gone, lines, metadata, n } of all) {
            const source = `${folder}${n}.${n % 2 === 0 ? "md" : "MD"}`
            const text = Array.from({ length: lines }, (_, at) => `tide ${at}`).join("\n")
            yield* store.put(name, [document(text, { source, metadata, fingerprint: JSON.stringify([metadata, n]) })])
            yield* compared
            if (gone) {
              yield* store.deleteSource(name, source)
              yield* compared
            }
          }
        }),
      { fastCheck: { numRuns: 4 } }
    )

    it.effect("lists by figures and by a part of a name, page by page", () =>
      Effect.gen(function* () {
        const { name, store } = yield* fresh
        for (let n = 0; n < 9; n++) {
          const text = Array.from({ length: 1 + (n % 2) }, () => "tide").join("\n")
          yield* store.put(name, [document(text, { source: `Ä/${n}.md`, metadata: { n } })])
        }
        const all = Effect.fnUntraced(function* (page: Omit<ListPage, "limit" | "after" | "from">) {
          const seen: Array<string> = []
          for (let from: ListPage["from"]; ;) {
            const found = yield* store.list(name, { ...page, limit: 2, from })
            seen.push(...found.map(({ source }) => source!))
            const last = found.at(-1)
            if (last === undefined) return seen
            from = [page.by === "passages" ? last.passages : last.indexedAt, last.place]
          }
        })
        const sources = [0, 2, 4, 6, 8, 1, 3, 5, 7].map((n) => `Ä/${n}.md`)
        assert.deepStrictEqual(yield* all({ by: "passages" }), sources)
        assert.deepStrictEqual(yield* all({ by: "passages", falling: true }), sources.toReversed())
        assert.deepStrictEqual(
          yield* all({ by: "passages", filter: { n: { gte: 5 } } }),
          sources.filter((s) => s >= "Ä/5")
        )
        const times = yield* all({ by: "indexed_at" })
        assert.deepStrictEqual(times, sources.toSorted())
        assert.deepStrictEqual(yield* all({ by: "indexed_at", named: "ä/3" }), ["Ä/3.md"])
        assert.deepStrictEqual(yield* all({ by: "passages", named: "ö" }), [])
      })
    )

    it.effect("gives a document's passages page by page", () =>
      Effect.gen(function* () {
        const { name, store } = yield* fresh
        const docId = DocumentId.make("d")
        yield* store.put(name, [document("one\ntwo\nthree", { docId, title: "T" })])
        const { passages } = yield* store.get(name, docId)
        const head = { docId, source: undefined, title: "T", total: 3 }
        const page = (offset: number) => store.passages(name, docId, { offset, limit: 2 })
        assert.deepStrictEqual(yield* page(0), { ...head, passages: passages.slice(0, 2) })
        assert.deepStrictEqual(yield* page(2), { ...head, passages: passages.slice(2) })
        assert.deepStrictEqual(yield* page(3), { ...head, passages: [] })
        const missing = yield* Effect.flip(store.passages(name, DocumentId.make("e"), { offset: 0, limit: 2 }))
        assert.strictEqual(missing._tag, "DocumentNotFound")
      })
    )

    it.effect("suggests titles and names by their beginnings, of what is there", () =>
      Effect.gen(function* () {
        const { name, store } = yield* fresh
        yield* store.put(name, [
          document("said Ada Lovelace", { source: "a", title: "Äther and\u0001Air" }),
          document("again Ada Lovelace", { source: "b", title: "Air_lines" }),
          document("and Ada Lovelace", { source: "c", title: "AIR%" }),
          document("no name", { source: "d", title: "SSH" })
        ])
        const told = (prefix: string) =>
          Effect.map(store.suggest([name], prefix, 5), (all) => all.map(({ kind, text }) => `${kind}: ${text}`))
        assert.deepStrictEqual(yield* told("air"), ["title: AIR%", "title: Air_lines"])
        // Of names that the graph has, punctuation is ignored.
        assert.deepStrictEqual(yield* told("air_"), ["title: Air_lines", "title: AIR%"])
        assert.deepStrictEqual(yield* told("äTH"), ["title: Äther and\u0001Air"])
        assert.deepStrictEqual([yield* told("ss"), yield* told("ß")], [["title: SSH"], []])
        assert.deepStrictEqual(yield* told("ada l"), ["name: Ada Lovelace"])
        yield* store.deleteSource(name, "a")
        yield* store.deleteSource(name, "b")
        assert.deepStrictEqual(yield* told("ada l"), ["name: Ada Lovelace"])
        yield* store.deleteSource(name, "c")
        assert.deepStrictEqual(yield* told("a"), [])
      })
    )
  })
