import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { DocumentId } from "../../../src/model/Document.ts"
import { packDocument, unpackDocument } from "../../../src/Store/threads/packed.ts"

const cut = FastCheck.record({
  start: FastCheck.nat(30),
  length: FastCheck.nat(10),
  startLine: FastCheck.integer({ min: 1, max: 2 ** 31 - 1 }),
  lines: FastCheck.nat(5),
  heading: FastCheck.array(FastCheck.constantFrom("a", "b", 'c"'), { maxLength: 3 })
})

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
        passages: cuts.map(({ heading, length, lines, start, startLine }, ordinal) => {
          const from = Math.min(start, content.length)
          const end = Math.min(from + length, content.length)
          const endLine = Math.min(startLine + lines, 2 ** 31 - 1)
          return { ordinal, text: content.slice(from, end), heading, start: from, end, startLine, endLine }
        })
      }
      assert.deepStrictEqual(unpackDocument(structuredClone(packDocument(document))), document)
    }
  )
})
