import { assert, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { FairQueue } from "../../src/runtime/Turn.ts"

it("gives every owner its turn, and each what it waits for in its order", () => {
  const queue = new FairQueue<string>()
  for (const item of ["a1", "a2", "a3", "b1", "c1", "b2"]) queue.push(item[0]!, item)
  const all = []
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) all.push(item)
  assert.deepStrictEqual(all, ["a1", "b1", "c1", "a2", "b2", "a3"])
  assert.strictEqual(queue.size, 0)
})

it("loses nothing and keeps nothing, whatever leaves it in between", () => {
  const steps = fc.array(fc.tuple(fc.constantFrom("push", "shift", "delete"), fc.constantFrom("a", "b", "c")))
  fc.assert(
    fc.property(steps, (all) => {
      const queue = new FairQueue<object>()
      const waiting = new Map<object, string>()
      for (const [what, owner] of all) {
        if (what === "push") {
          const item = {}
          waiting.set(item, owner)
          queue.push(owner, item)
        } else if (what === "shift") {
          const item = queue.shift()
          assert.strictEqual(item === undefined, waiting.size === 0)
          if (item === undefined) continue
          const [first] = [...waiting].find(([, other]) => other === waiting.get(item))!
          assert.strictEqual(item, first)
          waiting.delete(item)
        } else {
          for (const [item, mine] of waiting) {
            queue.delete(owner, item)
            if (mine === owner) waiting.delete(item)
          }
        }
        assert.strictEqual(queue.size, waiting.size)
      }
    })
  )
})
