import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { supportOf } from "../src/Answer.ts"
import { make } from "../src/Embedder/Builtin.ts"
import { embeddedText } from "../src/text/embedded.ts"
import { lexicalSupport } from "../src/text/citations.ts"
import { supportThreshold } from "../src/text/verdict.ts"
import { hit } from "../test/hits.ts"

const lines = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")

const cosine = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, at) => sum + value * b[at]!, 0)

interface Pair {
  readonly lexical: number
  readonly cosine: number
}

/** How often a pair of the first kind scores above one of the second. */
const auc = (good: ReadonlyArray<number>, bad: ReadonlyArray<number>): number => {
  let wins = 0
  for (const a of good) for (const b of bad) wins += a > b ? 1 : a === b ? 0.5 : 0
  return wins / good.length / bad.length
}

const share = (values: ReadonlyArray<number>, least: number): number =>
  values.filter((value) => value >= least).length / values.length

/**
 * Compares claims with the abstracts judged relevant to them, with the five nearest others, and with five random ones:
 * which support separates them, and at what threshold.
 */
const main = async (folder: string): Promise<void> => {
  const documents = lines(join(folder, "corpus.jsonl")).map((line) => JSON.parse(line) as Record<string, string>)
  const claims = lines(join(folder, "queries.jsonl")).map((line) => JSON.parse(line) as Record<string, string>)
  const judged = new Map<string, Set<string>>()
  for (const line of lines(join(folder, "qrels", "test.tsv")).slice(1)) {
    const [claim = "", document = "", grade = "0"] = line.split("\t")
    if (Number(grade) > 0) judged.set(claim, (judged.get(claim) ?? new Set()).add(document))
  }
  const { embedPassages } = Effect.runSync(make())
  const hits = documents.map(({ text = "", title }) => hit({ text, title }))
  const embed = async (texts: ReadonlyArray<string>) =>
    (await Effect.runPromise(embedPassages(texts))).map((vector) =>
      Option.getOrElse(vector, () => new Float32Array(256))
    )
  const vectors = await embed(hits.map(({ document, passage }) => embeddedText(document.title, passage)))
  const claimVectors = await embed(claims.map(({ text = "" }) => text))

  const groups = { judged: [] as Array<Pair>, nearest: [] as Array<Pair>, random: [] as Array<Pair> }
  for (const [at, { _id: id = "", text = "" }] of claims.entries()) {
    const relevant = judged.get(id)
    if (relevant === undefined) continue
    const cosines = vectors.map((vector) => cosine(claimVectors[at]!, vector))
    const pair = (n: number): Pair => ({ lexical: lexicalSupport(text, hits[n]!), cosine: cosines[n]! })
    const others = documents.flatMap((document, n) => (relevant.has(document["_id"] ?? "") ? [] : [n]))
    for (const [n, document] of documents.entries())
      if (relevant.has(document["_id"] ?? "")) groups.judged.push(pair(n))
    const near = others.toSorted((a, b) => cosines[b]! - cosines[a]!).slice(0, 5)
    for (const n of near) groups.nearest.push(pair(n))
    for (let i = 1; i <= 5; i++) groups.random.push(pair(others[(at * 7919 + i * 104_729) % others.length]!))
  }

  const measures = {
    lexical: ({ lexical }: Pair) => lexical,
    cosine: ({ cosine }: Pair) => Math.max(0, cosine),
    "both, as used": ({ cosine, lexical }: Pair) => supportOf(lexical, Option.some(cosine))
  }
  console.log(
    `${groups.judged.length} judged, ${groups.nearest.length} nearest others, ${groups.random.length} random pairs`
  )
  console.table(
    Object.fromEntries(
      Object.entries(measures).map(([name, of]) => [
        name,
        {
          "AUC, nearest others": auc(groups.judged.map(of), groups.nearest.map(of)).toFixed(3),
          "AUC, random": auc(groups.judged.map(of), groups.random.map(of)).toFixed(3)
        }
      ])
    )
  )
  for (const name of ["both, as used", "lexical"] as const) {
    const of = measures[name]
    console.log(`${name} (threshold in use: ${supportThreshold}): share at or above`)
    console.table(
      Object.fromEntries(
        [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7].map((least) => [
          least.toFixed(2),
          Object.fromEntries(
            Object.entries(groups).map(([group, pairs]) => [group, share(pairs.map(of), least).toFixed(3)])
          )
        ])
      )
    )
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined || !existsSync(folder)) throw new Error("give a folder in BEIR layout, such as scifact's")
  await main(folder)
}
