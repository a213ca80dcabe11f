import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { filesBelow, skippedBelow, tree, walked } from "./tree.ts"

const link = (root: string, name: string, target: string) =>
  Effect.sync(() => Fs.symlinkSync(target, Path.join(root, name)))

describe("each file once", () => {
  it.scoped("when the paths given overlap, in any order", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.md": "", "b/c.md": "", "b/d/e.md": "", ".h/f.md": "" })
      const path = (name: string) => Path.join(root, name)
      const all = ["b/c.md", "a.md", "b/d/e.md"]
      for (const paths of [
        [root, path("b"), path("b/c.md"), root],
        [path("b"), path("b/c.md"), root],
        [path("b/d"), path("b/c.md"), root, path("b")]
      ]) {
        assert.deepStrictEqual(filesBelow(root, yield* walked({ paths })).toSorted(), all.toSorted())
      }
      // What the walk of the whole passes over is still walked when it is given as well.
      assert.include(filesBelow(root, yield* walked({ paths: [root, path(".h")] })), ".h/f.md")
    })
  )

  it.scoped("when links lead round in circles or to what is walked anyway", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a/b/c.md": "", "d.md": "" })
      yield* link(root, "a/b/loop", "..")
      yield* link(root, "a/self", ".")
      yield* link(root, "a/up", "../..")
      yield* link(root, "a/c-again.md", "b/c.md")
      yield* link(root, "b", "a/b")
      yield* link(root, "ring1", "ring2")
      yield* link(root, "ring2", "ring1")
      const events = yield* walked({ paths: [root] })
      assert.deepStrictEqual(filesBelow(root, events), ["a/b/c.md", "d.md"])
      assert.deepStrictEqual(skippedBelow(root, events).toSorted(), [
        "link a/b/loop",
        "link a/c-again.md",
        "link a/self",
        "link a/up",
        "link b"
      ])
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "Unreadable" ? [Path.basename(event.path)] : [])),
        ["ring1", "ring2"]
      )
    })
  )

  it.scoped("when links lead out of the folder: under the link's name", () =>
    Effect.gen(function* () {
      const outside = yield* tree({ "x.md": "123", "sub/y.md": "", "sub/z.log": "", "node_modules/n.md": "" })
      const root = yield* tree({ "a.md": "", ".gitignore": "*.log\nbuild/\n" })
      yield* link(root, "one", outside)
      yield* link(root, "two", Path.join(outside, "sub"))
      yield* link(root, "three.md", Path.join(outside, "x.md"))
      yield* link(root, "build", outside)
      yield* link(outside, "sub/back", "..")
      const events = yield* walked({ paths: [root] })
      assert.deepStrictEqual(filesBelow(root, events), ["a.md", "one/sub/y.md", "one/x.md"])
      assert.includeMembers(
        [...skippedBelow(root, events)],
        ["ignored build", "link two", "link three.md", "link one/sub/back"]
      )
    })
  )

  it.scoped("when a link leads to a hidden folder, which is then read through it", () =>
    Effect.gen(function* () {
      const root = yield* tree({ ".versions/3.md": "", "z.md": "" })
      yield* link(root, "current.md", ".versions/3.md")
      yield* link(root, "versions", ".versions")
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [root] })), ["z.md", "current.md"])
    })
  )

  it.scoped("when the path given is itself a link", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "real/a.md": "", "real/.gitignore": "b.md\n", "real/b.md": "" })
      yield* link(root, "given", "real")
      yield* link(root, "a.md", "real/a.md")
      const paths = ["given", "real", "a.md"].map((name) => Path.join(root, name))
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths })), ["a.md"])
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: paths.slice(0, 2) })), ["given/a.md"])
    })
  )
})
