import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Hit } from "../../src/model/SearchResult.ts"
import { folded, unfolded } from "../../src/ranking/folding.ts"
import { Seen, sketch } from "../../src/ranking/resemblance.ts"

const prose =
  "The harbour master rings the bell at every turn of the tide, and whoever has a boat on the sand comes down to the " +
  "water with ropes and lanterns, since the sea is back before the second bell and takes what nobody has tied to the wall."

/** Words of a document, cut into passages that share two words with the one before. */
const passages = (source: string, words: ReadonlyArray<string>, size = 6): ReadonlyArray<Hit> => {
  const content = words.join(" ")
  const starts = words.map((_, at) => words.slice(0, at).join(" ").length + (at === 0 ? 0 : 1))
  const found: Array<Hit> = []
  for (let from = 0; from + 2 < words.length || from === 0; from += size - 2) {
    const start = starts[from]!
    const end = Math.min(content.length, (starts[from + size] ?? content.length + 1) - 1)
    found.push({
      score: 1,
      collection: defaultCollection,
      document: { docId: DocumentId.make(source), source, metadata: {}, indexedAt: 0 },
      passage: {
        ordinal: found.length,
        text: content.slice(start, end),
        heading: [],
        start,
        end,
        startLine: from + 1,
        endLine: from + size
      }
    })
  }
  return found
}

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at}`)
const whole = { limit: 5, fold: true, perDocument: 0 }
const shown = (hits: ReadonlyArray<Hit>) => hits.map(({ document, passage }) => `${document.source}:${passage.ordinal}`)

describe("what says the same", () => {
  const like = (a: string, b: string) => {
    const seen = new Seen()
    seen.place(sketch([a]))
    return seen.place(sketch([b])) === 0
  }

  it("is what a text before it has, with hardly another word, and no other number", () => {
    assert.isTrue(like(`${prose} ${prose.split(" ").reverse().join(" ")}`, prose))
    assert.isTrue(like(prose, `${prose} 1. Some wait.`))
    assert.isFalse(like(`${prose} ${prose.split(" ").reverse().join(" ")}`, `${prose} Open from 10.`))
  })

  it("is the same words, and nearly the same with the same numbers", () => {
    assert.isTrue(like("Type: `boolean`.", "type boolean"))
    assert.isTrue(like(prose, `${prose} It is so.`))
    assert.isTrue(like(prose, prose.replace("lanterns", "torches")))
    assert.isFalse(like(`${prose} Open from 9.`, `${prose} Open from 10.`))
    assert.isFalse(like(prose, `${prose} ${prose.split(" ").reverse().join(" ")}`))
    assert.isFalse(like("Type: boolean", "Type: number"))
    // The same text, cut into passages elsewhere.
    const further = "All other boats stay where they are until the bell has rung once more."
    assert.isTrue(like(prose, `${prose.split(" ").slice(13).join(" ")} ${further}`))
    assert.isFalse(like(prose, `${prose.split(" ").slice(26).join(" ")} ${further}`))
    assert.isTrue(like("潮が満ちる、鐘が鳴る。", "潮が満ちる鐘が鳴る"))
    assert.isFalse(like("潮が満ちる", "鐘が鳴る"))
  })

  it("finds the first of those seen", () => {
    const seen = new Seen()
    assert.isUndefined(seen.place(sketch(["one"])))
    assert.isUndefined(seen.place(sketch([prose])))
    assert.isUndefined(seen.place(sketch(["two"])))
    assert.strictEqual(seen.place(sketch(["ONE!"])), 0)
    assert.strictEqual(seen.place(sketch([prose.replace("bell", "gong")])), 1)
  })
})

describe("folded", () => {
  it("tells where the same stands, and gives its place to the next", () => {
    const [a, b, c] = ["a.md", "b.md", "c.md"].map((name) => passages(name, prose.split(" "), 100)[0]!)
    const other = passages("d.md", ["else"])[0]!
    const { folds, isComplete } = folded([a!, b!, c!, other], { ...whole, limit: 2 })
    assert.isTrue(isComplete)
    const hits = folds.map(unfolded)
    assert.deepStrictEqual(shown(hits), ["a.md:0", "d.md:0"])
    assert.deepStrictEqual(
      hits[0]!.similar?.map(({ document }) => document.source),
      ["b.md", "c.md"]
    )
    assert.isUndefined(hits[1]!.similar)
    const all = folded([a!, b!, c!, other], { ...whole, limit: 3 })
    assert.isFalse(all.isComplete)
    assert.deepStrictEqual(shown(all.folds.map(({ hit }) => hit)), ["a.md:0", "d.md:0", "b.md:0"])
    assert.deepStrictEqual(
      unfolded(all.folds[0]!).similar?.map(({ document }) => document.source),
      ["c.md"]
    )
  })

  it("takes a text for the same in another format, whatever its title, headings and markup", () => {
    const as = (source: string, title: string | undefined, heading: ReadonlyArray<string>, bell: string): Hit => {
      const hit = passages(source, prose.replace("bell", bell).split(" "), 100)[0]!
      return { ...hit, document: { ...hit.document, title }, passage: { ...hit.passage, heading } }
    }
    const { folds } = folded(
      [
        as("a.html", "Bells - Tides 3.1 documentation", ["Bells"], "[bell](bell.html#ring-3)"),
        as("a.rst", "Bells", ["Bells\u00b6"], ":term:`bell`"),
        as("a.txt", undefined, [], "`bell <bell.html>`_"),
        passages("d.md", ["else"])[0]!
      ],
      { ...whole, limit: 2 }
    )
    assert.deepStrictEqual(
      folds[0]!.similar.map(({ document }) => document.source),
      ["a.rst", "a.txt"]
    )
  })

  it("keeps apart what stands under other headings", () => {
    const [a, b] = ["a.md", "b.md"].map((name) => passages(name, ["Default:", "none"])[0]!)
    const under = (hit: Hit, heading: string): Hit => ({ ...hit, passage: { ...hit.passage, heading: [heading] } })
    const { folds } = folded([under(a!, "timeout"), under(b!, "retries")], whole)
    assert.strictEqual(folds.length, 2)
    assert.isTrue(folds.every(({ similar }) => similar.length === 0))
  })

  it("puts off what is over the most of a document", () => {
    const hits = [...passages("a.md", numbered("a", 20)), ...passages("b.md", numbered("b", 6))]
    const { folds } = folded(hits, { limit: 4, fold: false, perDocument: 2 })
    assert.deepStrictEqual(shown(folds.map(({ hit }) => hit)), ["a.md:0", "a.md:1", "b.md:0", "a.md:2"])
  })

  const contents = { "a.md": numbered("a", 23), "b.md": numbered("b", 11), "c.md": numbered("a", 23) }
  const pool = Object.entries(contents).flatMap(([source, words]) => passages(source, words))
  const options = FastCheck.record({ fold: FastCheck.boolean(), perDocument: FastCheck.integer({ min: 0, max: 3 }) })

  it.prop(
    "fills the list, each passage once, exactly as it stands, and a short list is the head of a long one",
    [FastCheck.shuffledSubarray(pool, { minLength: 1 }), FastCheck.integer({ min: 1, max: 20 }), options],
    ([ranked, limit, how]) => {
      const { folds } = folded(ranked, { ...how, limit })
      assert.strictEqual(folds.length, Math.min(limit, ranked.length))
      const all = folds.flatMap(({ hit, overlapping, similar }) => [hit, ...overlapping, ...similar])
      assert.strictEqual(new Set(all).size, all.length)
      const longer = folded(ranked, { ...how, limit: limit + 1 }).folds.map(({ hit }) => hit)
      assert.deepStrictEqual(shown(folds.map(({ hit }) => hit)), shown(longer.slice(0, limit)))
      for (const hit of folds.map(unfolded)) {
        const content = contents[hit.document.source as keyof typeof contents].join(" ")
        for (const { passage } of [hit, ...(hit.similar ?? [])]) {
          assert.strictEqual(passage.text.length, passage.end - passage.start)
          assert.strictEqual(hit.passage.text, content.slice(hit.passage.start, hit.passage.end))
        }
        if (hit.spans !== undefined) {
          assert.isAtLeast(hit.spans.length, 2)
          assert.isTrue(hit.spans.some(({ ordinal }) => ordinal === hit.passage.ordinal))
        }
      }
    }
  )
})
