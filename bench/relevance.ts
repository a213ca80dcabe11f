// How good relevance is on collections that it was not fitted on: each is left out in turn, and fitted on the others.
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { join } from "node:path"
import { layerOf } from "../src/App.ts"
import { FileIndexer } from "../src/files/FileIndexer.ts"
import { documentsOf, readDataset } from "../src/measuring/Benchmark.ts"
import { CollectionName } from "../src/model/Collection.ts"
import { Search } from "../src/Search.ts"
import { searchedHeading, searchedTitle } from "../src/entities/mention.ts"
import { fitted, lengthOf, sharing, weakBelow } from "../src/ranking/relevance.ts"
import { splitQuery } from "../src/terms/terms.ts"
import { temporaryFolder } from "./program.ts"

const folders = process.argv.slice(2)
if (folders.length < 3) {
  console.error("usage: npm run bench -- relevance FOLDER FOLDER FOLDER...\n\nA FOLDER is a collection in BEIR layout.")
  process.exit(2)
}

const [ownQuestions, foreignQuestions, ownBest, foreignBest] = [60, 20, 5, 3]

/** A passage found for a question: the features of relevance, and whether it answers. */
interface Sample {
  readonly home: string
  readonly own: boolean
  readonly isBest: boolean
  readonly answers: boolean
  readonly share: number
  readonly length: number
  readonly similarity: number
}

const kinds = ["meaning", "words"] as const
type Kind = (typeof kinds)[number]
const inputs = (kind: Kind, { length, share, similarity }: Sample) =>
  kind === "meaning" ? [1, share, similarity] : [1, share, length]
const logistic = (x: number) => 1 / (1 + Math.exp(-x))
const told = (coefficients: ReadonlyArray<number>, kind: Kind, sample: Sample) =>
  logistic(inputs(kind, sample).reduce((sum, value, at) => sum + value * coefficients[at]!, 0))

/** Each collection has the same weight, and within one its own questions weigh as much as those of others. */
const weightOf = (samples: ReadonlyArray<Sample>) => {
  const counts = new Map<string, number>()
  const key = ({ home, own }: Sample) => `${home} ${own}`
  for (const sample of samples) counts.set(key(sample), (counts.get(key(sample)) ?? 0) + 1)
  return (sample: Sample) => 1 / counts.get(key(sample))!
}

/** Logistic regression by gradient descent; its loss has one minimum. */
const fit = (samples: ReadonlyArray<Sample>, kind: Kind): ReadonlyArray<number> => {
  const weight = weightOf(samples)
  const total = samples.reduce((sum, sample) => sum + weight(sample), 0)
  const coefficients = [-4, 2, 2]
  for (let round = 0; round < 4000; round++) {
    const slopes = [0, 0, 0]
    for (const sample of samples) {
      const error = (weight(sample) / total) * (told(coefficients, kind, sample) - (sample.answers ? 1 : 0))
      inputs(kind, sample).forEach((value, at) => (slopes[at]! += error * value))
    }
    slopes.forEach((slope, at) => (coefficients[at]! -= 6 * slope))
  }
  return coefficients
}

const loss = (samples: ReadonlyArray<Sample>, coefficients: ReadonlyArray<number>, kind: Kind) => {
  const weight = weightOf(samples)
  const total = samples.reduce((sum, sample) => sum + weight(sample), 0)
  return samples.reduce((sum, sample) => {
    const p = told(coefficients, kind, sample)
    return sum - (weight(sample) / total) * Math.log(sample.answers ? p : 1 - p)
  }, 0)
}

const gather = Effect.gen(function* () {
  const files = yield* FileIndexer
  const search = yield* Search
  const datasets = yield* Effect.forEach(folders, readDataset).pipe(
    Effect.provide([NodeFileSystem.layer, NodePath.layer])
  )
  const samples: Array<Sample> = []
  for (const { corpus, name } of datasets) {
    const collection = CollectionName.make(name)
    yield* Stream.runDrain(files.run({ paths: [corpus], collection, prune: false, dryRun: false }))
  }
  const evenly = <A>(all: ReadonlyArray<A>, most: number) =>
    all.filter((_, at) => Math.floor((at * most) / all.length) !== Math.floor(((at - 1) * most) / all.length))
  for (const { corpus, name } of datasets) {
    for (const dataset of datasets) {
      const own = dataset.name === name
      for (const { judgements, text } of evenly(dataset.queries, own ? ownQuestions : foreignQuestions)) {
        const topK = own ? ownBest : foreignBest
        const { hits } = yield* search.run({ query: text, topK, collection: CollectionName.make(name), graph: false })
        const content = new Set(splitQuery(text).content)
        const shareOf = sharing(content, [])
        for (const [at, hit] of hits.entries()) {
          const { document, passage, similarity = 0 } = hit
          const [id = ""] = documentsOf([hit], corpus)
          const what = {
            title: searchedTitle(document.title, document.source),
            heading: searchedHeading(passage),
            text: passage.text
          }
          samples.push({
            home: name,
            own,
            isBest: at === 0,
            answers: own && (judgements.get(id) ?? 0) > 0,
            share: shareOf(what),
            length: lengthOf(content),
            similarity
          })
        }
      }
    }
  }
  return samples
})

const app = layerOf({
  store: { path: join(temporaryFolder(), "index.db") },
  embedding: { backend: "builtin" },
  search: { fold: false }
})
const samples = await Effect.runPromise(Effect.provide(gather, app))
const homes = [...new Set(samples.map(({ home }) => home))]
const shown = (value: number) => (Number.isNaN(value) ? "–" : value.toFixed(2).replace(/^(-?)0/, "$1"))
const share = (some: ReadonlyArray<Sample>, holds: (sample: Sample) => boolean) =>
  some.filter(holds).length / some.length

console.log(`${samples.length} passages`)
for (const kind of kinds) {
  console.log(
    `\n${kind === "meaning" ? "by words and meaning" : "by words alone"}: share, ${kind === "meaning" ? "similarity" : "length"}`
  )
  console.log(
    "left out | fitted on the others | loss: the program's, of the others | own best called weak, answering ones among them | foreign best called weak"
  )
  const apart: Array<{ readonly sample: Sample; readonly p: number }> = []
  for (const home of homes) {
    const left = samples.filter((sample) => sample.home === home)
    const found = fit(
      samples.filter((sample) => sample.home !== home),
      kind
    )
    const isWeak = (sample: Sample) => told(found, kind, sample) < weakBelow
    const best = left.filter(({ isBest }) => isBest)
    const [own, foreign] = [best.filter((sample) => sample.own), best.filter((sample) => !sample.own)]
    apart.push(...left.map((sample) => ({ sample, p: told(found, kind, sample) })))
    console.log(
      [
        home,
        found.map(shown).join(" "),
        [fitted[kind], found].map((each) => shown(loss(left, each, kind))).join(" "),
        `${shown(share(own, isWeak))} ${shown(own.filter((sample) => isWeak(sample) && sample.answers).length / own.length)}`,
        shown(share(foreign, isWeak))
      ].join(" | ")
    )
  }
  console.log(`all | ${fit(samples, kind).map(shown).join(" ")} | the program has ${fitted[kind].map(shown).join(" ")}`)
  const weight = weightOf(samples.filter(({ own }) => own))
  const bins = Array.from({ length: 8 }, (_, bin) => {
    const inside = apart.filter(({ p, sample }) => sample.own && Math.min(7, Math.floor(p * 10)) === bin)
    const total = inside.reduce((sum, { sample }) => sum + weight(sample), 0)
    return shown(inside.reduce((sum, { sample }) => sum + (sample.answers ? weight(sample) : 0), 0) / total)
  })
  console.log(`left-out passages by relevance, in tenths from 0: ${bins.join(" ")} judged to answer`)
}
