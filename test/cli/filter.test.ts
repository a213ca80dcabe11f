import * as Either from "effect/Either"
import { assert, describe, it } from "vitest"
import { parseFilter } from "../../src/cli/filter.ts"

const parse = (...texts: ReadonlyArray<string>) =>
  Either.getOrThrowWith(parseFilter(texts, "/here"), (error) => new Error(error))

const refused = (...texts: ReadonlyArray<string>): string =>
  Either.match(parseFilter(texts, "/here"), {
    onLeft: (error) => error,
    onRight: () => assert.fail("should be refused")
  })

describe("parseFilter", () => {
  it("is no filter without texts", () => assert.deepStrictEqual(parse(), {}))

  it("looks for a word as it stands", () => assert.deepStrictEqual(parse("lang=en"), { lang: "en" }))

  it("looks for any of several", () => assert.deepStrictEqual(parse("lang=en, de"), { lang: ["en", "de"] }))

  it("looks for numbers and booleans as such and as text, since metadata may hold either", () => {
    assert.deepStrictEqual(parse("year=2020", "draft=true"), { year: [2020, "2020"], draft: [true, "true"] })
    assert.deepStrictEqual(parse("score=-1.5e3"), { score: [-1500, "-1.5e3"] })
  })

  it("takes bounds, several of one key together", () => {
    assert.deepStrictEqual(parse("year>=2000", "year<2010.5", "name>m"), {
      year: { gte: 2000, lt: 2010.5 },
      name: { gt: "m" }
    })
  })

  it("takes quoted values for what they say", () => {
    assert.deepStrictEqual(parse('year="2020"', 'tags=["a, b","c"]'), { year: "2020", tags: ["a, b", "c"] })
  })

  it("keeps an equals sign in the value", () => assert.deepStrictEqual(parse("url=a?b=c"), { url: "a?b=c" }))

  it("looks for a relative source below the working directory too", () => {
    assert.deepStrictEqual(parse("source=docs/*"), { source: ["docs/*", "/here/docs/*"] })
    assert.deepStrictEqual(parse("source=/abs/*.md"), { source: "/abs/*.md" })
  })

  it("says what is wrong", () => {
    assert.include(refused("lang"), '--filter "lang": write KEY=VALUE')
    assert.include(refused("=en"), "write KEY=VALUE")
    assert.include(refused("lang="), "write KEY=VALUE")
    assert.include(refused("lang=en", "lang=de"), "lang is filtered already; write lang=A,B")
    assert.include(refused("year>1", "year>2"), "year is filtered already")
    assert.include(refused("year=1", "year>2"), "year is filtered already")
  })
})
