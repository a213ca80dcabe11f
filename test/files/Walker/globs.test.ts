import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Path from "node:path"
import { filesBelow, skippedBelow, tree, walked } from "./tree.ts"

describe("globs", () => {
  const files = { "a.md": "", "a.txt": "", "docs/b.md": "", "docs/deep/c.txt": "", "src/docs/d.md": "", "src/e.ts": "" }
  const cases: ReadonlyArray<readonly [string, { include?: Array<string>; exclude?: Array<string> }, Array<string>]> = [
    ["without a slash match names anywhere", { include: ["*.md"] }, ["a.md", "docs/b.md", "src/docs/d.md"]],
    ["with a slash match from the root", { include: ["docs/*"] }, ["docs/b.md", "docs/deep/c.txt"]],
    [
      "that name a folder include all that is in it",
      { include: ["docs"] },
      ["docs/b.md", "docs/deep/c.txt", "src/docs/d.md"]
    ],
    ["may be anchored", { include: ["/docs/"] }, ["docs/b.md", "docs/deep/c.txt"]],
    [
      "cross folders with **",
      { include: ["**/deep/*.txt", "./src/**"] },
      ["docs/deep/c.txt", "src/docs/d.md", "src/e.ts"]
    ],
    ["take braces", { include: ["*.{ts,txt}"] }, ["a.txt", "docs/deep/c.txt", "src/e.ts"]],
    ["take braces in braces, with folders", { include: ["{docs/{b,x}.*,src/**/*.ts}"] }, ["docs/b.md", "src/e.ts"]],
    ["take ranges in braces", { include: ["{a..c}.md", "\\{d..e}.*"] }, ["a.md", "docs/b.md"]],
    ["take what is not closed for itself", { include: ["{a,b", "a}.md", "{a}.md", "[a.md"] }, []],
    [
      "take brackets, also of what is not in them",
      { include: ["[!b-c].[[:lower:]]?"] },
      ["a.md", "src/docs/d.md", "src/e.ts"]
    ],
    [
      "cross any number of folders",
      { include: ["src/**/*.md", "docs/**"], exclude: ["**/deep/**"] },
      ["docs/b.md", "src/docs/d.md"]
    ],
    ["exclude files and folders", { exclude: ["docs", "*.ts"] }, ["a.md", "a.txt"]],
    ["exclude from what is included", { include: ["*.md"], exclude: ["/docs"] }, ["a.md", "src/docs/d.md"]],
    ["that are blank are none", { include: [""], exclude: [" "] }, Object.keys(files)]
  ]
  for (const [name, options, expected] of cases) {
    it.scoped(name, () =>
      Effect.gen(function* () {
        const root = yield* tree(files)
        assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [root], ...options })), expected)
      })
    )
  }

  it.scoped("take parentheses, bars and a leading exclamation mark for themselves", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "docs (old)/a.md": "", "copy (1).md": "", "copy 1.md": "", "!b.md": "", "x|y.md": "" })
      const found = (options: { include?: Array<string>; exclude?: Array<string> }) =>
        Effect.map(walked({ paths: [root], ...options }), (events) => filesBelow(root, events))
      assert.deepStrictEqual(yield* found({ include: ["docs (old)/*.md"] }), ["docs (old)/a.md"])
      assert.deepStrictEqual(yield* found({ include: ["copy \\(1\\).md"] }), ["copy (1).md"])
      assert.deepStrictEqual(yield* found({ include: ["!b.*", "x|*"] }), ["!b.md", "x|y.md"])
      assert.deepStrictEqual(yield* found({ include: ["copy*"], exclude: ["copy (1).md"] }), ["copy 1.md"])
    })
  )

  it.scoped("match what has their very name", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "[id]/page.md": "", "i/page.md": "", "{a,b}.md": "" })
      const events = yield* walked({ paths: [root], include: ["[id]/page.md", "{a,b}.md"] })
      assert.deepStrictEqual(filesBelow(root, events), ["[id]/page.md", "i/page.md", "{a,b}.md"])
    })
  )

  // A backtracking comparison of any of these takes hours.
  it.scoped("and ignore files' patterns take no longer for many stars", () =>
    Effect.gen(function* () {
      const deep = "a/".repeat(24)
      const name = `${"a".repeat(200)}.md`
      const root = yield* tree({
        [deep + name]: "",
        ".gitignore": `${"a/**/".repeat(20)}b\n${"**/a/".repeat(20)}c\n${"*a".repeat(50)}b.md\n`
      })
      for (const exclude of [`${"a*".repeat(50)}b.md`, "{a*,a/**/}".repeat(9) + "b"]) {
        assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [root], exclude: [exclude] })), [deep + name])
      }
    })
  )

  it.scoped("hold for files given by name, and leave a count", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.md": "", "b.txt": "", "c/d.txt": "" })
      const paths = ["a.md", "b.txt", "c"].map((name) => Path.join(root, name))
      const events = yield* walked({ paths, exclude: ["*.txt"] })
      assert.deepStrictEqual(filesBelow(root, events), ["a.md"])
      assert.deepStrictEqual(skippedBelow(root, events), ["excluded b.txt", "excluded c/d.txt"])
    })
  )
})
