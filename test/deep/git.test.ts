import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Path from "node:path"
import { filesBelow, git, tree, walked } from "../files/Walker/tree.ts"

const folder = FastCheck.constantFrom("a", "b", "ab", "we[i]rd *")
const file = FastCheck.constantFrom("x", "x.md", "y.md", "b", "ab.log", "#x", "!y", "x y")
const folders = FastCheck.array(folder, { maxLength: 3 })

const path = FastCheck.tuple(folders, file).map(([above, name]) => [...above, name].join("/"))

const segment = FastCheck.constantFrom(
  ..."a b ab x x.md *.md * ? ab* *b [ab] [!a] [a-b]* ** x.* *.* \\#x we\\[i\\]rd* x\\ y [[:alpha:]]".split(" ")
)
const pattern = FastCheck.tuple(
  FastCheck.constantFrom("", "", "!"),
  FastCheck.constantFrom("", "", "/"),
  FastCheck.array(segment, { minLength: 1, maxLength: 3 }),
  FastCheck.constantFrom("", "", "/")
).map(([not, anchor, segments, end]) => not + anchor + segments.join("/") + end)
const ignoreFile = FastCheck.array(
  FastCheck.oneof({ weight: 8, arbitrary: pattern }, FastCheck.constantFrom("# comment", "", "  ", "x   ", "\\!y")),
  { maxLength: 5 }
).map((lines) => lines.join("\n"))

const repository = FastCheck.record({
  files: FastCheck.array(path, { minLength: 1, maxLength: 14 }),
  ignores: FastCheck.dictionary(
    folders.map((above) => [...above, ".gitignore"].join("/")),
    ignoreFile,
    { maxKeys: 4 }
  ),
  exclude: ignoreFile
})

/** A path that is another's folder cannot be a file as well. */
const consistent = (paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.filter((each) => !paths.some((other) => other.startsWith(`${each}/`)))

type Repository = typeof repository extends FastCheck.Arbitrary<infer A> ? A : never

const build = ({ exclude, files, ignores }: Repository) => {
  const paths = consistent([...files, ...Object.keys(ignores)])
  const contents = Object.fromEntries(paths.map((each) => [each, ignores[each] ?? ""]))
  return Effect.tap(tree({ ...contents, ".git/info/exclude": exclude }), (root) =>
    Effect.sync(() => git(root, "init", "--quiet", "--template="))
  )
}

const isHidden = (each: string) => each.split("/").some((name) => name.startsWith("."))

const byGit = (root: string, below: string): ReadonlyArray<string> =>
  git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", `:(literal)${below}`)
    .split("\0")
    .filter((each) => each !== "" && !isHidden(each))
    .sort()

describe("a walk passes over what git passes over", () => {
  it.scoped.prop(
    "from the repository's root and from its folders",
    [repository],
    ([generated]) =>
      Effect.gen(function* () {
        const root = yield* build(generated)
        const all = filesBelow(root, yield* walked({ paths: [root] }))
        assert.deepStrictEqual([...all].sort(), byGit(root, "."))

        // Given by name, a folder that git ignores is walked; every other gives what git gives for it.
        const below = new Set(all.filter((each) => each.includes("/")).map((each) => each.split("/")[0]!))
        for (const each of below) {
          const found = filesBelow(root, yield* walked({ paths: [Path.join(root, each)] }))
          assert.deepStrictEqual([...found].sort(), byGit(root, each))
        }
      }),
    { fastCheck: { numRuns: 40 } }
  )
})
