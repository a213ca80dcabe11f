// Every choice of the ranking, made on all collections but one and scored on that one: `quality --leave-one-out`.
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { layerOf } from "../src/App.ts"
import { FileIndexer } from "../src/files/FileIndexer.ts"
import { documentsOf, readDataset } from "../src/measuring/Benchmark.ts"
import { mean, ndcgAt } from "../src/measuring/evaluation.ts"
import { CollectionName } from "../src/model/Collection.ts"
import { Search } from "../src/Search.ts"
import { run, temporaryFolder } from "./program.ts"
import { isSectioned, sections } from "./sections.ts"

/** A constant of the source, what surrounds it in each place, and other values of it. */
interface Choice {
  readonly name: string
  readonly places: ReadonlyArray<readonly [file: string, before: string, after: string]>
  readonly present: string
  readonly others: ReadonlyArray<string>
}

const choices: ReadonlyArray<Choice> = [
  {
    name: "weight of a title's words",
    places: [
      ["src/postings/bytes.ts", "fieldWeights: Frequencies = { title: ", ","],
      ["src/postings/decode.as.ts", "const titleWeight: u32 = ", "\n"]
    ],
    present: "3",
    others: ["1", "2", "4"]
  },
  {
    name: "length normalisation b",
    places: [["src/postings/score.ts", "const b = ", "\n"]],
    present: "0.75",
    others: ["0.5", "0.9"]
  },
  {
    name: "weight of meaning",
    places: [["src/Search.ts", "score: { plain: ", ","]],
    present: "0.4",
    others: ["0.3", "0.5"]
  },
  {
    name: "share of the neighbours' similarity",
    places: [["src/ranking/context.ts", "plain: { vector: ", ","]],
    present: "0.35",
    others: ["0", "0.2", "0.5"]
  },
  {
    name: "share of the likeness of words",
    places: [["src/Search/refined.ts", "const share = ", "\n"]],
    present: "1 / 2",
    others: ["0", "1 / 4", "3 / 8", "5 / 8"]
  },
  {
    name: "gain of names as written",
    places: [["src/terms/codeNames.ts", "const named = ", "\n"]],
    present: "0.1",
    others: ["0", "0.2"]
  },
  {
    name: "best passages that name a document, for the graph",
    places: [["src/entities/walk.ts", "export const namingWanted = ", "\n"]],
    present: "2",
    others: ["1", "3"]
  },
  {
    name: "odds of where the graph leads",
    places: [["src/ranking/relevance.ts", "const ledOdds = ", "\n"]],
    present: "7",
    others: ["1", "3", "12"]
  },
  {
    name: "shared words that make passages alike",
    places: [["src/ranking/resemblance.ts", "const alike = ", "\n"]],
    present: "0.5",
    others: ["0.7", "0.9"]
  }
]

/** By scores, along the graph where `auto` takes it: nDCG@10 of each collection, and MRR@10 of sections. */
const Figures = Schema.Record({ key: Schema.String, value: Schema.Number })

/** Asks every question, of an index that the first call makes. */
const ask = Effect.fnUntraced(function* (all: ReadonlyArray<string>, path: string) {
  const isIndexed = existsSync(path)
  const folders = all.filter((folder) => !isSectioned(folder))
  const files = yield* FileIndexer
  const search = yield* Search
  const datasets = yield* Effect.forEach(folders, readDataset).pipe(
    Effect.provide([NodeFileSystem.layer, NodePath.layer])
  )
  const figures = yield* Effect.forEach(datasets, ({ corpus, name, queries }) =>
    Effect.gen(function* () {
      const collection = CollectionName.make(name)
      if (!isIndexed) yield* Stream.runDrain(files.run({ paths: [corpus], collection, prune: false, dryRun: false }))
      const scores = yield* Effect.forEach(queries, ({ judgements, text }) =>
        Effect.map(search.run({ query: text, topK: 10, collection, fusion: "score", graph: "auto" }), ({ hits }) =>
          ndcgAt(10, documentsOf(hits, corpus), judgements)
        )
      )
      return [name, mean(scores)] as const
    })
  )
  const found = yield* Effect.forEach(all.filter(isSectioned), (folder) => {
    const unpacked = join(dirname(path), basename(folder))
    mkdirSync(unpacked, { recursive: true })
    return Effect.map(
      sections(folder, ["score"], unpacked),
      ([{ places } = { places: [] }]) => [basename(folder), mean(places.map(({ section }) => section))] as const
    )
  })
  return Object.fromEntries([...figures, ...found])
})

const asking = "--ask"

/** The figures of the source with other constants, in a copy of it. */
const figuresOf = (
  folders: ReadonlyArray<string>,
  database: string,
  changes: ReadonlyArray<readonly [file: string, from: string, to: string]>
) => {
  const root = fileURLToPath(new URL("..", import.meta.url))
  const copy = temporaryFolder()
  for (const name of ["src", "bench", "scripts", "package.json", "tsconfig.json"]) {
    cpSync(join(root, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  for (const [file, from, to] of changes) {
    const parts = readFileSync(join(copy, file), "utf8").split(from)
    if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times ${JSON.stringify(from)}, not once`)
    writeFileSync(join(copy, file), parts.join(to))
  }
  run([join(copy, "scripts", "kernels.mjs")])
  const { stdout } = run(["--import", "tsx", join(copy, "bench", "choices.ts"), asking, database, ...folders])
  return Schema.decodeUnknownSync(Schema.parseJson(Figures))(stdout)
}

const shown = (value: number) => value.toFixed(3).replace(/^0/, "")

const report = (folders: ReadonlyArray<string>) => {
  const database = join(temporaryFolder(), "index.db")
  const today = figuresOf(folders, database, [])
  const names = Object.keys(today)
  for (const { name, others, places, present } of choices) {
    const values = [present, ...others]
    const figures = values.map((value) =>
      value === present
        ? today
        : figuresOf(
            folders,
            database,
            places.map(([file, before, after]) => [file, before + present + after, before + value + after] as const)
          )
    )
    const bestOn = (some: ReadonlyArray<string>) => {
      const means = figures.map((each) => mean(some.map((set) => each[set]!)))
      return means.indexOf(Math.max(...means))
    }
    console.log(`\n${name}\n\n| left out | **${present}** | ${others.join(" | ")} | chosen on the others |`)
    console.log(`| --- |${values.map(() => " --- |").join("")} --- |`)
    const left = names.map((set) => ({ set, at: bestOn(names.filter((other) => other !== set)) }))
    for (const { at, set } of left) {
      const row = figures.map((each) => shown(each[set]!)).join(" | ")
      console.log(`| ${set} | ${row} | ${values[at]}: ${shown(figures[at]![set]!)} |`)
    }
    const means = figures.map((each) => shown(mean(Object.values(each)))).join(" | ")
    console.log(`| mean | ${means} | ${shown(mean(left.map(({ at, set }) => figures[at]![set]!)))} |`)
  }
}

const [first, ...rest] = process.argv.slice(2)
if (first === asking) {
  const [path = "", ...folders] = rest
  const app = layerOf({ store: { path }, embedding: { backend: "builtin" } })
  console.log(JSON.stringify(await Effect.runPromise(Effect.provide(ask(folders, path), app))))
} else report(process.argv.slice(2).filter((word) => !word.startsWith("--")))
