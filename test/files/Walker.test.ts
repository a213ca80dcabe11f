import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fs from "node:fs"
import { statSync } from "node:fs"
import * as Path from "node:path"
import { Disk, DiskFailure } from "../../src/files/Disk.ts"
import { byCodePoint } from "../../src/model/units.ts"
import { filesBelow, tree, walked } from "./Walker/tree.ts"

describe("walk", () => {
  it.scoped("gives the files in order of their names, folder by folder, with their sizes", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        "b/z.md": "12345",
        "b/a.md": "",
        "a.md": "1",
        "B.md": "",
        "c/d/e.md": "",
        "empty/": ""
      })
      const events = yield* walked({ paths: [root] })
      assert.deepStrictEqual(filesBelow(root, events), ["B.md", "a.md", "b/a.md", "b/z.md", "c/d/e.md"])
      const path = Path.join(root, "b/z.md")
      const { ctimeNs, ino, mtimeNs } = statSync(path, { bigint: true })
      const stamp = { size: 5, modified: `${mtimeNs}`, changed: `${ctimeNs}`, inode: `${ino}` }
      assert.deepStrictEqual(events[3], { _tag: "File", path, stamp, isNamed: false })
    })
  )

  it.scoped("normalises the paths given and takes relative ones from the working directory", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a/b.md": "" })
      const before = process.cwd()
      yield* Effect.acquireRelease(
        Effect.sync(() => process.chdir(root)),
        () => Effect.sync(() => process.chdir(before))
      )
      const events = yield* walked({ paths: ["./a/../a//"] })
      assert.deepStrictEqual(
        events.map((event) => [event._tag, event.path]),
        [["File", Path.join(root, "a/b.md")]]
      )
    })
  )

  it.scoped("names a path that is missing and goes on with the others", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.md": "" })
      const missing = Path.join(root, "nowhere")
      const events = yield* walked({ paths: [missing, root, Path.join(root, "a.md/x")] })
      assert.deepStrictEqual(
        events.filter((event) => event._tag === "Unreadable").map(({ path, reason }) => [path, reason]),
        [missing, Path.join(root, "a.md/x")].map((path) => [path, "no such file or folder"])
      )
      assert.deepStrictEqual(filesBelow(root, events), ["a.md"])
    })
  )

  it.scoped("goes through thousands of entries of one folder and of many", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 1500 }, (_, i) => `f${String(i).padStart(4, "0")}.md`)
      const nested = Array.from({ length: 300 }, (_, i) => `g${String(i).padStart(3, "0")}/x/y.md`)
      const all = [...names, ...nested]
      const root = yield* tree(Object.fromEntries(all.map((name) => [name, ""])))
      assert.deepStrictEqual(filesBelow(root, yield* walked({ paths: [root] })), all)
    })
  )

  it.prop("orders by code point", [FastCheck.array(FastCheck.fullUnicodeString({ maxLength: 3 }))], ([names]) => {
    const points = (text: string) => Array.from(text, (char) => char.codePointAt(0)!)
    for (const a of names) {
      for (const b of names) {
        const [x, y] = [points(a), points(b)]
        const at = x.findIndex((point, i) => point !== y[i])
        const expected = at < 0 ? x.length - y.length : y[at] === undefined ? 1 : x[at]! - y[at]
        assert.strictEqual(Math.sign(byCodePoint(a, b)), Math.sign(expected))
      }
    }
  })
})

describe("what cannot be read", () => {
  const isRoot = process.geteuid?.() === 0
  // Root reads everything: where the tests run as root, they lend themselves to nobody for a moment.
  const asNobody = Effect.acquireRelease(
    Effect.sync(() => process.seteuid?.(isRoot ? 65_534 : process.geteuid!())),
    () => Effect.sync(() => process.seteuid?.(isRoot ? 0 : process.geteuid!()))
  )

  it.scoped.skipIf(process.seteuid === undefined)("is reported with the reason, and the rest goes on", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        "a/x.md": "",
        "locked/y.md": "",
        "z.md": "",
        "rules/.gitignore": "*",
        "rules/r.md": ""
      })
      Fs.chmodSync(root, 0o755)
      Fs.chmodSync(Path.join(root, "locked"), 0)
      Fs.chmodSync(Path.join(root, "rules/.gitignore"), 0)
      const locked = Path.join(root, "locked")
      const paths = [root, Path.join(locked, "y.md")]
      const events = yield* Effect.scoped(Effect.zipRight(asNobody, walked({ paths })))
      Fs.chmodSync(locked, 0o700)
      assert.deepStrictEqual(filesBelow(root, events), ["a/x.md", "z.md"])
      assert.deepStrictEqual(
        events.filter(({ _tag }) => _tag === "Unreadable"),
        [
          [Path.join(locked, "y.md"), ""],
          [locked, ""],
          [Path.join(root, "rules/.gitignore"), ", so the rest of its folder is left out"]
        ].map(([path, rest]) => ({ _tag: "Unreadable" as const, path: path!, reason: `permission denied${rest}` }))
      )
    })
  )

  it.scoped("leaves out a folder with more rules than it compares names with, and goes on", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        "long/.gitignore": `${"a*".repeat(500_000)}b`,
        "long/r.md": "",
        "many/.clewignore": "a*b\n".repeat(10_001),
        "many/r.md": "",
        "z.md": "",
        ".gitignore": "a*b\n".repeat(10_000)
      })
      const events = yield* walked({ paths: [root] })
      assert.deepStrictEqual(filesBelow(root, events), ["z.md"])
      for (const [path, reason] of [
        ["long/.gitignore", "it has more than 256 KiB"],
        ["many/.clewignore", "it has more than 10000 patterns"]
      ] as const) {
        assert.deepInclude(events, {
          _tag: "Unreadable",
          path: Path.join(root, path),
          reason: `${reason}, so the rest of its folder is left out`
        })
      }
    })
  )

  it.scoped("leaves out no more than the folder of an ignore file", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "in/a.md": "", "repository/.git/info/": "", "repository/b.md": "" })
      for (const name of [".clewignore", "repository/.git/info/exclude"]) {
        Fs.symlinkSync(Path.join(root, name), Path.join(root, name))
      }
      const paths = [Path.join(root, "in"), Path.join(root, "repository")]
      const events = yield* walked({ paths })
      assert.deepStrictEqual(filesBelow(root, events), ["in/a.md", "repository/b.md"])
      const reasons = events.flatMap((event) => (event._tag === "Unreadable" ? [event.reason] : []))
      assert.isAbove(reasons.length, 1)
      assert.isFalse(reasons.some((reason) => reason.includes("left out")))
    })
  )

  it.scoped("reads info/exclude of the repository of a linked worktree, and of a submodule", () =>
    Effect.gen(function* () {
      const root = yield* tree({
        "main/a.md": "",
        "main/.git/info/exclude": "x.md\n",
        "main/.git/worktrees/w/commondir": "../..\n",
        "main/.git/modules/s/info/exclude": "y.md\n",
        "main/s/.git": "gitdir: ../.git/modules/s\n",
        "main/s/x.md": "",
        "main/s/y.md": "",
        "linked/x.md": "",
        "linked/y.md": ""
      })
      Fs.writeFileSync(Path.join(root, "linked/.git"), `gitdir: ${root}/main/.git/worktrees/w\n`)
      const files = filesBelow(root, yield* walked({ paths: [root] }))
      assert.deepStrictEqual(files, ["linked/y.md", "main/a.md", "main/s/x.md"])
    })
  )

  it.scoped("is told apart from what went away meanwhile", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.md": "", "gone.md": "", "gone/b.md": "", "odd\ufffd.md": "", "slow.md": "" })
      const machine = yield* Disk
      const fails = (code: string, detail = "") => new DiskFailure({ code, detail })
      const failures: Record<string, DiskFailure> = {
        "gone.md": fails("ENOENT"),
        "odd\ufffd.md": fails("ENOENT"),
        "slow.md": fails("EIO", "EIO: i/o error, lstat")
      }
      const disk: typeof machine = {
        ...machine,
        names: (folder) => (folder.endsWith("gone") ? fails("ENOENT") : machine.names(folder)),
        look: (paths) =>
          Effect.map(machine.look(paths), (found) => found.map((each, i) => failures[Path.basename(paths[i]!)] ?? each))
      }
      const events = yield* Effect.provideService(walked({ paths: [root] }), Disk, disk)
      assert.deepStrictEqual(filesBelow(root, events), ["a.md"])
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "Unreadable" ? [`${Path.basename(event.path)}: ${event.reason}`] : []
        ),
        ["odd\ufffd.md: its name is not UTF-8", "slow.md: EIO: i/o error, lstat"]
      )
    })
  )

  it.scoped("is a link to nothing", () =>
    Effect.gen(function* () {
      const root = yield* tree({ "a.md": "" })
      Fs.symlinkSync("nowhere", Path.join(root, "b.md"))
      const events = yield* walked({ paths: [root] })
      assert.deepStrictEqual(events.at(-1), {
        _tag: "Unreadable",
        path: Path.join(root, "b.md"),
        reason: "a link to nothing"
      })
    })
  )
})
