import { assert, describe, it } from "vitest"
import { type Loaded, type Postings, compact, objectBytes } from "../../src/postings/Arena.ts"
import { Runs } from "../../src/postings/runs.ts"

const first = 1024

/** Segments of a hundred passages with postings of a kilobyte, one after the other as an arena has them. */
const filled = (segments: number, terms: number) => {
  const bytes = new Uint8Array(first + segments * (512 + terms * 1024))
  const all = new Map<number, Loaded>()
  let at = first
  for (let stamp = 1; stamp <= segments; stamp++) {
    const postings = new Map<string, Postings>()
    const loaded: Loaded = {
      ids: Runs.of(Array.from({ length: 100 }, (_, n) => stamp * 1000 + n)),
      firsts: [],
      lengthsAt: at,
      terms: 0,
      deadAt: 7,
      version: 1,
      used: 0,
      postings
    }
    bytes.fill(stamp, at, at + 400)
    at += 512
    for (let term = 0; term < terms; term++) {
      bytes.fill(100 + term, at, at + 1000)
      postings.set(String(term), { at, end: at + 1000, count: 1, large: 0, living: 1, version: 0, used: term })
      at += 1024
    }
    all.set(stamp, loaded)
  }
  return { all, bytes }
}

describe("a compacted arena", () => {
  it("keeps what was used last, as it is, together at its beginning", () => {
    const { all, bytes } = filled(2, 10)
    all.get(1)!.postings.get("0")!.used = 99
    const most = 2 * (400 + objectBytes) + 5 * (1000 + objectBytes)
    const { end, kept } = compact(all, bytes, first, most)
    assert.strictEqual(kept, 7)
    assert.isAtMost(end, first + 7 * 1024)
    assert.deepStrictEqual([...all.get(1)!.postings.keys()], ["0", "8", "9"])
    assert.deepStrictEqual([...all.get(2)!.postings.keys()], ["8", "9"])
    for (const [stamp, { deadAt, lengthsAt, postings }] of all) {
      assert.strictEqual(deadAt, 0)
      assert.isTrue(bytes.subarray(lengthsAt, lengthsAt + 400).every((byte) => byte === stamp))
      assert.strictEqual(lengthsAt % 16, 0)
      for (const [term, { at, end }] of postings) {
        assert.strictEqual(end - at, 1000)
        assert.isTrue(bytes.subarray(at, end).every((byte) => byte === 100 + Number(term)))
      }
    }
  })

  it("lets segments go that nobody searches any more, and all of them where there is no room", () => {
    const { all, bytes } = filled(3, 1)
    all.get(2)!.used = 5
    compact(all, bytes, first, 2 * (400 + objectBytes) + 10)
    assert.deepStrictEqual([...all.keys()], [2])
    assert.deepStrictEqual(compact(all, bytes, first, 100), { kept: 0, end: first })
    assert.strictEqual(all.size, 0)
  })
})
