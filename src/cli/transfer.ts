import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import type { Readable } from "node:stream"
import { finished } from "node:stream/promises"
import { createGzip } from "node:zlib"
import { isOnServer } from "../Config.ts"
import type { CollectionName } from "../model/Collection.ts"
import { ExportEnd } from "../model/Export.ts"
import { linesOf } from "../upkeep/exportLines.ts"
import { Transfer } from "../upkeep/Transfer.ts"
import { define } from "./command.ts"
import { Engine, Place, displayPath, inIndex } from "./engine.ts"
import * as options from "./flags.ts"
import { count, numberText, printResult } from "./output.ts"
import { cannot, exitCode, FileUnusable, stop, usage } from "./exit.ts"
import { type StoreUnavailable, UpkeepStore } from "../Store.ts"
import { partialOf } from "../runtime/partial.ts"
import { Terminal } from "./terminal.ts"
import { beginningOf, unlessTaken } from "./writing.ts"

/** What `export --json` and `import --json` print. */
export const TransferReport = Schema.Struct({
  file: Schema.String,
  documents: Schema.Int,
  chunks: Schema.Int,
  unchanged: Schema.optional(
    Schema.Int.annotations({ description: "Of the documents, those that were there already" })
  ),
  skipped: Schema.optional(Schema.Int.annotations({ description: "Documents of the file that hold no text" }))
}).annotations({ identifier: "TransferReport" })

const decodeEnd = Schema.decodeSync(Schema.parseJson(ExportEnd))

const head = '{"format":"clew-export"'

/** Whether a file begins like an export, compressed or not. */
const isExport = (file: string): boolean => beginningOf(file).startsWith(head)

/**
 * Writes lines to a new file that only its owner can read, and that gets its name when it is complete, or the one that
 * `nameOf` then gives.
 */
const writeLines = <E, R>(file: string, lines: Stream.Stream<string, E, R>, nameOf = () => file) =>
  Effect.scoped(
    Effect.gen(function* () {
      let name = ""
      /** What went wrong first: a stream that was destroyed says only that. */
      let failure: Error | undefined
      const [first, last] = yield* Effect.acquireRelease(
        Effect.try({
          try: () => {
            name = partialOf(file)
            const last = fs.createWriteStream(name, { fd: fs.openSync(name, "wx", 0o600) })
            last.on("error", (error) => (failure ??= error))
            if (!file.endsWith(".gz")) return [last, last] as const
            const gzip = createGzip()
            last.on("error", (error) => gzip.destroy(error))
            gzip.on("error", () => {})
            gzip.pipe(last)
            return [gzip, last] as const
          },
          catch: cannot("write", file)
        }),
        ([first, last]) =>
          Effect.sync(() => {
            first.destroy()
            last.destroy()
            fs.rmSync(name, { force: true })
          })
      )
      const write = (line: string) =>
        Effect.async<void, FileUnusable>((resume) => {
          first.write(`${line}\n`, (error) =>
            resume(error ? Effect.fail(cannot("write", file)(failure ?? error)) : Effect.void)
          )
        })
      yield* Stream.runForEach(lines, write)
      yield* Effect.tryPromise({
        try: async () => {
          first.end()
          await finished(last)
          fs.renameSync(name, nameOf())
        },
        catch: cannot("write", file)
      })
    })
  )

export const exportIndex = define(
  {
    name: "export",
    summary: "Write all documents with their vectors as JSON Lines",
    positional: {
      name: "FILE",
      summary:
        "The export, compressed if its name ends in .gz; it replaces an older one of that name. Standard output if left out, or -",
      min: 0,
      max: 1,
      paths: true
    },
    flags: { collection: options.onlyCollection },
    details: [
      "Exports all collections, or the one named. `clew import FILE` stores them in another index, which gives the same answers and scores; nothing is embedded again. docs/export.md describes the format."
    ],
    examples: [
      "clew export everything.jsonl.gz",
      "clew export notes.jsonl --collection notes",
      "clew export | clew import - --db copy.db"
    ]
  },
  function* (flags, [name]) {
    const { cwd, globals } = yield* Place
    const { note, out, print } = yield* Terminal
    if (name === undefined && out.isTerminal) return yield* usage("name a FILE, or pipe the export into a program")
    const file = name === undefined || name === "-" ? undefined : path.resolve(cwd, name)
    if (file === undefined && globals.json) return yield* usage("--json prints a report, so the export needs a FILE")
    if (file !== undefined) yield* unlessTaken(file, "an export", isExport)
    yield* inIndex("read", function* () {
      const { lines } = yield* Transfer
      let last = ""
      let damaged = 0
      const leaveOut = ({ message }: StoreUnavailable) => {
        damaged++
        return note(`clew: left out: ${message}`)
      }
      const written = Stream.tap(lines(flags.collection, leaveOut), (line) => Effect.sync(() => (last = line)))
      // An older export may have what is damaged now.
      let made = file ?? ""
      const nameOf = () => (made += damaged > 0 && fs.existsSync(made) ? ".incomplete" : "")
      yield* file === undefined ? Stream.runForEach(written, print) : writeLines(file, written, nameOf)
      const { documents, passages } = decodeEnd(last)
      const left = damaged === 0 ? "" : `; ${count(damaged, "damaged document")} left out`
      const what = `xported ${count(documents, "document")}, ${count(passages, "passage")}`
      if (file === undefined) yield* note(`clew: e${what}${left}`)
      else {
        const report = { file: made, documents, chunks: passages }
        yield* printResult(TransferReport, report, `E${what} to ${displayPath(cwd, made)}${left}`)
      }
      if (damaged > 0) return yield* stop(exitCode.failed)
    })
  }
)

type Opened = fs.promises.FileHandle

/** An open file, closed with the scope. */
const opened = (open: () => Promise<Opened>, unusable: (error: unknown) => FileUnusable) =>
  Effect.acquireRelease(Effect.tryPromise({ try: open, catch: unusable }), (file) => Effect.promise(() => file.close()))

/** Writes what the configured index has to a new index file, by way of an export beside it. */
export const copyTo = Effect.fnUntraced(function* (db: string, collection: CollectionName | undefined) {
  const name = `${db}.export`
  const unreadable = cannot("read", name)
  yield* inIndex("read", function* () {
    yield* writeLines(name, (yield* Transfer).lines(collection))
  })
  const file = yield* opened(() => fs.promises.open(name), unreadable)
  yield* inIndex(
    "write",
    function* () {
      yield* (yield* Transfer).take(Stream.suspend(() => Stream.fromAsyncIterable(linesOf(file), unreadable)))
      yield* (yield* UpkeepStore).settle()
    },
    { db }
  )
  fs.rmSync(name)
}, Effect.scoped)

/** What can be read only once, in a file without a name: it is gone however this process ends. */
const kept = Effect.fnUntraced(function* (source: Readable, what: string) {
  const { store } = yield* (yield* Engine).settings
  const beside = path.dirname(store.path)
  // Where the index grows there is room; the system's folder may be memory.
  const folder = !isOnServer(store) && fs.existsSync(beside) ? beside : tmpdir()
  const unusable = (error: unknown) =>
    new FileUnusable({ message: `cannot keep ${what} in ${folder} to check it first: ${(error as Error).message}` })
  const file = yield* opened(async () => {
    const name = path.join(folder, `clew-import-${process.pid}`)
    const made = await fs.promises.open(name, "wx+", 0o600)
    fs.rmSync(name)
    return made
  }, unusable)
  yield* Effect.tryPromise({ try: (signal) => fs.promises.writeFile(file, source, { signal }), catch: unusable })
  return file
})

const imported = Effect.fnUntraced(function* (name: string) {
  const { cwd } = yield* Place
  const { stdin } = (yield* Terminal).streams
  if (name === "-" && stdin.isTTY === true) return yield* usage("- reads standard input: pipe an export into it")
  const file = name === "-" ? "standard input" : path.resolve(cwd, name)
  const unreadable = cannot("read", file)
  // Before an index is created for it.
  const content = yield* name === "-"
    ? kept(stdin, file)
    : Effect.flatMap(Effect.try({ try: () => fs.statSync(file), catch: unreadable }), (stat) =>
        stat.isFile() || stat.isDirectory()
          ? opened(() => fs.promises.open(file), unreadable)
          : kept(fs.createReadStream(file), file)
      )
  const { size } = yield* Effect.tryPromise({ try: () => content.stat(), catch: unreadable })
  if (size === 0) {
    return yield* new FileUnusable({ message: `${file} is empty: the program that was to write the export has failed` })
  }
  yield* inIndex("write", function* () {
    const { take } = yield* Transfer
    const taken = yield* take(Stream.suspend(() => Stream.fromAsyncIterable(linesOf(content), unreadable)))
    yield* (yield* UpkeepStore).settle()
    const { documents, passages, skipped, unchanged } = taken
    yield* printResult(
      TransferReport,
      { file, documents, chunks: passages, unchanged, skipped },
      `Imported ${count(documents, "document")}, ${count(passages, "passage")} from ${displayPath(cwd, file)}` +
        (unchanged === 0
          ? ""
          : `, ${numberText(unchanged)} of which ${unchanged === 1 ? "was" : "were"} there already`) +
        (skipped === 0 ? "" : `; ${count(skipped, "document")} skipped, without text`)
    )
  })
}, Effect.scoped)

export const importIndex = define(
  {
    name: "import",
    summary: "Import what clew export wrote",
    positional: {
      name: "FILE",
      summary: "An export, compressed with gzip or not; - is standard input",
      min: 1,
      max: 1,
      paths: true
    },
    flags: {},
    details: [
      "Replaces documents that are already in the index, but for unchanged ones, and keeps all others; one that holds no text in the file is deleted. Creates collections with the embedder they had; an existing collection must have the same one. Nothing is embedded, and nothing is stored if a line is invalid.",
      "An import that was interrupted goes on where it was if it is run again."
    ],
    examples: ["clew import everything.jsonl.gz --db elsewhere.db", "ssh host clew export | clew import -"]
  },
  function* (_, [name = ""]) {
    yield* imported(name)
  }
)
