import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { finished } from "node:stream/promises"
import { constants, createGzip, gunzipSync, createGunzip } from "node:zlib"
import { ExportEnd } from "../model/Export.ts"
import { Transfer } from "../upkeep/Transfer.ts"
import { define } from "./command.ts"
import { Place, shown, inIndex } from "./engine.ts"
import * as options from "./flags.ts"
import { count, printResult } from "./output.ts"
import { usage, FileUnusable } from "./exit.ts"
import { UpkeepStore } from "../Store.ts"

/** What `export --json` and `import --json` print. */
export const TransferReport = Schema.Struct({
  file: Schema.String,
  documents: Schema.Int,
  chunks: Schema.Int
}).annotations({ identifier: "TransferReport" })

const decodeEnd = Schema.decodeSync(Schema.parseJson(ExportEnd))

const head = '{"format":"clew-export"'

const cannot = (file: string) => (error: unknown) =>
  new FileUnusable({ message: `cannot write ${file}: ${(error as Error).message}` })

/** Whether a file begins like an export, compressed or not, or is empty. */
const isExport = (file: string): boolean => {
  const fd = fs.openSync(file, "r")
  try {
    const bytes = Buffer.alloc(4096)
    const begun = bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, 0))
    const isPacked = begun[0] === 0x1f && begun[1] === 0x8b
    const text = isPacked ? gunzipSync(begun, { finishFlush: constants.Z_SYNC_FLUSH }) : begun
    return text.length === 0 || text.toString("latin1", 0, head.length) === head
  } catch {
    return false
  } finally {
    fs.closeSync(fd)
  }
}

/** Fails if a file of that name exists and is not an export. */
const unlessTaken = (file: string) =>
  Effect.try({
    try: () => {
      const stat = fs.statSync(file, { throwIfNoEntry: false })
      return stat === undefined || (stat.isFile() && isExport(file))
    },
    catch: cannot(file)
  }).pipe(
    Effect.filterOrFail(
      (isFree) => isFree,
      () =>
        new FileUnusable({
          message: `${file} already exists and is not an export by Clew; name another file, or move it away`
        })
    )
  )

/** Writes lines to a new file that only its owner can read, and that gets its name when it is complete. */
const writeLines = <E, R>(file: string, lines: Stream.Stream<string, E, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const name = `${file}.${process.pid}.partial`
      const [first, last] = yield* Effect.acquireRelease(
        Effect.try({
          try: () => {
            const last = fs.createWriteStream(name, { fd: fs.openSync(name, "wx", 0o600) })
            // The writer gets this error too.
            last.on("error", () => {})
            if (!file.endsWith(".gz")) return [last, last] as const
            const gzip = createGzip()
            last.on("error", (error) => gzip.destroy(error))
            gzip.on("error", () => {})
            gzip.pipe(last)
            return [gzip, last] as const
          },
          catch: cannot(file)
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
          first.write(`${line}\n`, (error) => resume(error ? Effect.fail(cannot(file)(error)) : Effect.void))
        })
      yield* Stream.runForEach(lines, write)
      yield* Effect.tryPromise({
        try: async () => {
          first.end()
          await finished(last)
          fs.renameSync(name, file)
        },
        catch: cannot(file)
      })
    })
  )

export const exportIndex = define(
  {
    name: "export",
    summary: "Write all documents with their vectors as JSON Lines",
    positional: {
      name: "FILE",
      summary: "The export, compressed if its name ends in .gz; it replaces an older one of that name",
      min: 1,
      max: 1,
      paths: true
    },
    flags: { collection: options.collection },
    details: [
      "Exports all collections, or the one named. `clew import FILE` stores them in another index, which gives the same answers and scores; nothing is embedded again. docs/export.md describes the format."
    ],
    examples: ["clew export everything.jsonl.gz", "clew export notes.jsonl --collection notes"]
  },
  function* (flags, [name = ""]) {
    if (name === "-") {
      return yield* usage("FILE must be a file: it gets its name when it is complete")
    }
    const { cwd } = yield* Place
    const file = path.resolve(cwd, name)
    yield* unlessTaken(file)
    yield* inIndex("read", function* () {
      const { lines } = yield* Transfer
      let last = ""
      yield* writeLines(
        file,
        Stream.tap(lines(flags.collection), (line) => Effect.sync(() => (last = line)))
      )
      const { documents, passages } = decodeEnd(last)
      yield* printResult(
        TransferReport,
        { file, documents, chunks: passages },
        `Exported ${count(documents, "document")}, ${count(passages, "passage")} to ${shown(cwd, file)}`
      )
    })
  }
)

/** A longer line cannot be a useful document. */
const longestLine = 512 * 1024 * 1024

/** The lines of a file; its first bytes tell whether it is compressed with gzip. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const head = Buffer.alloc(2)
  const opened = await fs.promises.open(file, "r")
  await opened.read(head, 0, 2, 0).catch(async (error: unknown) => {
    await opened.close()
    throw error
  })
  const bytes = opened.createReadStream({ start: 0 })
  const isGzip = head[0] === 0x1f && head[1] === 0x8b
  const content = isGzip ? bytes.on("error", (error) => unpacked.destroy(error)).pipe(createGunzip()) : bytes
  const unpacked = content
  try {
    let parts: Array<Buffer> = []
    let length = 0
    for await (const chunk of content as AsyncIterable<Buffer>) {
      let from = 0
      for (let to = chunk.indexOf(10); to >= 0; to = chunk.indexOf(10, from)) {
        yield Buffer.concat([...parts, chunk.subarray(from, to)]).toString("utf8")
        parts = []
        length = 0
        from = to + 1
      }
      parts.push(chunk.subarray(from))
      length += chunk.length - from
      if (length > longestLine) throw new Error("it has a line of more than 512 MB")
    }
    if (length > 0) yield Buffer.concat(parts).toString("utf8")
  } finally {
    bytes.destroy()
    unpacked.destroy()
  }
}

export const importIndex = define(
  {
    name: "import",
    summary: "Import what clew export wrote",
    positional: { name: "FILE", summary: "An export, compressed with gzip or not", min: 1, max: 1, paths: true },
    flags: {},
    details: [
      "Replaces documents that are already in the index and keeps all others. Creates collections with the embedder they had; an existing collection must have the same one. Nothing is embedded, and nothing is stored if a line is invalid."
    ],
    examples: ["clew import everything.jsonl.gz --db elsewhere.db"]
  },
  function* (_, [name = ""]) {
    const { cwd } = yield* Place
    const file = path.resolve(cwd, name)
    const cannot = (error: unknown) => new FileUnusable({ message: `cannot read ${file}: ${(error as Error).message}` })
    // Before an index is created for it.
    yield* Effect.try({ try: () => fs.accessSync(file, fs.constants.R_OK), catch: cannot })
    if (!fs.statSync(file).isFile()) {
      return yield* new FileUnusable({
        message: `${file} is not a file; an import is read twice, checked first and then stored: save it to a file`
      })
    }
    yield* inIndex("write", function* () {
      const { take } = yield* Transfer
      const taken = yield* take(Stream.suspend(() => Stream.fromAsyncIterable(linesOf(file), cannot)))
      yield* (yield* UpkeepStore).settle()
      yield* printResult(
        TransferReport,
        { file, documents: taken.documents, chunks: taken.passages },

        `Imported ${count(taken.documents, "document")}, ${count(taken.passages, "passage")} from ${shown(cwd, file)}`
      )
    })
  }
)
