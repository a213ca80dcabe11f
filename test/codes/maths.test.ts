import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { BlockCache } from "../../src/codes/BlockCache.ts"
import { bodyBytes, concat, groupsOf, idsIn, pack, pick, slice, unpack } from "../../src/codes/layout.ts"
import { bytesOf, encoder, meanOf, offset } from "../../src/codes/encoder.ts"
import { finer } from "../../src/codes/finer.ts"
import { bitsOf, rotation } from "../../src/codes/rotation.ts"
import { cosine, normal, randomVectors } from "./random.ts"

const widths = [1, 3, 64, 100, 256, 384, 768, 1000, 5000]

describe("rotation", () => {
  it.each(widths)("keeps lengths and angles at width %i, and spreads any one value over all", (width) => {
    const rotate = rotation(width, 7)
    const turned = (vector: Float32Array) => {
      const values = new Float64Array(bitsOf(width))
      values.set(vector)
      rotate(values)
      return values
    }
    const [a, b] = randomVectors(2, width, 3)
    const [x, y] = [turned(a!), turned(b!)]
    const dot = (u: ArrayLike<number>, v: ArrayLike<number>) =>
      Array.from(u, (value, i) => value * v[i]!).reduce((sum, value) => sum + value, 0)
    assert.closeTo(dot(x, y), dot(a!, b!), 1e-6 * width)
    assert.closeTo(dot(x, x), dot(a!, a!), 1e-6 * width)
    for (const at of [0, width - 1]) {
      const one = new Float32Array(width)
      one[at] = 1
      const spread = turned(one)
      assert.isBelow(Math.max(...spread.map(Math.abs)), 8 / Math.sqrt(spread.length))
      assert.deepStrictEqual(turned(one), spread)
    }
  })

  it("is another one for another seed", () => {
    const [a, b] = [1, 2].map((seed) => {
      const values = new Float64Array(64).fill(1)
      rotation(64, seed)(values)
      return values
    })
    assert.notDeepEqual(a, b)
  })
})

describe("blocks", () => {
  it.prop(
    "give back what was packed",
    [FastCheck.integer({ min: 1, max: 100 }), FastCheck.constantFrom(8, 16, 32, 48), FastCheck.integer()],
    ([rows, bytes, seed]) => {
      const next = normal(seed)
      const coded = {
        ids: Uint32Array.from({ length: rows }, (_, row) => 4_294_967_295 - row * 7),
        factors: Float32Array.from({ length: rows }, next),
        codes: Uint8Array.from({ length: rows * bytes }, () => next() * 100)
      }
      const body = pack(coded)
      assert.strictEqual(body.length, bodyBytes(rows, bytes))
      assert.deepStrictEqual(unpack(body, rows, bytes), coded)
      assert.deepStrictEqual(idsIn(body, rows), coded.ids)
      const middle = rows >> 1
      assert.deepStrictEqual(concat([slice(coded, 0, middle), slice(coded, middle, rows)]), coded)
      const odd = Array.from({ length: rows }, (_, row) => row).filter((row) => row % 2 === 1)
      assert.deepStrictEqual(
        [...pick(coded, odd).ids],
        odd.map((row) => coded.ids[row])
      )
    }
  )
})

const seed = 1

/** Codes of vectors and their finer ones, made once for all queries. */
const made = new WeakMap<ReadonlyArray<Float32Array>, ReturnType<typeof make>>()
const make = (width: number, vectors: ReadonlyArray<Float32Array>) => {
  const centroid = meanOf(vectors, width)
  const coded = encoder({ width, seed }).encode(
    vectors.map((vector, id) => ({ id, vector })),
    centroid
  )
  const { rowOf } = finer({ width, seed })
  return { centroid, coded, rows: vectors.map((vector) => rowOf(vector, centroid, 3).slice()) }
}

/** What the kernel gathers of rows in one block: ids and estimates, best first. */
const scan = (
  width: number,
  vectors: ReadonlyArray<Float32Array>,
  query: Float32Array,
  {
    kept,
    mask,
    ties = 64,
    wanted
  }: {
    readonly wanted: number
    readonly ties?: number
    readonly mask?: Uint32Array
    /** Estimates by finer codes, of which so many are kept. */
    readonly kept?: number
  }
) => {
  const making = { width, seed }
  const known = made.get(vectors) ?? make(width, vectors)
  made.set(vectors, known)
  const { centroid, coded } = known
  const { prepare } = encoder(making)
  const arena = BlockCache.make()
  const body = pack(coded)
  const block = arena.allocate(body.length)
  arena.write(block, body)
  const { prepare: prepareFiner, stride } = finer(making)
  const rows = arena.allocate(vectors.length * stride)
  known.rows.forEach((finerRow, row) => arena.write(rows, finerRow, row * stride))
  const { least, step, tables } = prepare(query)
  const capacity = 2 * wanted + ties + 32
  const table = arena.allocate(tables.length)
  arena.write(table, tables)
  const maskAt = arena.allocate(Math.max(16, mask?.byteLength ?? 0))
  if (mask !== undefined) arena.write(maskAt, new Uint8Array(mask.buffer))
  const state = arena.allocate(160)
  const out = arena.allocate(capacity * 12)
  const { buffer } = arena.view(out.at + capacity * 12)
  const words = new Int32Array(buffer, state.at, 8)
  words.set([0, wanted, capacity, 0, 0, ties, 2 * wanted])
  new Float32Array(buffer, state.at, 8)[3] = -Infinity
  arena.kernel.scan(
    block.at,
    groupsOf(vectors.length),
    bytesOf(width),
    table.at,
    offset(query, centroid),
    step,
    least,
    mask === undefined ? 0 : maskAt.at,
    mask?.length ?? 0,
    kept === undefined ? 0 : rows.at,
    stride,
    state.at,
    out.at
  )
  arena.kernel.cut(state.at, out.at)
  if (kept !== undefined) {
    const { groups, step: finerStep, values } = prepareFiner(query)
    const given = arena.allocate(values.byteLength)
    arena.write(given, new Uint8Array(values.buffer))
    const bases = arena.allocate(16)
    arena.write(bases, new Uint8Array(Float32Array.of(0, 0, 0, offset(query, centroid)).buffer))
    arena.kernel.refine(given.at, groups, finerStep, bases.at, kept, state.at, out.at)
  }
  const scores = new Float32Array(buffer, out.at, words[0])
  const ids = new Uint32Array(buffer, out.at + capacity * 4, words[0])
  return {
    coded,
    centroid,
    found: Array.from(ids, (id, i) => ({ id, score: scores[i]! })).sort((a, b) => b.score - a.score)
  }
}

describe("the kernel", () => {
  it.each(widths)("estimates as the formula does at width %i", (width) => {
    const vectors = randomVectors(100, width, 5)
    const query = randomVectors(1, width, 9)[0]!
    const { centroid, coded, found } = scan(width, vectors, query, { wanted: 100 })
    assert.strictEqual(found.length, 100)
    const turned = new Float64Array(bitsOf(width))
    const length = Math.hypot(...query)
    query.forEach((value, d) => (turned[d] = value / length))
    rotation(width, 1)(turned)
    for (const { id, score } of found) {
      let sum = 0
      for (let i = 0; i < turned.length; i++) {
        const bit = (coded.codes[id * bytesOf(width) + (i >> 3)]! >> (i & 7)) & 1
        sum += bit === 1 ? turned[i]! : -turned[i]!
      }
      const expected = offset(query, centroid) + coded.factors[id]! * sum
      // Each table's entries are rounded to a step; the errors go in all directions.
      assert.closeTo(score, expected, width > 4000 ? 0.05 : 0.03)
    }
  })

  it("comes near the cosine, without bias", () => {
    const vectors = randomVectors(1000, 256, 1)
    const queries = randomVectors(20, 256, 2)
    let error = 0
    let bias = 0
    for (const query of queries) {
      for (const { id, score } of scan(256, vectors, query, { wanted: 1000 }).found) {
        const off = score - cosine(query, vectors[id]!)
        error += off ** 2 / 20_000
        bias += off / 20_000
      }
    }
    // RaBitQ's error at one bit: sqrt(π/2 - 1) / sqrt(dimensions) for vectors of any direction.
    assert.closeTo(Math.sqrt(error), Math.sqrt(Math.PI / 2 - 1) / 16, 0.005)
    assert.closeTo(bias, 0, 0.002)
  })

  it.each(widths)("comes much nearer with finer codes, at width %i", (width) => {
    const vectors = randomVectors(200, width, 1)
    let [error, finerError, bias] = [0, 0, 0]
    for (const query of randomVectors(5, width, 2)) {
      const off = ({ id, score }: { readonly id: number; readonly score: number }) =>
        score - cosine(query, vectors[id]!)
      for (const found of scan(width, vectors, query, { wanted: 200 }).found) error += off(found) ** 2 / 1000
      const { found } = scan(width, vectors, query, { wanted: 200, kept: 200 })
      assert.strictEqual(found.length, 200)
      for (const each of found) {
        finerError += off(each) ** 2 / 1000
        bias += off(each) / 1000
      }
      const scores = scan(width, vectors, query, { wanted: 200, kept: 30, ties: 0 }).found.map(({ score }) => score)
      assert.deepStrictEqual(
        scores,
        found.slice(0, 30).map(({ score }) => score)
      )
    }
    // A normal distribution in 16 levels keeps all but .0115 of its variance (Max 1960).
    assert.isBelow(Math.sqrt(finerError), Math.max(Math.sqrt(error) / 4, 0.001))
    assert.closeTo(bias, 0, 0.003)
  })

  it("takes the best of what the mask leaves, however few are wanted", () => {
    const vectors = randomVectors(1000, 64, 11)
    const query = randomVectors(1, 64, 12)[0]!
    const all = scan(64, vectors, query, { wanted: 1000 }).found
    const mask = Uint32Array.from({ length: 20 }, (_, word) => 0x0f0f_1234 + word)
    const isIn = (id: number) => ((mask[id >>> 5] ?? 0) >>> (id & 31)) & 1
    for (const wanted of [1, 2, 31, 32, 33, 200]) {
      assert.deepStrictEqual(scan(64, vectors, query, { wanted, ties: 0 }).found, all.slice(0, wanted))
      const left = all.filter(({ id }) => isIn(id)).slice(0, wanted)
      assert.deepStrictEqual(scan(64, vectors, query, { wanted, mask, ties: 0 }).found, left)
    }
  })

  it("takes all that tie with the last wanted, as far as there is room", () => {
    const [a, b] = randomVectors(2, 64, 3)
    const vectors = Array.from({ length: 600 }, (_, i) => (i % 2 === 0 ? a! : b!))
    const idsOf = (wanted: number, ties: number) =>
      scan(64, vectors, a!, { wanted, ties })
        .found.map(({ id }) => id)
        .sort((x, y) => x - y)
    const evens = Array.from({ length: 300 }, (_, i) => 2 * i)
    assert.deepStrictEqual(idsOf(10, 1000), evens)
    assert.deepStrictEqual(idsOf(300, 1000), evens)
    assert.strictEqual(idsOf(301, 1000).length, 600)
    const some = idsOf(10, 50)
    assert.strictEqual(some.length, 60)
    assert.isTrue(some.every((id) => id % 2 === 0))
  })

  it("finds no vector without a direction", () => {
    const vectors = [...randomVectors(40, 16, 1), new Float32Array(16), new Float32Array(16).fill(Number.NaN)]
    const { found } = scan(16, vectors, vectors[0]!, { wanted: 50 })
    assert.strictEqual(found[0]?.id, 0)
    assert.strictEqual(found.length, 40)
  })
})
