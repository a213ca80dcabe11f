import { assert, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { filterQuery, metadataTerms, readTerm } from "../../../src/Store/opensearch/filter.ts"
import { sortable } from "../../../src/Store/core/clauses.ts"

const bytes = (text: string) => Buffer.from(text)

it.prop(
  "writes numbers in the order of numbers, and reads them back",
  {
    a: FastCheck.double({ noNaN: true, noDefaultInfinity: true }),
    b: FastCheck.double({ noNaN: true, noDefaultInfinity: true })
  },
  ({ a, b }) => {
    const order = Buffer.compare(bytes(sortable(a)), bytes(sortable(b)))
    assert.strictEqual(Math.sign(order), a === b ? 0 : a < b ? -1 : 1)
    assert.strictEqual(readTerm(`k\0n\0${sortable(a)}`), a === 0 ? 0 : a)
  }
)

const scalar = FastCheck.oneof(FastCheck.string(), FastCheck.boolean(), FastCheck.integer())

it.prop(
  "gives each value of a key a term that no other key and value have",
  { key: FastCheck.string(), other: FastCheck.string(), value: scalar, another: scalar },
  ({ another, key, other, value }) => {
    const [term] = metadataTerms({ [key]: value }).meta
    const [second] = metadataTerms({ [other]: another }).meta
    assert.strictEqual(term === second, key === other && Object.is(value, another))
    assert.deepStrictEqual(readTerm(term!), value)
    assert.isBelow(bytes(term!).length, 32_767)
  }
)

it("keeps long keys and values within the length of a term", () => {
  const [term] = metadataTerms({ ["€".repeat(20_000)]: "€".repeat(20_000) }).meta
  assert.isBelow(bytes(term!).length, 32_767)
})

it("asks a range of one value, by its tightest bounds", () => {
  assert.deepStrictEqual(filterQuery({ year: { gte: 1990, gt: 1991, lt: 2000 } }), {
    range: { meta: { gt: `year\0n\0${sortable(1991)}`, lt: `year\0n\0${sortable(2000)}` } }
  })
  assert.deepStrictEqual(filterQuery({ lang: { gte: "d" } }), {
    range: { meta: { gte: "lang\0s\0d", lt: "lang\0s\u0001" } }
  })
  assert.deepStrictEqual(filterQuery({ mixed: { gte: "d", lt: 3 } }), { match_none: {} })
})

it("asks for times in whole milliseconds, none beyond 64 bits", () => {
  assert.deepStrictEqual(filterQuery({ indexed_at: { gte: 1.5, lt: 1e308 } }), {
    bool: {
      filter: [{ range: { indexed_at: { gte: 2 } } }, { range: { indexed_at: { lt: Number.MAX_SAFE_INTEGER } } }]
    }
  })
  assert.deepStrictEqual(filterQuery({ indexed_at: [1.5, 7, 1e30] }), { terms: { indexed_at: [7] } })
})

it("asks for sources by name and by glob, and for what a document must not have", () => {
  assert.deepStrictEqual(filterQuery({}), { match_all: {} })
  assert.deepStrictEqual(filterQuery({ source: "a\\b/***.md" }), {
    bool: {
      should: [{ terms: { name: ["a\\b/***.md"] } }, { wildcard: { name: { value: "a\\\\b/*.md" } } }],
      minimum_should_match: 1
    }
  })
  assert.deepStrictEqual(filterQuery({ lang: { not: "en" } }), {
    bool: { must_not: [{ terms: { meta: ["lang\0s\0en"] } }] }
  })
  assert.deepStrictEqual(filterQuery({ source: { exists: false } }), {
    bool: { must_not: [{ term: { has_source: true } }] }
  })
})
