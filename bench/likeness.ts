// What the likeness of words adds to fused scores: its share is chosen on all collections but one, and scored on that one.
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import { layerOf } from "../src/App.ts"
import { FileIndexer } from "../src/files/FileIndexer.ts"
import { documentsOf, readDataset } from "../src/measuring/Benchmark.ts"
import { mean, ndcgAt } from "../src/measuring/evaluation.ts"
import { CollectionName } from "../src/model/Collection.ts"
import { Search } from "../src/Search.ts"
import { temporaryFolder } from "./program.ts"

const folders = process.argv.slice(2)
if (folders.length < 3) {
  console.error("usage: npm run bench -- likeness FOLDER FOLDER FOLDER...\n\nA FOLDER is a collection in BEIR layout.")
  process.exit(2)
}

const shares = [0, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8]

/** nDCG@10 of each share, from the parts by which a search explains its scores. */
const gather = Effect.gen(function* () {
  const files = yield* FileIndexer
  const search = yield* Search
  const datasets = yield* Effect.forEach(folders, readDataset).pipe(
    Effect.provide([NodeFileSystem.layer, NodePath.layer])
  )
  return yield* Effect.forEach(datasets, ({ corpus, name, queries }) =>
    Effect.gen(function* () {
      const collection = CollectionName.make(name)
      yield* Stream.runDrain(files.run({ paths: [corpus], collection, prune: false, dryRun: false }))
      const scores = yield* Effect.forEach(queries, ({ judgements, text }) =>
        Effect.map(search.run({ query: text, topK: 40, collection, graph: false, explain: true }), ({ hits }) => {
          const parts = hits.map((hit) => {
            const { keyword, likeness, vector } = hit.explain!
            const legs = (vector?.contribution ?? 0) + (keyword?.contribution ?? 0)
            // The legs have the share that the likeness leaves them.
            const left = likeness === undefined || likeness.score === 0 ? 1 : 1 - likeness.contribution / likeness.score
            return { hit, legs: legs / left, likeness: likeness?.score ?? -1 }
          })
          return shares.map((share) => {
            const order = parts.toSorted(
              (a, b) => (1 - share) * (b.legs - a.legs) + share * (b.likeness - a.likeness) || b.legs - a.legs
            )
            const ranking = documentsOf(
              order.map(({ hit }) => hit),
              corpus
            )
            return ndcgAt(10, ranking, judgements)
          })
        })
      )
      return { name, figures: shares.map((_, at) => mean(scores.map((each) => each[at]!))) }
    })
  )
})

const app = layerOf({ store: { path: join(temporaryFolder(), "index.db") }, embedding: { backend: "builtin" } })
const all = await Effect.runPromise(Effect.provide(gather, app))
const shown = (value: number) => value.toFixed(3).replace(/^0/, "")
const best = (some: typeof all) => {
  const means = shares.map((_, at) => mean(some.map(({ figures }) => figures[at]!)))
  return means.indexOf(Math.max(...means))
}

console.log(`| left out | ${shares.map(shown).join(" | ")} | chosen on the others |`)
console.log(`| --- |${shares.map(() => " --- |").join("")} --- |`)
for (const one of all) {
  const at = best(all.filter((other) => other !== one))
  console.log(
    `| ${one.name} | ${one.figures.map(shown).join(" | ")} | ${shown(shares[at]!)}: ${shown(one.figures[at]!)} |`
  )
}
