import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { createGunzip } from "node:zlib"
import { UpkeepStore } from "../Store.ts"
import { Transfer } from "../upkeep/Transfer.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { TransferReport } from "./export.ts"
import { count, printResult } from "./output.ts"
import { Place, shown } from "./place.ts"
import { FileUnusable } from "./FileUnusable.ts"

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
  (_, [name = ""]) =>
    Effect.gen(function* () {
      const { cwd } = yield* Place
      const file = path.resolve(cwd, name)
      const engine = yield* Engine
      const cannot = (error: unknown) =>
        new FileUnusable({ message: `cannot read ${file}: ${(error as Error).message}` })
      // Before an index is created for it.
      yield* Effect.try({ try: () => fs.accessSync(file, fs.constants.R_OK), catch: cannot })
      if (!fs.statSync(file).isFile()) {
        return yield* new FileUnusable({
          message: `${file} is not a file; an import is read twice, checked first and then stored: save it to a file`
        })
      }
      yield* Effect.gen(function* () {
        const { take } = yield* Transfer
        const taken = yield* take(Stream.suspend(() => Stream.fromAsyncIterable(linesOf(file), cannot)))
        yield* (yield* UpkeepStore).settle()
        yield* printResult(
          TransferReport,
          { file, documents: taken.documents, chunks: taken.passages },
          Effect.succeed(
            `Imported ${count(taken.documents, "document")}, ${count(taken.passages, "passage")} from ${shown(cwd, file)}`
          )
        )
      }).pipe(Effect.provide(engine.open("write")))
    })
)
