import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { extract } from "../../src/text/extract.ts"
import { hit } from "../hits.ts"

const tides = hit({
  text: "# Tides\n\nThe moon pulls the sea. Twice a day the water rises and falls.\n\nThe spring tide is highest when sun and moon stand in a line."
})
const bread = hit({ text: "Knead the dough and let it rest. Bake the bread in a hot oven until the crust is brown." })

describe("extract", () => {
  it("finds the sentences that answer, in the order of their passages", () => {
    assert.deepStrictEqual(extract("when is the spring tide highest", [bread, tides]), [
      { n: 2, text: "The spring tide is highest when sun and moon stand in a line." }
    ])
    const both = extract("bread in the oven, and the moon and the sea", [bread, tides])
    assert.deepStrictEqual(
      both.map(({ n }) => n),
      both.map(({ n }) => n).toSorted((a, b) => a - b)
    )
    assert.include(
      both.map(({ text }) => text),
      "The moon pulls the sea."
    )
  })

  it("has nothing to say where no sentence has a word of the question, or there is no passage", () => {
    assert.deepStrictEqual(extract("zyzzyva", [tides, bread]), [])
    assert.deepStrictEqual(extract("tides", []), [])
    assert.deepStrictEqual(extract("", [tides]), [])
  })

  it("does not say the same twice", () => {
    const quotes = extract("spring tide", [tides, tides, tides])
    assert.lengthOf(quotes, 1)
  })

  const words = FastCheck.array(
    FastCheck.constantFrom("moon", "sea", "tide", "bread", "oven", "is", "the", "Rises.", "\n\n", "ends?", "漢字。"),
    {
      maxLength: 60
    }
  ).map((parts) => parts.join(" "))

  it.prop(
    "every quote stands in the passage of its number, at most four",
    { query: words, texts: FastCheck.array(words, { maxLength: 6 }) },
    ({ query, texts }) => {
      const quotes = extract(
        query,
        texts.map((text) => hit({ text }))
      )
      assert.isAtMost(quotes.length, 4)
      for (const { n, text } of quotes) assert.include(texts[n - 1]!.replace(/\s+/g, " "), text)
    }
  )
})
