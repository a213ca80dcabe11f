import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { FileEvents } from "../../src/files/FileEvents.ts"
import { make, type System } from "../../src/files/FileEvents/Node.ts"
import { Disk, DiskFailure, type FileTree } from "../../src/files/Disk.ts"
import { holds, setUp } from "./watching.ts"

it.scopedLive("follows files that come, change, are renamed and go", () =>
  Effect.gen(function* () {
    const { at, content, embedded, settled, start, stored, write } = yield* setUp()
    write("a.md", "north")
    yield* start
    write("b.md", "east")
    yield* settled(holds("a.md", "b.md")(stored))
    write("b.md", "east of south")
    yield* settled(Effect.map(content("b.md"), (text) => text === "east of south"))
    const before = yield* Ref.get(embedded)
    fs.renameSync(at("b.md"), at("c.md"))
    yield* settled(holds("a.md", "c.md")(stored))
    fs.renameSync(at("c.md"), at("C.md"))
    yield* settled(holds("a.md", "C.md")(stored))
    assert.strictEqual(yield* Ref.get(embedded), before)
    fs.rmSync(at("C.md"))
    yield* settled(holds("a.md")(stored))
  })
)

it.scopedLive("follows folders that are made, moved in, moved about and moved out", () =>
  Effect.gen(function* () {
    const { at, embedded, root, settled, start, stored, write } = yield* setUp()
    const outside = path.join(path.dirname(root), "outside")
    fs.mkdirSync(path.join(outside, "deep"), { recursive: true })
    fs.writeFileSync(path.join(outside, "deep", "x.md"), "north")
    write("a.md", "east")
    write("b.md", "west")
    write("c.md", "south")
    yield* start
    fs.renameSync(outside, at("in"))
    yield* settled(holds("a.md", "b.md", "c.md", "in/deep/x.md")(stored))
    const before = yield* Ref.get(embedded)
    fs.renameSync(at("in"), at("moved"))
    yield* settled(holds("a.md", "b.md", "c.md", "moved/deep/x.md")(stored))
    assert.strictEqual(yield* Ref.get(embedded), before)
    // Its watches went along, and tell of places that are no more.
    write("moved/deep/y.md", "south by east")
    yield* settled(holds("a.md", "b.md", "c.md", "moved/deep/x.md", "moved/deep/y.md")(stored))
    fs.renameSync(at("moved"), outside)
    yield* settled(holds("a.md", "b.md", "c.md")(stored))
    // Neither does what goes on out there come in.
    fs.writeFileSync(path.join(outside, "deep", "z.md"), "north")
    fs.mkdirSync(at("moved"))
    write("moved/n.md", "west")
    yield* settled(holds("a.md", "b.md", "c.md", "moved/n.md")(stored))
  })
)

it.scopedLive("sees through the ways in which programs save", () =>
  Effect.gen(function* () {
    const { at, content, settled, start, stored, write } = yield* setUp()
    const has = (name: string, text: string) => Effect.map(content(name), (found) => found === text)
    write("a.md", "north")
    yield* start
    // vim: the old file is moved aside, and a new one is written in its place.
    fs.renameSync(at("a.md"), at("a.md~"))
    write("a.md", "by vim")
    fs.rmSync(at("a.md~"))
    yield* settled(has("a.md", "by vim"))
    // Many others: a new file is moved over the old one.
    write(".a.md.tmp-1234", "by many")
    fs.renameSync(at(".a.md.tmp-1234"), at("a.md"))
    yield* settled(has("a.md", "by many"))
    // VS Code: the file is cut off and written anew.
    fs.truncateSync(at("a.md"))
    write("a.md", "by code")
    yield* settled(has("a.md", "by code"))
    // git: a lock is moved over it; of the same size, and within the same second.
    write("a.md.lock", "by gits")
    fs.renameSync(at("a.md.lock"), at("a.md"))
    yield* settled(has("a.md", "by gits"))
    yield* settled(holds("a.md")(stored))
  })
)

it.scopedLive("has in the end what a file holds that was written bit by bit", () =>
  Effect.gen(function* () {
    const { at, content, settled, start, write } = yield* setUp()
    write("a.md", "north")
    yield* start
    const file = fs.openSync(at("log.txt"), "w")
    fs.writeSync(file, "first")
    yield* settled(Effect.map(content("log.txt"), (text) => text === "first"))
    fs.writeSync(file, ", second")
    fs.writeSync(file, ", third")
    fs.closeSync(file)
    yield* settled(Effect.map(content("log.txt"), (text) => text === "first, second, third"))
  })
)

/** Changes that are told of only when the gate opens. */
const gated = Effect.map(Deferred.make<void>(), (gate) => {
  const real = make()
  const events: FileEvents["Type"] = {
    watch: (paths) =>
      Stream.mapEffect(real.watch(paths), (told) =>
        told.length === 0 ? Effect.succeed(told) : Effect.as(Deferred.await(gate), told)
      )
  }
  return { events, open: Deferred.succeed(gate, undefined) }
})

const hasGit = spawnSync("git", ["--version"]).status === 0

it.scopedLive.skipIf(!hasGit)("takes a checkout of many files as one change", () =>
  Effect.gen(function* () {
    const { events, open } = yield* gated
    const { content, root, scanned, start, stored, write } = yield* setUp({ events })
    const git = (...args: ReadonlyArray<string>) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: root, stdio: "pipe" })
    const name = (n: number) => `d${n % 20}/f${n}.txt`
    git("init", "-q", "-b", "one")
    for (let n = 0; n < 60; n++) write(name(n), `north ${n}`)
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "two")
    for (let n = 0; n < 30; n++) fs.rmSync(path.join(root, name(n)))
    for (let n = 30; n < 60; n++) write(name(n), `south ${n}`)
    for (let n = 60; n < 120; n++) write(`e${n % 20}/f${n}.txt`, `east ${n}`)
    git("add", "-A")
    git("commit", "-qm", "two")
    git("checkout", "-q", "one")
    assert.deepInclude(yield* start, { created: 60 })
    git("checkout", "-q", "two")
    yield* open
    const first = yield* scanned
    assert.deepInclude(first, { cause: "events", created: 60, updated: 30, failed: 0 })
    assert.strictEqual(first.deleted.documents, 30)
    assert.lengthOf(yield* stored, 90)
    assert.strictEqual(yield* content(name(50)), "south 50")
    assert.isUndefined(yield* content(name(3)))
  })
)

it.scopedLive("forgets most files of a repository at once, though not while git is at work", () =>
  Effect.gen(function* () {
    const { at, settled, start, status, stored, write } = yield* setUp()
    const names = ["a.md", "b.md", "c.md", "d.md"]
    names.forEach((name) => write(name, `north of ${name}`))
    write(".git/index", "DIRC")
    write(".git/index.lock", "DIRC")
    yield* start
    for (const name of names.slice(1)) fs.rmSync(at(name))
    const held = Effect.map(status, (state) => Option.exists(state, ({ held }) => held.length > 0))
    yield* settled(held)
    assert.deepStrictEqual(yield* stored, names)
    fs.rmSync(at(".git/index.lock"))
    write("a.md", "south")
    yield* settled(holds("a.md")(stored))
    assert.isFalse(yield* held)
  })
)

it.scopedLive("finds what was put into a new folder before that was watched", () =>
  Effect.gen(function* () {
    const system: System = {
      recursive: false,
      remoteDisk: () => undefined,
      queue: Infinity,
      open: (folder, recursive, listener) => {
        if (path.basename(folder) === "new") {
          fs.writeFileSync(path.join(folder, "early.md"), "north")
          fs.mkdirSync(path.join(folder, "below"))
        }
        return fs.watch(folder, { recursive, persistent: false }, listener)
      }
    }
    const { at, settled, start, stored, write } = yield* setUp({ events: make(system) })
    write("a.md", "east")
    yield* start
    fs.mkdirSync(at("new"))
    yield* settled(holds("a.md", "new/early.md")(stored))
    write("new/below/late.md", "west")
    yield* settled(holds("a.md", "new/below/late.md", "new/early.md")(stored))
  })
)

it.scopedLive("comes to rest with the last state of files that change hundreds of times", () =>
  Effect.gen(function* () {
    const { content, settled, start, status, write } = yield* setUp()
    write("f0.md", "north")
    yield* start
    const count = 1000
    for (let n = 0; n < count; n++) {
      write(`f${n % 50}.md`, `state ${n}`)
      // Others come to their turn, as they would between the writes of another process.
      if (n % 10 === 9) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    }
    for (let file = 0; file < 50; file++) {
      yield* settled(Effect.map(content(`f${file}.md`), (text) => text === `state ${count - 50 + file}`))
    }
    assert.strictEqual(
      (yield* status).pipe((found) => (found._tag === "Some" ? found.value.failed : -1)),
      0
    )
  })
)

it.scopedLive("forgets what is ignored by now, and takes in what is no more", () =>
  Effect.gen(function* () {
    const { settled, start, stored, write } = yield* setUp()
    write(".git/HEAD", "ref: refs/heads/main\n")
    write("a.md", "north")
    write("b.txt", "east")
    write("drafts/c.md", "south")
    yield* start
    yield* settled(holds("a.md", "b.txt", "drafts/c.md")(stored))
    write(".gitignore", "drafts/\n*.txt\n")
    yield* settled(holds("a.md")(stored))
    write(".gitignore", "*.txt\n")
    yield* settled(holds("a.md", "drafts/c.md")(stored))
    write("drafts/.clewignore", "c.md\n")
    yield* settled(holds("a.md")(stored))
    write("drafts/.clewignore", "")
    write(".gitignore", "")
    yield* settled(holds("a.md", "b.txt", "drafts/c.md")(stored))
  })
)

it.scopedLive("sees rules that lie above what it follows, and those of the repository alone", () =>
  Effect.gen(function* () {
    const { settled, start, stored, write } = yield* setUp()
    write("../.git/info/exclude", "")
    write("a.md", "north")
    write("b.txt", "east")
    write("c.org", "south")
    yield* start
    yield* settled(holds("a.md", "b.txt", "c.org")(stored))
    write("../.git/info/exclude", "*.org\n")
    yield* settled(holds("a.md", "b.txt")(stored))
    write("../.gitignore", "*.txt\n")
    yield* settled(holds("a.md")(stored))
    write("../.clewignore", "!*.txt\n")
    yield* settled(holds("a.md", "b.txt")(stored))
  })
)

it.scopedLive("forgets nothing of a folder that it may not look into any more, and says so", () =>
  Effect.gen(function* () {
    const real = yield* Disk
    const closed = new Set<string>()
    const denied = new DiskFailure({ code: "EACCES", detail: "denied" })
    const disk: FileTree = {
      ...real,
      names: (folder) => (closed.has(folder) ? Effect.fail(denied) : real.names(folder))
    }
    const { at, embedded, scanned, settled, start, stored, write } = yield* setUp()
    for (const name of ["a.md", "b.md", "c.md", "shut/d.md"]) write(name, `north of ${name}`)
    yield* Effect.provideService(start, Disk, disk)
    closed.add(at("shut"))
    write("a.md", "east")
    const first = yield* scanned
    assert.deepInclude(first, { failed: 1, deleted: { documents: 0, passages: 0 } })
    assert.lengthOf(yield* stored, 4)
    const before = yield* Ref.get(embedded)
    closed.clear()
    write("shut/e.md", "west")
    yield* settled(holds("a.md", "b.md", "c.md", "shut/d.md", "shut/e.md")(stored))
    assert.strictEqual(yield* Ref.get(embedded), before + 1)
  })
)

it.scopedLive("sees a change whose time was set back, or left as it was", () =>
  Effect.gen(function* () {
    const { at, content, settled, start, write } = yield* setUp()
    const has = (text: string) => Effect.map(content("a.md"), (found) => found === text)
    write("a.md", "north")
    const long = new Date("2020-01-01T00:00:00Z")
    fs.utimesSync(at("a.md"), long, long)
    yield* start
    write("a.md", "south")
    fs.utimesSync(at("a.md"), long, long)
    yield* settled(has("south"))
    write("a.md", "wests")
    const earlier = new Date("2001-01-01T00:00:00Z")
    fs.utimesSync(at("a.md"), earlier, earlier)
    yield* settled(has("wests"))
    write("a.md", "easts")
    const future = new Date(Date.now() + 86_400_000)
    fs.utimesSync(at("a.md"), future, future)
    yield* settled(has("easts"))
    write("a.md", "north")
    fs.utimesSync(at("a.md"), future, future)
    yield* settled(has("north"))
  })
)

/** The events that Linux keeps for a reader that is busy. */
const queueLength = () => {
  try {
    return Number(fs.readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"))
  } catch {
    return Infinity
  }
}

it.scopedLive.skipIf(queueLength() > 100_000)(
  "watches folders that it was never told of, since the queue ran over",
  () =>
    Effect.gen(function* () {
      const { at, settled, start, stored, write } = yield* setUp({ settings: { maxWaitMs: 500 } })
      write("a.md", "north")
      write("b.md", "south")
      yield* start
      const files = ["a.md", "b.md"].map((name) => fs.openSync(at(name), "a"))
      // Nobody reads the queue while this goes on.
      for (let n = 0; n < queueLength() + 100; n++) fs.writeSync(files[n % 2]!, ".")
      for (const file of files) fs.closeSync(file)
      write("new/c.md", "east")
      yield* settled(holds("a.md", "b.md", "new/c.md")(stored))
      write("new/d.md", "west")
      yield* settled(holds("a.md", "b.md", "new/c.md", "new/d.md")(stored))
    })
)
