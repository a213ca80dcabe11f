import * as Either from "effect/Either"
import { assert, describe, it } from "vitest"
import { parseFilter } from "../../src/cli/asking.ts"

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

  it("takes == for =", () => assert.deepStrictEqual(parse("lang==en", 'a == "=b"'), { lang: "en", a: "=b" }))

  it("keeps an equals sign in the value", () => assert.deepStrictEqual(parse("url=a?b=c"), { url: "a?b=c" }))

  it("looks for a relative source below the working directory too", () => {
    assert.deepStrictEqual(parse("source=docs/*"), { source: ["docs/*", "/here/docs/*"] })
    assert.deepStrictEqual(parse("source=/abs/*.md"), { source: "/abs/*.md" })
  })

  it("takes what must not be", () => {
    assert.deepStrictEqual(parse("year!=2021"), { year: { not: [2021, "2021"] } })
    assert.deepStrictEqual(parse("lang != en, de", "year>=2000", "year!=2005"), {
      lang: { not: ["en", "de"] },
      year: { gte: 2000, not: [2005, "2005"] }
    })
    assert.deepStrictEqual(parse("source!=docs/*"), { source: { not: ["docs/*", "/here/docs/*"] } })
  })

  it("takes whether a key is there", () => {
    assert.deepStrictEqual(parse("lang exists"), { lang: { exists: true } })
    assert.deepStrictEqual(parse("my key  not exists"), { "my key": { exists: false } })
    assert.deepStrictEqual(parse("not exists"), { not: { exists: true } })
  })

  it("takes alternatives, and filters in JSON", () => {
    const either = { or: [{ lang: "en" }, { year: { gt: 2000 } }, { draft: { exists: true } }] }
    assert.deepStrictEqual(parse("lang=en or year>2000 or draft exists"), either)
    assert.deepStrictEqual(parse("lang=en or year>2000 or draft exists", "ok=yes"), { ok: "yes", and: [either] })
    assert.deepStrictEqual(parse("title=this or that"), { title: "this or that" })
    assert.deepStrictEqual(parse("lang=en OR lang=de || title=THIS OR THAT"), {
      or: [{ lang: "en" }, { lang: "de" }, { title: "THIS OR THAT" }]
    })
    assert.deepStrictEqual(parse('title="a or b=c"', 'name="a AND b=c"'), { title: "a or b=c", name: "a AND b=c" })
    assert.deepStrictEqual(parse('title="x or y=1" or name=="a and b=c"'), {
      or: [{ title: "x or y=1" }, { name: "a and b=c" }]
    })
    assert.deepStrictEqual(parse("title=War and Peace or lang=de"), {
      or: [{ title: "War and Peace" }, { lang: "de" }]
    })
    assert.deepStrictEqual(parse('{"or": [{"lang": "en"}, {"year": {"not": 1}}]}'), {
      or: [{ lang: "en" }, { year: { not: 1 } }]
    })
    assert.include(refused('{"or": [{"lang": {"in": 1}}]}'), "for equal to, or any of")
    assert.include(refused("{lang}"), "not a JSON object")
  })

  it("says how to ask for conditions that must all hold", () => {
    for (const text of [
      "lang=en and year>2000",
      "lang=en AND year=2000",
      "lang=en && year=2000",
      "lang=de and draft not exists"
    ])
      assert.include(refused(text), "repeat --filter")
    assert.deepStrictEqual(parse("title=black and white"), { title: "black and white" })
  })

  it("refuses alternatives of nothing, at any level", () => {
    for (const key of ["or", "and"]) {
      for (const filter of [{ [key]: [] }, { or: [{ lang: "en" }, { [key]: [] }] }]) {
        assert.include(refused(JSON.stringify(filter)), `${key} needs at least one filter`)
      }
      assert.deepStrictEqual(parse(JSON.stringify({ [key]: ["x"] })), { [key]: ["x"] })
    }
  })

  it("takes keys of any name", () => {
    assert.deepStrictEqual(parse("constructor=x", "toString>1"), { constructor: "x", toString: { gt: 1 } } as never)
    assert.include(refused("__proto__=x"), "__proto__")
  })

  it("says what is wrong", () => {
    assert.include(refused("lang"), '--filter "lang": write KEY=VALUE')
    assert.include(refused("=en"), "write KEY=VALUE")
    assert.include(refused("lang="), "write KEY=VALUE")
    assert.include(refused("lang=en", "lang=de"), "lang is already filtered; write lang=A,B")
    assert.include(refused("year>1", "year>2"), "year is already filtered")
    assert.include(refused("year=1", "year>2"), "year is already filtered")
  })
})
