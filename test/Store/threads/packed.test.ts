import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import { packDocument, packingPrepared, unpackDocument, unpackPrepared } from "../../../src/Store/threads/crossing.ts"
import { DocumentId } from "../../../src/model/Document.ts"
import { withoutPause } from "../../../src/model/withoutPause.ts"

const cut = FastCheck.record({
  start: FastCheck.nat(30),
  length: FastCheck.nat(10),
  startLine: FastCheck.integer({ min: 1, max: 2 ** 31 - 1 }),
  lines: FastCheck.nat(5),
  heading: FastCheck.array(FastCheck.constantFrom("a", "b", 'c"'), { maxLength: 3 }),
  locator: FastCheck.constantFrom(undefined, { _tag: "Page" as const, page: 3 }),
  tableHeader: FastCheck.constantFrom(undefined, "a | b"),
  said: FastCheck.constantFrom(undefined, { model: "m", entities: ["e"], relations: [] }),
  hasVector: FastCheck.boolean()
})

interface Cut {
  readonly start: number
  readonly length: number
  readonly startLine: number
  readonly lines: number
  readonly heading: ReadonlyArray<string>
  readonly locator: { readonly _tag: "Page"; readonly page: number } | undefined
  readonly tableHeader: string | undefined
}

const passageOf = (content: string, { heading, length, lines, locator, start, startLine, tableHeader }: Cut) => {
  const from = Math.min(start, content.length)
  const end = Math.min(from + length, content.length)
  const endLine = Math.min(startLine + lines, 2 ** 31 - 1)
  return {
    text: content.slice(from, end),
    heading,
    start: from,
    end,
    startLine,
    endLine,
    ...(locator === undefined ? {} : { locator }),
    ...(tableHeader === undefined ? {} : { tableHeader })
  }
}

describe("a packed document", () => {
  it.prop(
    "unpacks to what it was",
    { content: FastCheck.string({ unit: "binary" }), cuts: FastCheck.array(cut) },
    (given) => {
      const { content, cuts } = given
      const document = {
        docId: DocumentId.make("d"),
        source: "s",
        title: undefined,
        metadata: { a: [1] },
        content,
        indexedAt: 7,
        passages: cuts.map((cut, ordinal) => ({ ordinal, ...passageOf(content, cut) }))
      }
      assert.deepStrictEqual(unpackDocument(structuredClone(packDocument(document))), document)
    }
  )

  it.prop(
    "with vectors and what a model said unpacks to what it was",
    { content: FastCheck.string({ unit: "binary" }), cuts: FastCheck.array(cut) },
    ({ content, cuts }) => {
      const document = {
        derivedId: DocumentId.make("d"),
        fingerprint: "f",
        language: "en",
        metadata: {},
        content,
        passages: cuts.map((cut, at) => ({
          ...passageOf(content, cut),
          ...(cut.said === undefined ? {} : { said: cut.said }),
          vector: cut.hasVector ? Option.some(Float32Array.of(at, -at)) : Option.none()
        }))
      }
      assert.deepStrictEqual(unpackPrepared(structuredClone(withoutPause(packingPrepared(document)))), document)
    }
  )

  it("with vectors in memory that threads share takes that along, and copies none", () => {
    const shared = new Float32Array(new SharedArrayBuffer(32))
    shared.set([9, 1, 2, 3, 4, 5, 6, 9])
    const [one, two, three] = [shared.subarray(1, 3), shared.subarray(3, 5), shared.subarray(5, 7)]
    const packed = (...vectors: ReadonlyArray<Float32Array | undefined>) => {
      const passages = vectors.map((vector, at) => ({
        ...passageOf("text", {
          heading: [],
          length: 1,
          lines: 0,
          locator: undefined,
          start: at,
          startLine: 1,
          tableHeader: undefined
        }),
        vector: Option.fromNullable(vector)
      }))
      const names = { derivedId: DocumentId.make("d"), fingerprint: "f", language: "en", metadata: {}, content: "text" }
      const { vectors: crossing, ...rest } = withoutPause(packingPrepared({ ...names, passages }))
      const found = unpackPrepared(structuredClone({ ...rest, vectors: crossing })).passages
      assert.deepStrictEqual(
        found.map(({ vector }) => Option.getOrUndefined(vector)),
        vectors
      )
      return crossing.values
    }
    const together = packed(one, undefined, two, three)
    assert.strictEqual(together.buffer, shared.buffer)
    assert.deepStrictEqual([...together], [1, 2, 3, 4, 5, 6])
    // What does not follow one another is copied.
    for (const apart of [packed(two, one), packed(one, three), packed(one, Float32Array.of(3, 4))])
      assert.notInstanceOf(apart.buffer, SharedArrayBuffer)
  })
})
