// Is the right section of a documentation found? Questions with the lines that answer them, in four modes.
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { layerOf } from "../src/App.ts"
import { FileIndexer } from "../src/files/FileIndexer.ts"
import { mean } from "../src/measuring/evaluation.ts"
import { CollectionName } from "../src/model/Collection.ts"
import type { DoorRequest } from "../src/model/Query.ts"
import { Search } from "../src/Search.ts"
import { temporaryFolder } from "./program.ts"

const Question = Schema.parseJson(
  Schema.Struct({
    corpus: Schema.String,
    query: Schema.String,
    targets: Schema.Array(
      Schema.Struct({ file: Schema.String, ranges: Schema.Array(Schema.Tuple(Schema.Number, Schema.Number)) })
    )
  })
)
type Question = typeof Question.Type

/** Whether a folder has questions about a documentation, with the archive of it. */
export const isSectioned = (folder: string): boolean => existsSync(join(folder, "questions.jsonl"))

const modes = {
  score: { hybrid: true, fusion: "score" },
  rrf: { hybrid: true, fusion: "rrf" },
  keyword: { alpha: 0 },
  vector: { hybrid: false }
} satisfies Record<string, Partial<DoorRequest>>

/** 1 over the place of the first of ten hits that overlaps lines which answer, and of the first in a file that has such. */
const placesOf = Effect.fnUntraced(function* (
  root: string,
  { query, targets }: Question,
  mode: keyof typeof modes,
  collection: CollectionName
) {
  const { hits } = yield* (yield* Search).run({ query, topK: 10, collection, ...modes[mode] })
  const first = (isRight: (hit: (typeof hits)[number], target: Question["targets"][number]) => boolean) => {
    const at = hits.findIndex((hit) =>
      targets.some((target) => relative(root, hit.document.source) === target.file && isRight(hit, target))
    )
    return at < 0 ? 0 : 1 / (at + 1)
  }
  return {
    section: first(({ passage }, { ranges }) =>
      ranges.some(([from, to]) => passage.startLine <= to && passage.endLine >= from)
    ),
    file: first(() => true)
  }
})

/** Unpacks and indexes the documentations of a folder, and returns the places of its questions' answers by mode. */
export const sections = Effect.fnUntraced(function* (
  folder: string,
  asked: ReadonlyArray<keyof typeof modes>,
  unpacked: string = temporaryFolder()
) {
  const questions = readFileSync(join(folder, "questions.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Schema.decodeUnknownSync(Question)(line))
  execFileSync("tar", ["xJf", resolve(folder, "corpora.tar.xz"), "-C", unpacked])
  for (const corpus of new Set(questions.map(({ corpus }) => corpus))) {
    const collection = CollectionName.make(corpus)
    const paths = [join(unpacked, corpus)]
    yield* Stream.runDrain((yield* FileIndexer).run({ paths, collection, prune: false, dryRun: false }))
  }
  return yield* Effect.forEach(asked, (mode) =>
    Effect.map(
      Effect.forEach(questions, (question) =>
        placesOf(join(unpacked, question.corpus), question, mode, CollectionName.make(question.corpus))
      ),
      (places) => ({ mode, places })
    )
  )
})

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv.slice(2)
  const folders =
    given.length > 0 ? given : ["api", "de"].map((set) => fileURLToPath(new URL(`sections/${set}`, import.meta.url)))
  const missing = folders.find((folder) => !isSectioned(folder))
  if (missing !== undefined) {
    console.error(
      `usage: npm run bench -- sections [FOLDER...]\n\n${missing} has no questions.jsonl and corpora.tar.xz`
    )
    process.exit(2)
  }
  console.log("MRR@10 of the right section / hit@5 / MRR@10 of the right file\n")
  for (const folder of folders) {
    const store = { path: join(temporaryFolder(), "index.db") }
    const app = layerOf({ store, embedding: { backend: "builtin" } })
    const all = Object.keys(modes) as ReadonlyArray<keyof typeof modes>
    for (const { mode, places } of await Effect.runPromise(Effect.provide(sections(folder, all), app))) {
      const [mrr, hit, file] = [
        mean(places.map(({ section }) => section)),
        mean(places.map(({ section }) => (section >= 1 / 5 ? 1 : 0))),
        mean(places.map((place) => place.file))
      ]
      console.log(`${folder} ${mode.padEnd(8)} ${[mrr, hit, file].map((value) => value.toFixed(3)).join(" / ")}`)
    }
  }
}
