import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { make } from "../src/Embedder/Builtin.ts"
import { make as makeOnnx } from "../src/Embedder/Onnx.ts"
import { describeEmbedder } from "../src/model/Collection.ts"
import { packagedTokenizer } from "../src/packaged/Tokenizer.ts"

const self = fileURLToPath(import.meta.url)
const root = fileURLToPath(new URL("..", import.meta.url))
const loadOnce = "--load-once"

const wordsOf = (path: string): ReadonlyArray<string> => {
  if (statSync(path).isDirectory()) return readdirSync(path).flatMap((name) => wordsOf(join(path, name)))
  if (!/\.(?:jsonl|md|txt)$/.test(path)) return []
  const content = readFileSync(path, "utf8")
  const texts = path.endsWith(".jsonl")
    ? content
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => (JSON.parse(line) as { readonly text?: string }).text ?? "")
    : [content]
  return texts.flatMap((text) => text.split(/\s+/).filter((word) => word !== ""))
}

const passageWords = 100
const leastPassages = 10_000

/** Passages of a hundred words; a small corpus is repeated from its start, at a different offset each time. */
const passagesOf = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const passages: Array<string> = []
  for (let turn = 0; turn < passageWords && (turn === 0 || passages.length < leastPassages); turn++) {
    for (let at = turn; at + passageWords <= words.length; at += passageWords) {
      passages.push(words.slice(at, at + passageWords).join(" "))
    }
  }
  return passages
}

const rounds = 5

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** Pieces of work per second of wall time and of CPU time, as the median of some rounds after a warm-up. */
const rates = async (pieces: number, work: () => Promise<void> | void) => {
  const wall: Array<number> = []
  const cpu: Array<number> = []
  for (let round = 0; round <= rounds; round++) {
    const usage = process.cpuUsage()
    const began = performance.now()
    await work()
    wall.push(performance.now() - began)
    const { system, user } = process.cpuUsage(usage)
    cpu.push((user + system) / 1000)
  }
  const rate = (times: ReadonlyArray<number>) => Math.round((pieces * 1000) / median(times.slice(1)))
  return { "a second": rate(wall), "a second of CPU": rate(cpu) }
}

/** Milliseconds until the first vector in a fresh process, this one. */
const timeLoad = async (): Promise<number> => {
  const { embedQuery } = Effect.runSync(make())
  const began = performance.now()
  await Effect.runPromise(embedQuery("supersonic flow over a slender delta wing"))
  return performance.now() - began
}

/** Speed of the packaged model and its tokenizer on one core, and loading time in a fresh process. */
export const main = async (paths: ReadonlyArray<string>): Promise<void> => {
  const loads = Array.from({ length: 9 }, () =>
    Number(execFileSync(process.execPath, [...process.execArgv, self, loadOnce], { encoding: "utf8" }))
  )
  const { embedPassages } = Effect.runSync(make())
  const tokenizer = await Effect.runPromise(packagedTokenizer)
  const passages = passagesOf(paths.flatMap(wordsOf))
  if (passages.length === 0)
    throw new Error(`no ${passageWords} words in ${paths.join(", ")}: give .jsonl, .md or .txt`)
  const tokens = passages.reduce((sum, passage) => sum + tokenizer.count(passage), 0)

  console.log(
    `${passages.length} passages of ${passageWords} words, ${(tokens / passages.length).toFixed(1)} tokens each; ` +
      `loaded in ${median(loads).toFixed(0)} ms (median of ${loads.length} processes, best ${Math.min(...loads).toFixed(0)})`
  )
  console.table({
    "passages embedded": await rates(passages.length, () => Effect.runPromise(Effect.asVoid(embedPassages(passages)))),
    "passages counted": await rates(passages.length, () => passages.forEach((passage) => tokenizer.count(passage)))
  })
}

/** A model in ONNX on one core: passages of some 200 tokens, short questions, and the memory of the whole process. */
const ofFolder = (folder: string) =>
  Effect.gen(function* () {
    const { embedPassages, embedQuery, fill, identity } = yield* makeOnnx({ folder, threads: 1 })
    console.log(describeEmbedder(yield* identity))
    const passages = passagesOf(wordsOf(join(root, "docs"))).slice(0, 40)
    const filled = yield* fill!(passages)
    console.log(
      `a passage takes ${((100 * filled.reduce((a, b) => a + b, 0)) / filled.length).toFixed(0)} % of the window`
    )
    const run = <A>(work: Effect.Effect<A, unknown>) => Effect.runPromise(Effect.asVoid(work))
    const questions = passages.map((passage) => passage.split(" ").slice(0, 8).join(" "))
    console.table({
      passages: yield* Effect.promise(() => rates(passages.length, () => run(embedPassages(passages)))),
      questions: yield* Effect.promise(() => rates(questions.length, () => run(Effect.forEach(questions, embedQuery))))
    })
    console.log(`${Math.round(process.memoryUsage().rss / 2 ** 20)} MB`)
  }).pipe(Effect.scoped)

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const given = process.argv.slice(2)
  if (given[0] === loadOnce) console.log(await timeLoad())
  else if (existsSync(join(given[0] ?? "", "tokenizer.json"))) await Effect.runPromise(ofFolder(given[0]!))
  else await main(given.length > 0 ? given : [join(root, "docs"), join(root, "src/assets")])
}
