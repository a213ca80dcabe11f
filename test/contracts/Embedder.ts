import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Embedder } from "../../src/Embedder.ts"
import { sameEmbedder } from "../../src/model/Collection.ts"

/** What a suite needs to know of the embedder it runs against. */
export interface EmbedderUnderTest {
  /** Different texts, each of which has a vector. */
  readonly texts?: ReadonlyArray<string>
  /** A text without a known token, for an embedder that has such. */
  readonly unknown?: string
}

const sentences = [
  "The quick brown fox jumps over the lazy dog.",
  "Supersonic flow over a slender delta wing",
  "How do I reset a forgotten PostgreSQL password?",
  "Vitamin D deficiency is unrelated to birth weight.",
  "The store keeps documents, their passages and their vectors."
]

const cosine = (a: Float32Array, b: Float32Array): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0)

/** What every Embedder promises. */
export const embedderContract = (
  name: string,
  layer: Layer.Layer<Embedder, unknown>,
  { texts = sentences, unknown }: EmbedderUnderTest = {}
) =>
  it.layer(layer)(`Embedder: ${name}`, (it) => {
    it.effect("says what it is, the same each time", () =>
      Effect.gen(function* () {
        const { identity } = yield* Embedder
        const first = yield* identity
        assert.isAbove(first.dimensions, 0)
        assert.isNotEmpty(first.backend)
        assert.isNotEmpty(first.model)
        assert.isTrue(sameEmbedder(first, yield* identity))
      })
    )

    it.effect("gives unit vectors as wide as it says, for queries and passages alike", () =>
      Effect.gen(function* () {
        const { embedPassages, embedQuery, identity } = yield* Embedder
        const { dimensions } = yield* identity
        const passages = yield* embedPassages(texts)
        const queries = yield* Effect.forEach(texts, embedQuery)
        for (const vector of Option.all([...passages, ...queries]).pipe(Option.getOrThrow)) {
          assert.instanceOf(vector, Float32Array)
          assert.lengthOf(vector, dimensions)
          assert.closeTo(Math.hypot(...vector), 1, 1e-5)
        }
      })
    )

    it.effect("answers in the order it was asked, however many there are", () =>
      Effect.gen(function* () {
        const { embedPassages } = yield* Embedder
        const one = yield* Effect.forEach(texts, (text) => Effect.map(embedPassages([text]), ([vector]) => vector!))
        const order = Array.from({ length: 301 }, (_, i) => (i * i) % texts.length)
        const many = yield* embedPassages(order.map((i) => texts[i]!))
        assert.lengthOf(many, order.length)
        for (const [at, i] of order.entries()) {
          const alike = texts.map((_, j) => cosine(Option.getOrThrow(many[at]!), Option.getOrThrow(one[j]!)))
          assert.closeTo(alike[i]!, 1, 1e-4)
          assert.strictEqual(alike.indexOf(Math.max(...alike)), i)
        }
      })
    )

    it.effect("answers nothing with nothing", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* (yield* Embedder).embedPassages([]), [])
      })
    )

    it.effect("answers several callers at once as it answers one", () =>
      Effect.gen(function* () {
        const { embedPassages } = yield* Embedder
        const alone = yield* embedPassages(texts)
        const together = yield* Effect.all(
          Array.from({ length: 8 }, () => embedPassages(texts)),
          { concurrency: "unbounded" }
        )
        for (const answer of together) {
          assert.lengthOf(answer, texts.length)
          for (const [i, vector] of answer.entries()) {
            assert.closeTo(cosine(Option.getOrThrow(vector), Option.getOrThrow(alone[i]!)), 1, 1e-4)
          }
        }
      })
    )

    it.effect("never gives a vector that is no direction", () =>
      Effect.gen(function* () {
        const { embedPassages, embedQuery } = yield* Embedder
        const odd = [
          "",
          " \n\t",
          "\u0000\u0007",
          "\ud800 lone",
          "😀",
          "漢字",
          "a".repeat(5000),
          ...(unknown ? [unknown] : [])
        ]
        const vectors = [...(yield* embedPassages(odd)), ...(yield* Effect.forEach(odd, embedQuery))]
        for (const vector of vectors) {
          if (Option.isSome(vector)) assert.closeTo(Math.hypot(...vector.value), 1, 1e-5)
        }
      })
    )

    if (unknown !== undefined) {
      it.effect("has no vector for a text without a known token", () =>
        Effect.gen(function* () {
          const { embedPassages, embedQuery } = yield* Embedder
          assert.deepStrictEqual(yield* embedQuery(unknown), Option.none())
          const [before, none, after] = yield* embedPassages([texts[0]!, unknown, texts[1]!])
          assert.isTrue(Option.isSome(before!) && Option.isNone(none!) && Option.isSome(after!))
        })
      )
    }
  })
