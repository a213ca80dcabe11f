import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Path from "node:path"
import { filesBelow, skippedBelow, tree, walked } from "./tree.ts"

describe("what is passed over", () => {
  it.scoped("is one event for a folder, which is not entered", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        ".hidden.md": "",
        ".cache/a.md": "",
        "node_modules/a/index.js": "",
        "src/node_modules/b.js": "",
        "src/a.md": "",
        "out/x/y.md": "",
        ".gitignore": "out/\n*.log\n",
        "a.log": ""
      })
      const events = yield* walked({ paths: [root] })
      assert.deepStrictEqual(filesBelow(root, events), ["src/a.md"])
      assert.deepStrictEqual(skippedBelow(root, events).toSorted(), [
        "hidden .cache",
        "hidden .gitignore",
        "hidden .hidden.md",
        "ignored a.log",
        "ignored node_modules",
        "ignored out",
        "ignored src/node_modules"
      ])
    })
  )

  it.scoped("is not what is given by name: hidden, ignored, in node_modules", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        ".gitignore": "*.log\nout/\n",
        "a.log": "",
        ".hidden.md": "",
        "out/b.md": "",
        "out/b.log": "",
        ".config/c.md": "",
        "node_modules/p/d.md": "",
        "node_modules/p/node_modules/q/e.md": ""
      })
      const paths = ["a.log", ".hidden.md", "out", ".config", "node_modules/p"].map((name) => Path.join(root, name))
      // Outside a repository, the rules of a folder above are not looked for: out/b.log is there.
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths })), [
        "a.log",
        ".hidden.md",
        "out/b.log",
        "out/b.md",
        ".config/c.md",
        "node_modules/p/d.md"
      ])
      Fs.mkdirSync(Path.join(root, ".git"))
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [Path.join(root, "out")] })), ["out/b.md"])
    })
  )

  it.scoped("follows .clewignore before .gitignore, nested, from above the path given, and to bring back", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        ".clewignore": "drafts/\n!*.log\n!.github/\n!vendor/\n",
        ".gitignore": "*.log\nvendor/\n",
        "a.log": "",
        "drafts/x.md": "",
        ".github/y.md": "",
        ".github/.z.md": "",
        "vendor/v.md": "",
        "vendor/v.log": "",
        "sub/.gitignore": "!*.tmp\n*.log\n",
        "sub/b.log": "",
        "sub/drafts/w.md": "",
        "sub/deep/.clewignore": "!drafts/\nno.md\n",
        "sub/deep/drafts/u.md": "",
        "sub/deep/no.md": ""
      })
      const found = [".github/y.md", "a.log", "sub/b.log", "sub/deep/drafts/u.md", "vendor/v.log", "vendor/v.md"]
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [root] })), found)
      assert.deepStrictEqual(
        filesBelow(root, yield* walked({ paths: [Path.join(root, "sub")] })),
        found.filter((name) => name.startsWith("sub/"))
      )
    })
  )

  it.scoped("is decided within a repository by its own rules, not by those around it", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        ".git/": "",
        ".gitignore": "*.log\n",
        "a.log": "",
        "inner/.git/": "",
        "inner/b.log": "",
        "inner/.gitignore": "*.tmp\n",
        "inner/c.tmp": ""
      })
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [root] })), ["inner/b.log"])
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [Path.join(root, "inner")] })), ["inner/b.log"])
    })
  )

  it.scoped("may be brought back from node_modules, never from .git", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        ".clewignore": "!node_modules/\n!.git/\n",
        "node_modules/a.md": "",
        ".git/HEAD": "ref: refs/heads/main"
      })
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [root] })), ["node_modules/a.md"])
    })
  )

  it.scoped("is what Doxygen and Javadoc add to their pages, and no such name elsewhere", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        "api/dynsections.js": "",
        "api/navtreeindex0.js": "",
        "api/classTide.html": "",
        "api/classTide-members.html": "",
        "api/functions_func.html": "",
        "api/search/all_0.js": "",
        "api/extra/tide.js": "",
        "java/tide/Tide.html": "",
        "java/tide/package-summary.html": "",
        "java/tide/package-tree.html": "",
        "java/element-list": "",
        "java/index-all.html": "",
        "java/member-search-index.js": "",
        "web/doxygen.css": "",
        "web/functions.html": "",
        "web/index-all.html": "",
        "web/package-search-index.js": "",
        "web/package-use.html": "",
        "web/search/functions.html": "",
        "web/tide.js": ""
      })
      const events = yield* walked({ paths: [root] })
      const kept = ["classTide.html", "extra/tide.js"].map((name) => `api/${name}`)
      assert.deepStrictEqual(filesBelow(root, events), [
        ...kept,
        "java/element-list",
        "java/tide/Tide.html",
        "java/tide/package-summary.html",
        "web/functions.html",
        "web/index-all.html",
        "web/package-search-index.js",
        "web/package-use.html",
        "web/search/functions.html",
        "web/tide.js"
      ])
    })
  )

  it.scoped("counts pipes and sockets, and opens none", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.md": "" })
      const pipe = Path.join(root, "pipe.md")
      execFileSync("mkfifo", [pipe])
      execFileSync("mkfifo", [Path.join(root, ".gitignore")])
      const server = Net.createServer()
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void server.listen(Path.join(root, "socket"), () => resume(Effect.void))),
        () => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const events = yield* walked({ paths: [root, pipe] })
      assert.deepStrictEqual(filesBelow(root, events), ["a.md"])
      assert.deepStrictEqual(skippedBelow(root, events), [
        "special pipe.md",
        "hidden .gitignore",
        "special pipe.md",
        "special socket"
      ])
    })
  )
})
