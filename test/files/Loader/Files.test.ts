import { assert, describe, it, vi } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Loaded, Loader } from "../../../src/files/Loader.ts"
import * as Files from "../../../src/files/Loader/Files.ts"
import { Disk, DiskFailure, type FileTree } from "../../../src/files/Disk.ts"
import { formats } from "../../../src/files/Loader/formats.ts"
import { temporaryFolder } from "../../folder.ts"

const maxFileBytes = 200_000
const layer = Files.layer({ formats, maxFileBytes, extraction: { parseTimeoutMs: 60_000, parseMemoryMb: 512 } })

const documents = (path: string) =>
  Loader.pipe(
    Effect.flatMap((loader) => loader.open(path)),
    Effect.flatMap(({ read }) => read),
    Effect.map((file) => file.documents),
    Stream.unwrapScoped
  )

const all = <E, R>(stream: Stream.Stream<Loaded, E, R>) => Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

const load = (path: string) => all(documents(path))

const write = (name: string, bytes: string | Uint8Array) =>
  Effect.map(temporaryFolder, (folder) => {
    const path = Path.join(folder, name)
    Fs.writeFileSync(path, bytes)
    return path
  })

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64"
)
const svg = '<?xml version="1.0"?>\n<!-- drawn -->\n<svg xmlns="http://www.w3.org/2000/svg"/>'

describe("Loader.open", () => {
  const refused: ReadonlyArray<readonly [string, string | Uint8Array, string]> = [
    ["picture.txt", png, "binary (image/png)"],
    ["picture.jsonl", png, "binary (image/png)"],
    ["paper.md", "%PDF-1.7\n1 0 obj\n", "not a valid PDF: Invalid PDF structure."],
    ["drawing.txt", svg, "binary (image/svg+xml)"],
    ["book.ipynb", '{"cells": []}', "it holds no text"],
    ["archive.py", Buffer.from("1f8b0800000000000003", "hex"), "damaged: unexpected end of file"],
    ["data", Uint8Array.of(1, 2, 3, 0, 1), "binary"],
    [
      "old.txt",
      Uint8Array.of(0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x81, 0x5b),
      "text in an encoding that is not recognised: save it as UTF-8 to have it read"
    ],
    ["photo.png", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "Git LFS pointer"],
    ["empty.md", "", "empty"],
    ["large.txt", "x".repeat(300_000), "293.0 KiB, more than limits.max_file_bytes allows (195.3 KiB)"]
  ]
  for (const [name, bytes, reason] of refused) {
    it.scoped(`passes over ${name}: ${reason}`, () =>
      Effect.gen(function* () {
        const path = yield* write(name, bytes)
        const error = yield* Effect.flip(load(path))
        assert.strictEqual(error._tag, "Unsupported")
        assert.strictEqual(error.message, `${path}: ${reason}`)
      }).pipe(Effect.provide(layer))
    )
  }

  const read: ReadonlyArray<readonly [string, string | Uint8Array, Partial<Loaded>]> = [
    ["bm.txt", "BM25 is a ranking function", { content: "BM25 is a ranking function", format: "text" }],
    ["crlf.md", "\ufeff# A\r\n\r\nb\r\n", { content: "# A\r\n\r\nb\r\n", format: "markdown" }],
    ["a.ts", "export {}\n", { content: "export {}\n", format: "code" }],
    ["README", "# Read me\n", { content: "# Read me\n", format: "markdown" }],
    ["conf.yaml", "# not a heading\na: 1\n", { content: "# not a heading\na: 1\n", format: "data" }],
    ["wide.txt", Buffer.from("\ufeffGrüße", "utf16le"), { content: "Grüße" }],
    ["west.txt", Buffer.from("Grüße aus Köln", "latin1"), { content: "Grüße aus Köln" }],
    ["long.txt", "é".repeat(90_000), { content: "é".repeat(90_000) }],
    [
      "late.txt",
      Buffer.concat([Buffer.alloc(150_000, "abc "), Buffer.of(0xe9)]),
      { content: `${"abc ".repeat(37_500)}é` }
    ]
  ]
  for (const [name, bytes, expected] of read) {
    it.scoped(`reads ${name}`, () =>
      Effect.gen(function* () {
        const [document, ...more] = yield* load(yield* write(name, bytes))
        assert.deepInclude(document, expected)
        assert.deepStrictEqual(more, [])
      }).pipe(Effect.provide(layer))
    )
  }

  it.scoped("reads JSON Lines beyond the limit for whole files, each record with its line", () =>
    Effect.gen(function* () {
      const line = (i: number) => (i === 500 ? "oops" : JSON.stringify({ _id: `é${i}`, text: "ü".repeat(400) }))
      const path = yield* write("big.jsonl", Array.from({ length: 1000 }, (_, i) => line(i + 1)).join("\n"))
      assert.isAbove(Fs.statSync(path).size, 3 * maxFileBytes)
      const records = yield* load(path)
      assert.lengthOf(records, 1000)
      for (const [i, record] of records.entries()) {
        assert.strictEqual(record.line, i + 1)
        if (i + 1 === 500) assert.strictEqual(record._tag, "Rejected")
        else if (record._tag === "Loaded")
          assert.strictEqual(`${record.record} ${record.content.length}`, `é${i + 1} 400`)
        else assert.fail(record.reason)
      }
    }).pipe(Effect.provide(layer))
  )

  it.scoped("reads each line of JSON Lines in its own encoding, wherever it stands", () =>
    Effect.gen(function* () {
      const lines = [
        '{"text": "one"}\n'.repeat(10_000),
        Buffer.from('{"text": "café"}\n', "latin1"),
        '{"text": "naïve"}\n'
      ]
      const path = yield* write("mixed.jsonl", Buffer.concat(lines.map((line) => Buffer.from(line))))
      const records = yield* load(path)
      assert.deepStrictEqual(
        records.slice(10_000).map((record) => (record._tag === "Loaded" ? record.content : record.reason)),
        ["café", "naïve"]
      )
    }).pipe(Effect.provide(layer))
  )

  it.scoped("reads JSON Lines in other encodings", () =>
    Effect.gen(function* () {
      for (const encoding of ["latin1", "utf16le"] as const) {
        const text = `${encoding === "utf16le" ? "\ufeff" : ""}{"text": "Grüße"}\r\n{"text": "Köln"}\r\n`
        const records = yield* load(yield* write("a.ndjson", Buffer.from(text, encoding)))
        assert.deepStrictEqual(
          records.map((each) => (each._tag === "Loaded" ? each.content : each.reason)),
          ["Grüße", "Köln"]
        )
      }
    }).pipe(Effect.provide(layer))
  )

  it.scoped("opens neither folders nor pipes", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const pipe = Path.join(folder, "pipe.md")
      execFileSync("mkfifo", [pipe])
      assert.strictEqual((yield* Effect.flip(load(pipe))).message, `${pipe}: not a regular file`)
      assert.strictEqual((yield* Effect.flip(load(folder))).message, `${folder}: a folder`)
      const missing = yield* Effect.flip(load(Path.join(folder, "none.md")))
      assert.deepInclude({ ...missing }, { _tag: "Unreadable", reason: "no such file or folder" })
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("closes its file when the reader has had enough", () =>
    Effect.gen(function* () {
      const path = yield* write("a.jsonl", '{"text": "a"}\n'.repeat(100_000))
      const open = () => Fs.readdirSync("/proc/self/fd").filter((fd) => isOpen(fd, path)).length
      yield* Stream.runForEach(Stream.take(documents(path), 3), () => Effect.sync(() => assert.strictEqual(open(), 1)))
      // A thread closes it.
      while (open() > 0) yield* Effect.sleep("5 millis")
    }).pipe(Effect.provide(layer), (effect) => (Fs.existsSync("/proc/self/fd") ? effect : Effect.void))
  )

  /** Reads with a disk that differs in this. */
  const loadBy = (path: string, differs: (disk: FileTree) => Partial<FileTree>) =>
    Effect.flatMap(Disk, (disk) => Effect.provideService(load(path), Disk, { ...disk, ...differs(disk) }))

  it.scoped("says why a file cannot be read", () =>
    Effect.gen(function* () {
      const path = yield* write("a.md", "text")
      const reasonOf = (code: string, detail: string) =>
        Effect.map(
          Effect.flip(loadBy(path, () => ({ open: () => new DiskFailure({ code, detail }) }))),
          ({ _tag, reason }) => [_tag, reason]
        )
      assert.deepStrictEqual(yield* reasonOf("EACCES", "EACCES"), ["Unreadable", "permission denied"])
      assert.deepStrictEqual(yield* reasonOf("EIO", "EIO: i/o error"), ["Unreadable", "EIO: i/o error"])
    }).pipe(Effect.provide(layer))
  )

  it.scoped("holds a file that grows while it is read to the limit", () =>
    Effect.gen(function* () {
      const path = yield* write("a.txt", "x".repeat(300_000))
      const growing = loadBy(path, ({ open }) => ({
        open: (at) =>
          Effect.map(open(at), (file) => ({
            ...file,
            entry: { ...file.entry, stamp: { ...file.entry.stamp, size: 70_000 } }
          }))
      }))
      assert.match((yield* Effect.flip(growing)).message, /more than limits\.max_file_bytes allows/)
    }).pipe(Effect.provide(layer))
  )
})

const isOpen = (fd: string, path: string): boolean => {
  try {
    return Fs.readlinkSync(`/proc/self/fd/${fd}`) === path
  } catch {
    return false
  }
}

describe("Loader.fromText", () => {
  const fromText = (name: string, text: string | Uint8Array) =>
    Effect.flatMap(Loader, (loader) => all(loader.fromText({ name, bytes: Uint8Array.from(Buffer.from(text)) })))

  it.effect("goes by the name, else by the look of the text", () =>
    Effect.gen(function* () {
      const [markdown] = yield* fromText("notes.md", "\ufeff---\ntitle: N\n---\ntext")
      assert.deepInclude(markdown, { format: "markdown", title: "N", content: "---\ntitle: N\n---\ntext" })
      assert.deepInclude((yield* fromText("-", "# Heading\n\ntext"))[0], { format: "markdown" })
      assert.deepInclude((yield* fromText("-", "---\ntags: [a]\n---\n# H\n"))[0], {
        format: "markdown",
        metadata: { tags: ["a"] }
      })
      assert.deepInclude((yield* fromText("-", "just text"))[0], { format: "text", content: "just text" })
      assert.lengthOf(yield* fromText("a.jsonl", '{"text": "a"}\n{"text": "b"}'), 2)
    }).pipe(Effect.provide(layer))
  )

  it.effect("refuses what it would refuse in a file", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(fromText("-", ""))).message, "-: empty")
      assert.strictEqual((yield* Effect.flip(fromText("-", png))).message, "-: binary (image/png)")
      assert.match((yield* Effect.flip(fromText("-", "x".repeat(300_000)))).message, /max_file_bytes/)
    }).pipe(Effect.provide(layer))
  )
})

it.scoped(
  "a text whose passages have no room in memory is refused: the system would end the program without a word",
  () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(process, "constrainedMemory").mockReturnValue(2 ** 20)),
        (spy) => Effect.sync(() => spy.mockRestore())
      )
      const extraction = { parseTimeoutMs: 60_000, parseMemoryMb: 64 }
      const context = yield* Layer.build(Files.layer({ formats, maxFileBytes: 2 ** 24, extraction }))
      const { fromText } = Context.get(context, Loader)
      const lines = (count: number) => Buffer.from("2026-11-30 tide\n".repeat(count))
      const [fits] = yield* all(fromText({ name: "/a.log", bytes: lines(400_000) }))
      assert.strictEqual(fits?._tag, "Loaded")
      const [refused] = yield* all(fromText({ name: "/a.log", bytes: lines(500_000) }))
      assert.deepStrictEqual(refused, {
        _tag: "Rejected",
        line: 1,
        reason:
          "its text has 8000000 characters, and this process has the memory to index 6710886 at once: split the file, or give its container or machine more",
        isLimit: true
      })
    })
)
