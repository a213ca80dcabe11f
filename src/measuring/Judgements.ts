import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Judgement, judgementsBeside } from "../model/Judgement.ts"
import { pathText } from "../model/kinds.ts"
import { StoreConfig } from "../Config.ts"
import { readDataset, reasonOf } from "./Benchmark.ts"
import { fault } from "../model/fault.ts"

/** A question and its judgements, one per document or place, with the latest grade. */
export interface JudgedQuestion {
  readonly query: string
  readonly judgements: ReadonlyArray<Judgement>
}

const decode = Schema.decodeUnknownEither(Schema.parseJson(Judgement))

/** Parses the lines of a judgement file; empty lines and unknown keys are ignored. */
export const parseJudged = (text: string): Either.Either<ReadonlyArray<Judgement>, string> => {
  const found: Array<Judgement> = []
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const judgement = decode(line)
    if (Either.isLeft(judgement)) {
      const [issue] = ParseResult.ArrayFormatter.formatErrorSync(judgement.left)
      const where = issue === undefined || issue.path.length === 0 ? "" : ` (${pathText(issue.path)})`
      return Either.left(`line ${at + 1} is not a judgement${where}: ${issue?.message ?? "it is not JSON"}`)
    }
    found.push(judgement.right)
  }
  return Either.right(found)
}

const placeKey = ({ end_line: end, source, start_line: start }: Judgement): string =>
  JSON.stringify([source, start, end])

/** Judgements by question, in the order in which the questions were first judged. */
export const questionsOf = (judgements: ReadonlyArray<Judgement>): ReadonlyArray<JudgedQuestion> => {
  const byQuery = new Map<string, Map<string, Judgement>>()
  for (const judgement of judgements) {
    const places = byQuery.get(judgement.query) ?? new Map<string, Judgement>()
    byQuery.set(judgement.query, places.set(placeKey(judgement), judgement))
  }
  return Array.from(byQuery, ([query, places]) => ({ query, judgements: [...places.values()] }))
}

/** A judgement file cannot be read or written, or is invalid; the reason says what is wrong, and where. */
export class JudgementsUnusable extends fault<JudgementsUnusable>()(
  "JudgementsUnusable",
  503,
  { path: Schema.String, reason: Schema.String },
  ({ path, reason }) => `${path}: ${reason}`
) {}

/** So that a mistyped file name does not take minutes to fail. */
const mostBytes = 256 * 1024 * 1024

const newline = 10

const lineOf = (judgement: Judgement): string => `${JSON.stringify(judgement)}\n`

/** The file of judgements: append-only JSON Lines; the last judgement of a place wins. */
export class Judgements extends Effect.Service<Judgements>()("clew/Judgements", {
  effect: Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const store = yield* StoreConfig
    const writing = yield* Effect.makeSemaphore(1)

    const failing =
      (path: string) =>
      <A, R>(effect: Effect.Effect<A, PlatformError, R>) =>
        Effect.mapError(effect, (error) => new JudgementsUnusable({ path, reason: reasonOf(error) }))

    const usual = store.judgements ?? judgementsBeside(store.path)

    /** The judgements of a file by question. */
    const read = Effect.fn("Judgements.read")(function* (path: string) {
      const { size } = yield* fs.stat(path).pipe(failing(path))
      if (size > mostBytes)
        return yield* new JudgementsUnusable({ path, reason: "it is too large for a judgement file" })
      const text = yield* fs.readFileString(path).pipe(failing(path))
      const judgements = yield* Either.mapLeft(parseJudged(text), (reason) => new JudgementsUnusable({ path, reason }))
      return questionsOf(judgements)
    })

    /** The same; empty if the file does not exist yet. */
    const readOrNone = (path: string) =>
      Effect.flatMap(fs.exists(path).pipe(failing(path)), (exists) =>
        exists ? read(path) : Effect.succeed<ReadonlyArray<JudgedQuestion>>([])
      )

    /** Appends judgements to a file, creating it if needed; completes when they are on disk. */
    const append = Effect.fn("Judgements.append")(
      function* (path: string, judgements: ReadonlyArray<Judgement>) {
        if (judgements.length === 0) return
        yield* fs.makeDirectory(paths.dirname(path), { recursive: true })
        // Like the index: it has people's questions.
        const file = yield* fs.open(path, { flag: "a+", mode: 0o600 })
        const { size } = yield* file.stat
        const last = new Uint8Array([newline])
        yield* file.seek(size > 0n ? size - 1n : 0n, "start")
        yield* file.read(last)
        // A last line without a line end was written by hand, or cut short by a full disk.
        const text = (last[0] === newline ? "" : "\n") + judgements.map(lineOf).join("")
        yield* file.writeAll(new TextEncoder().encode(text))
        yield* file.sync
      },
      Effect.scoped,
      writing.withPermits(1)
    )

    /** The judgements of a dataset in BEIR's layout, with the sources that its corpus has when indexed. */
    const fromDataset = Effect.fn("Judgements.fromDataset")(
      function* (folder: string) {
        const { name, queries } = yield* readDataset(folder)
        return queries.flatMap(({ judgements, text }) =>
          Array.from(judgements, ([id, grade]): Judgement => ({
            query: text,
            source: `${name}/corpus.jsonl#${id}`,
            grade: Math.max(0, Math.round(grade))
          }))
        )
      },
      Effect.provideService(FileSystem.FileSystem, fs),
      Effect.provideService(Path.Path, paths)
    )

    return {
      /** The default file. */
      usual,
      read,
      readOrNone,
      append: (path: string, judgements: ReadonlyArray<Judgement>) => append(path, judgements).pipe(failing(path)),
      fromDataset
    }
  })
}) {}
