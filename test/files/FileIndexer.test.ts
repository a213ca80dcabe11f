import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type { FileEvent } from "../../src/files/FileEvent.ts"
import { FileIndexer, type FileRun } from "../../src/files/FileIndexer.ts"
import { layer as files } from "../../src/files/Loader/Files.ts"
import { Disk } from "../../src/files/Disk.ts"
import { formats } from "../../src/files/Loader/formats.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { Store } from "../../src/Store.ts"
import { embeddersLayer, makeEmbedder, chunkerOf } from "../fakes.ts"
import { Indexer } from "../../src/Indexer.ts"
import { layerMemory } from "../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../folder.ts"
import { fixture } from "./Loader/loading.ts"

interface Reading {
  /** The formats, as of another version of the program. */
  readonly of?: typeof formats
  /** The limits of a file's size, and of the time that reading it takes. */
  readonly bytes?: number
  readonly ms?: number
}

const setUp = Effect.gen(function* () {
  const { embedded, embedder } = yield* makeEmbedder()
  const folder = yield* temporaryFolder
  const chunker = chunkerOf(64, 0)
  const store = yield* Effect.map(Layer.build(layerMemory), Context.get(Store))
  const made = ({ bytes = 2 ** 20, ms = 60_000, of = formats }: Reading = {}) => {
    const loader = files({
      formats: of,
      maxFileBytes: bytes,
      extraction: { parseTimeoutMs: ms, parseMemoryMb: 512 }
    })
    return Layer.build(
      FileIndexer.Default.pipe(
        Layer.provide(Indexer.Default),
        Layer.provide([chunker, loader, embeddersLayer(embedder)]),
        Layer.provide(Layer.succeed(Store, store))
      )
    ).pipe(Effect.map(Context.get(FileIndexer)))
  }
  let indexer = yield* made()
  const run = (given: Partial<FileRun> = {}) =>
    indexer.run({ paths: [folder], collection: defaultCollection, prune: false, dryRun: false, ...given })
  return {
    embedded,
    store,
    run,
    /** From now on files are read so. */
    readBy: (given: Reading) =>
      Effect.map(made(given), (other) => {
        indexer = other
      }),
    /** What a run comes to. */
    report: (given: Partial<FileRun> = {}) =>
      Stream.runFold(run(given), [] as ReadonlyArray<FileEvent>, (events, event) => [...events, event]),
    write: (name: string, content: string | Uint8Array) => {
      fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
      fs.writeFileSync(path.join(folder, name), content)
      return path.join(folder, name)
    },
    at: (name: string) => path.join(folder, name),
    stored: Effect.map(store.list(defaultCollection, { limit: 10_000 }), (documents) =>
      documents.map(({ source }) => path.relative(folder, source ?? ""))
    )
  }
})

const records = (count: number) =>
  Array.from({ length: count }, (_, n) => JSON.stringify({ _id: `r${n}`, text: `Record ${n} lies north.` })).join("\n")

it.scoped("embeds nothing again of files that were moved, and of a changed file only what is new", () =>
  Effect.gen(function* () {
    const { at, embedded, report, stored, write } = yield* setUp
    const paragraph = (word: string) => `${word} of the river. `.repeat(20).trim()
    write("a.txt", `${paragraph("north")}\n\n${paragraph("east")}`)
    write("rows.jsonl", records(3))
    yield* report()
    const first = yield* Ref.get(embedded)
    assert.isAtLeast(first, 5)
    fs.mkdirSync(at("sub"))
    fs.renameSync(at("a.txt"), at("sub/b.txt"))
    fs.renameSync(at("rows.jsonl"), at("sub/lines.jsonl"))
    const moved = yield* report({ prune: true })
    assert.sameMembers(
      moved.flatMap((event) => (event._tag === "Indexed" ? [event.document.status] : [])),
      ["created", "created", "created", "created"]
    )
    assert.sameMembers(
      [...(yield* stored)],
      ["sub/b.txt", "sub/lines.jsonl#r0", "sub/lines.jsonl#r1", "sub/lines.jsonl#r2"]
    )
    assert.strictEqual(yield* Ref.get(embedded), first)
    write("sub/b.txt", `${paragraph("north")}\n\n${paragraph("west")}`)
    yield* report()
    // Of six passages those of the paragraph that is another now.
    assert.include([1, 2, 3], (yield* Ref.get(embedded)) - first)
  })
)

/** A run during whose first batch another one goes from its start to its end. */
const overtaken = <E>(run: Stream.Stream<FileEvent, E>, other: Effect.Effect<unknown, E>) =>
  Effect.gen(function* () {
    const once = yield* Effect.once(other)
    yield* Stream.runDrain(Stream.tap(run, () => once))
  })

it.scoped("prunes nothing that another run has met meanwhile", () =>
  Effect.gen(function* () {
    const { report, run, stored, write } = yield* setUp
    write("a.jsonl", records(400))
    write("one.txt", "north")
    yield* report()
    yield* overtaken(run({ prune: true }), report())
    assert.strictEqual((yield* stored).length, 401)
  })
)

it.scoped("tells files apart by all of the numbers that a store gives them", () =>
  Effect.gen(function* () {
    const { report, store, stored, write } = yield* setUp
    const { filesBelow, knownFiles } = store
    const wide = <File extends { readonly id: number }>(files: ReadonlyArray<File>) =>
      files.map((file) => ({ ...file, id: file.id * 2 ** 32 }))
    Object.assign(store, {
      filesBelow: (...given: Parameters<typeof filesBelow>) => Effect.map(filesBelow(...given), wide),
      knownFiles: (...given: Parameters<typeof knownFiles>) => Effect.map(knownFiles(...given), wide)
    })
    write("a.txt", "north")
    const gone = write("b.txt", "south")
    yield* report()
    fs.rmSync(gone)
    yield* report({ prune: true })
    assert.deepStrictEqual(yield* stored, ["a.txt"])
  })
)

/** So long after the files were written that their times are proof. */
const later = TestClock.setTime(Date.now() + 60_000)

const tags = (events: ReadonlyArray<FileEvent>) => events.map((event) => event._tag)

it.scoped("reads only what does not look as it did, and everything with --rehash", () =>
  Effect.gen(function* () {
    const { at, report, write } = yield* setUp
    yield* later
    write("a.txt", "north")
    write("b.jsonl", records(3))
    write("empty.txt", "")
    yield* report()
    assert.deepStrictEqual(tags(yield* report()), ["Unchanged", "Unchanged", "Skipped"])
    assert.include(tags(yield* report({ rehash: true })), "FileDone")
    // Another content of the same size and time: only the inode or the time of change tells.
    const before = fs.statSync(at("a.txt"))
    write("other", "south")
    fs.utimesSync(at("other"), before.atime, before.mtime)
    fs.renameSync(at("other"), at("a.txt"))
    const changed = (yield* report()).find((event) => event._tag === "Indexed")
    assert.strictEqual(changed?.document.status, "updated")
    fs.utimesSync(at("a.txt"), new Date(), new Date())
    const touched = yield* report()
    assert.deepStrictEqual(tags(touched), ["Indexed", "FileDone", "Unchanged", "Skipped"])
    const named = yield* report({ nameUnchanged: true })
    assert.strictEqual(named.filter((event) => event._tag === "Indexed").length, 4)
  })
)

it.scoped("reads again only the files whose format is read otherwise than before", () =>
  Effect.gen(function* () {
    const { readBy, report, write } = yield* setUp
    const readAs = (name: string, version: number | undefined) =>
      readBy({
        of: (extract) => formats(extract).map((format) => (format.name === name ? { ...format, version } : format))
      })
    // As it was before bodies were read.
    yield* readAs("json lines", undefined)
    yield* later
    write("a.txt", "north")
    write("b.md", "# East")
    write("c.html", "<p>west of the river</p>")
    write("d.jsonl", records(2))
    yield* report()
    assert.deepStrictEqual(tags(yield* report()), ["Unchanged", "Unchanged", "Unchanged", "Unchanged"])
    yield* readAs("html", 99)
    const again = yield* report()
    assert.deepStrictEqual(
      again.flatMap((event) => (event._tag === "Indexed" ? [path.basename(event.document.source ?? "")] : [])),
      ["c.html", "d.jsonl#r0", "d.jsonl#r1"]
    )
    assert.deepStrictEqual(tags(yield* report()), ["Unchanged", "Unchanged", "Unchanged", "Unchanged"])
  })
)

it.scoped("reads again what was written just before it was read", () =>
  Effect.gen(function* () {
    const { report, write } = yield* setUp
    const file = write("a.txt", "north")
    yield* TestClock.setTime(Math.ceil(fs.statSync(file).mtimeMs) + 1500)
    yield* report()
    assert.deepStrictEqual(tags(yield* report()), ["Indexed", "FileDone"])
    yield* TestClock.setTime(Math.ceil(fs.statSync(file).mtimeMs) + 3500)
    yield* report()
    assert.deepStrictEqual(tags(yield* report()), ["Unchanged"])
  })
)

it.scoped("forgets what a file held that is void, or of another kind, by now", () =>
  Effect.gen(function* () {
    const { report, stored, write } = yield* setUp
    yield* later
    write("a.jsonl", records(400))
    write("b.txt", "north")
    yield* report()
    write("a.jsonl", "")
    const forgotten = (yield* report()).filter((event) => event._tag === "Pruned")
    assert.deepStrictEqual(forgotten, [{ _tag: "Pruned", documents: 400, passages: 400 }])
    assert.deepStrictEqual(yield* stored, ["b.txt"])
    write("a.jsonl", "no record at all, but a line about the north")
    yield* report()
    assert.deepStrictEqual(yield* stored, ["a.jsonl", "b.txt"])
    write("a.jsonl", records(2))
    yield* report()
    assert.deepStrictEqual(yield* stored, ["a.jsonl#r0", "a.jsonl#r1", "b.txt"])
  })
)

it.scoped("says of a file that is named like a record of another which two are meant, and indexes the rest", () =>
  Effect.gen(function* () {
    const { report, stored, write } = yield* setUp
    write("a.jsonl", records(2))
    write("a.jsonl#r0", '{"content": "another"}')
    write("b.txt", "north")
    const [failed, ...others] = (yield* report()).filter((event) => event._tag === "Failed")
    assert.include(failed?.reason, "a record of another file has this file's name")
    assert.lengthOf(others, 0)
    assert.deepStrictEqual(yield* stored, ["a.jsonl#r0", "a.jsonl#r1", "b.txt"])
  })
)

it.scoped("forgets with prune the records that an earlier run left, though their file is as it was", () =>
  Effect.gen(function* () {
    const { report, stored, write } = yield* setUp
    yield* later
    write("a.jsonl", records(300))
    yield* report()
    write("a.jsonl", `${records(200)}\n${records(50)}`)
    const kept = (yield* report()).find((event) => event._tag === "Kept")
    assert.strictEqual(kept?.documents, 100)
    assert.strictEqual((yield* stored).length, 300)
    const events = yield* report({ prune: true })
    assert.deepStrictEqual(tags(events), ["Unchanged", "Pruned"])
    assert.strictEqual((yield* stored).length, 200)
    assert.deepStrictEqual(tags(yield* report()), ["Unchanged"])
  })
)

it.scoped("reads a file again of whose records one was deleted", () =>
  Effect.gen(function* () {
    const { at, report, store, stored, write } = yield* setUp
    yield* later
    write("a.jsonl", records(3))
    yield* report()
    yield* store.deleteSource(defaultCollection, `${at("a.jsonl")}#r1`)
    assert.deepStrictEqual(yield* stored, ["a.jsonl#r0", "a.jsonl#r2"])
    yield* report()
    assert.deepStrictEqual(yield* stored, ["a.jsonl#r0", "a.jsonl#r1", "a.jsonl#r2"])
  })
)

it.scoped("reads a file again that another run came to meanwhile", () =>
  Effect.gen(function* () {
    const { report, run, write } = yield* setUp
    yield* later
    write("a.jsonl", records(400))
    yield* overtaken(run(), report())
    assert.include(tags(yield* report()), "FileDone")
    assert.deepStrictEqual(tags(yield* report()), ["Unchanged"])
  })
)

it.scoped("counts a file as gone where a folder, a pipe or a link to a folder is by now, and prunes it", () =>
  Effect.gen(function* () {
    const { at, report, stored, write } = yield* setUp
    for (const name of ["folder.md", "link.md", "pipe.md", "kept.md"]) write(name, `What stands in ${name}.`)
    yield* report()
    for (const name of ["folder.md", "link.md", "pipe.md"]) fs.rmSync(at(name))
    fs.mkdirSync(at("folder.md"))
    fs.symlinkSync(at("folder.md"), at("link.md"))
    execFileSync("mkfifo", [at("pipe.md")])
    const events = yield* report()
    assert.deepStrictEqual(
      events.flatMap((event) => (event._tag === "Lost" ? [`${path.basename(event.path)} ${event.reason}`] : [])).sort(),
      ["folder.md gone", "link.md gone", "pipe.md gone"]
    )
    yield* report({ prune: true })
    assert.deepStrictEqual([...(yield* stored)], ["kept.md"])
  })
)

/** Runs on a disk where something happens once a file has been looked at, and before it is opened. */
const during = <A, E, R>(run: Effect.Effect<A, E, R>, happens: () => void) =>
  Effect.flatMap(Disk, (disk) => {
    const open = (path: string) => Effect.zipRight(Effect.sync(happens), disk.open(path))
    return Effect.provideService(run, Disk, { ...disk, open })
  })

const failures = (events: ReadonlyArray<FileEvent>) =>
  events.flatMap((event) => (event._tag === "Failed" ? [event.reason] : []))

it.scoped("reads nothing from outside of the folders that may be read, whatever is exchanged meanwhile", () =>
  Effect.gen(function* () {
    const { at, report, stored, write } = yield* setUp
    const secret = write("outside/secret.md", "The treasure is buried under the oak.")
    const file = write("within/notes/secret.md", "Bees make honey in the hive.")
    const given = { paths: [at("within")], within: [fs.realpathSync(at("within"))] }
    for (const [path, target] of [
      [file, secret],
      [at("within/notes"), at("outside")]
    ] as const) {
      yield* later
      const events = yield* during(report(given), () => {
        fs.renameSync(path, at("aside"))
        fs.symlinkSync(target, path)
      })
      assert.deepStrictEqual(failures(events), ["it leads out of the folders that may be read"])
      assert.deepStrictEqual([...(yield* stored)], [])
      fs.rmSync(path)
      fs.renameSync(at("aside"), path)
    }
    assert.deepStrictEqual(failures(yield* report(given)), [])
    assert.deepStrictEqual([...(yield* stored)], ["within/notes/secret.md"])
  })
)

it.scoped("reads a file again that was exchanged for another while it was read, and waits for no pipe", () =>
  Effect.gen(function* () {
    const { at, report, stored, write } = yield* setUp
    const file = write("a.md", "Bees make honey in the hive.")
    const other = write("other/b.md", "Kestrels hover over fields.")
    execFileSync("mkfifo", [at("other/pipe")])
    yield* later
    const given = { paths: [file] }
    const swap = (path: string) => {
      fs.renameSync(file, at("aside"))
      fs.renameSync(path, file)
      fs.renameSync(at("aside"), path)
    }
    for (const [path, reasons] of [
      [other, []],
      [at("other/pipe"), ["not a regular file"]]
    ] as const) {
      write("a.md", `Bees make honey, and ${reasons.length}.`)
      const events = yield* during(report(given), () => swap(path))
      assert.deepStrictEqual(failures(events), [...reasons])
      swap(path)
      const status = (yield* report(given)).flatMap((event) =>
        event._tag === "Indexed" ? [event.document.status] : []
      )
      assert.deepStrictEqual([...status, ...(yield* stored)], ["updated", "a.md"])
    }
  })
)

it.scoped("forgets what stood where a link to a file or folder is by now, which is read there", () =>
  Effect.gen(function* () {
    const { at, report, stored, write } = yield* setUp
    for (const name of ["CLAUDE.md", "AGENTS.md", "old/a.md", "new/a.md"]) write(name, `What stands in ${name}.`)
    yield* report()
    for (const [name, target] of [
      ["CLAUDE.md", "AGENTS.md"],
      ["old", "new"]
    ] as const) {
      fs.rmSync(at(name), { recursive: true })
      fs.symlinkSync(target, at(name))
    }
    const events = yield* report()
    assert.deepStrictEqual(
      events.flatMap((event) => (event._tag === "Lost" ? [`${path.basename(event.path)} ${event.reason}`] : [])).sort(),
      ["CLAUDE.md link", "a.md link"]
    )
    yield* report({ prune: true })
    assert.sameMembers([...(yield* stored)], ["AGENTS.md", "new/a.md"])
  })
)

it.scoped("forgets nothing behind a link to a folder that is away", () =>
  Effect.gen(function* () {
    const { at, report, stored, write } = yield* setUp
    write("here.md", "What is here.")
    const disk = yield* temporaryFolder
    fs.mkdirSync(path.join(disk, "notes/deep"), { recursive: true })
    fs.writeFileSync(path.join(disk, "notes/deep/there.md"), "What is on the disk.")
    fs.symlinkSync(path.join(disk, "notes"), at("ext"))
    yield* report()
    assert.sameMembers([...(yield* stored)], ["here.md", "ext/deep/there.md"])
    fs.renameSync(path.join(disk, "notes"), path.join(disk, "away"))
    yield* report({ prune: true })
    assert.sameMembers([...(yield* stored)], ["here.md", "ext/deep/there.md"])
    fs.rmSync(at("ext"))
    yield* report({ prune: true })
    assert.deepStrictEqual([...(yield* stored)], ["here.md"])
  })
)

it.scoped("forgets nothing that an ignore file brought back, while that cannot be read", () =>
  Effect.gen(function* () {
    const { at, report, stored, write } = yield* setUp
    write(".clewignore", "!.github/\n")
    write(".github/how.md", "How to help.")
    write("sub/.gitignore", "*.log\n")
    write("sub/.clewignore", "!*.log\n")
    write("sub/one.log", "One line.")
    yield* report()
    assert.sameMembers([...(yield* stored)], [".github/how.md", "sub/one.log"])
    for (const name of [".clewignore", "sub/.clewignore"]) {
      fs.rmSync(at(name))
      fs.symlinkSync(at(name), at(name))
    }
    yield* report({ prune: true })
    assert.sameMembers([...(yield* stored)], [".github/how.md", "sub/one.log"])
    for (const name of [".clewignore", "sub/.clewignore"]) fs.rmSync(at(name))
    yield* report({ prune: true })
    assert.deepStrictEqual([...(yield* stored)], [])
  })
)

it.scopedLive("names a file beyond a limit in every run, and reads it once the limit is another", () =>
  Effect.gen(function* () {
    const { readBy, report, stored, write } = yield* setUp
    write("small.txt", "north")
    write("large.txt", "south ".repeat(2000))
    write("guide.pdf", fixture("guide.pdf"))
    write("mail.eml", fixture("letter.eml"))
    const failures = (events: ReadonlyArray<FileEvent>) =>
      events.flatMap((event) => (event._tag === "Failed" ? [[path.basename(event.path), event.reason] as const] : []))
    yield* readBy({ bytes: 10_000, ms: 0 })
    const first = failures(yield* report())
    assert.deepStrictEqual(
      first.map(([name]) => name),
      ["guide.pdf", "large.txt", "mail.eml"]
    )
    assert.match(
      first[0]![1],
      /more than limits\.max_file_bytes allows|takes longer than limits\.parse_timeout_ms allows/
    )
    assert.match(first[1]![1], /more than limits\.max_file_bytes allows/)
    assert.match(first[2]![1], /takes longer than limits\.parse_timeout_ms allows \(0 ms of processor time\)/)
    assert.deepStrictEqual(yield* stored, ["small.txt"])
    assert.deepStrictEqual(failures(yield* report()), first)

    yield* readBy({ bytes: 2 ** 20, ms: 0 })
    const second = failures(yield* report())
    assert.deepStrictEqual(
      second.map(([name]) => name),
      ["guide.pdf", "mail.eml"]
    )
    yield* readBy({})
    assert.deepStrictEqual(failures(yield* report()), [])
    assert.includeMembers([...(yield* stored)], ["guide.pdf", "large.txt", "mail.eml", "small.txt"])
    // What was known of a file stays if its new version is beyond a limit.
    yield* readBy({ bytes: 10_000 })
    write("large.txt", "west ".repeat(4000))
    assert.include(
      failures(yield* report({ prune: true })).map(([name]) => name),
      "large.txt"
    )
    assert.includeMembers([...(yield* stored)], ["guide.pdf", "large.txt"])
  })
)

it.scoped("does not open a file beyond a limit again before a limit changes", () =>
  Effect.gen(function* () {
    const { readBy, report, write } = yield* setUp
    let opened = 0
    const counting: typeof formats = (extract) =>
      formats(extract).map((format) => ({
        ...format,
        accepts: (file) => {
          opened++
          return format.accepts(file)
        }
      }))
    write("large.txt", "south".padEnd(1_800_000))
    yield* later
    yield* report()
    yield* readBy({ of: counting })
    assert.deepStrictEqual(tags(yield* report()), ["Failed"])
    assert.strictEqual(opened, 0)
    yield* readBy({ bytes: 2 ** 22 })
    assert.include(tags(yield* report()), "Indexed")
  })
)
