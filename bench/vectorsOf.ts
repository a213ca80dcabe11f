import * as Effect from "effect/Effect"
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, renameSync, writeSync } from "node:fs"
import { join } from "node:path"
import { make } from "../src/Embedder/Builtin.ts"

interface Line {
  readonly title?: string
  readonly text: string
}

const linesOf = (folder: string, name: string): ReadonlyArray<Line> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(name))
    .sort()
    .flatMap((path) =>
      readFileSync(join(folder, path), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Line)
    )

/** Numbers from 0 up to 1, the same in each run (mulberry32). */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

/** Resampled passages: about four sentences of one document, and one or two of another. */
const passages = function* (folder: string, count: number) {
  const documents = linesOf(folder, "corpus.jsonl")
    .map(({ text, title }) => [title ?? "", ...text.split(/(?<=[.?!])\s+/)].filter((sentence) => sentence !== ""))
    .filter((sentences) => sentences.length > 0)
  const next = random(1)
  const pick = <A>(from: ReadonlyArray<A>): A => from[Math.floor(next() * from.length)]!
  for (let made = 0; made < count; made++) {
    const about = pick(documents)
    const own = Array.from({ length: 3 + Math.floor(next() * 3) }, () => pick(about))
    const others = Array.from({ length: 1 + Math.floor(next() * 2) }, () => pick(pick(documents)))
    yield [...own, ...others].join(" ")
  }
}

/** Vectors by the packaged model for `count` resampled passages and the queries, cached in a file for the next run. */
export const vectorsOf = async (folder: string, scratch: string, count: number) => {
  const { embedPassages } = Effect.runSync(make())
  const embed = (texts: ReadonlyArray<string>) =>
    Effect.runPromise(embedPassages(texts)).then((found) => found.flatMap((v) => (v._tag === "Some" ? [v.value] : [])))
  const file = join(scratch, `vectors-${count}.f32`)
  if (!existsSync(file)) {
    const out = openSync(`${file}.part`, "w")
    let batch: Array<string> = []
    const flush = async () => {
      for (const vector of await embed(batch)) writeSync(out, vector)
      batch = []
    }
    for (const passage of passages(folder, count)) if (batch.push(passage) === 2000) await flush()
    await flush()
    closeSync(out)
    renameSync(`${file}.part`, file)
  }
  const queries = await embed(linesOf(folder, "queries.jsonl").map(({ text }) => text))
  return { file, queries, width: queries[0]!.length }
}

/** A file's vectors in order, `rows` at a time. */
export const vectorsIn = function* (file: string, width: number, rows: number) {
  const from = openSync(file, "r")
  try {
    for (;;) {
      const part = new Float32Array(rows * width)
      const bytes = readSync(from, new Uint8Array(part.buffer), 0, part.byteLength, null)
      if (bytes === 0) return
      yield part.subarray(0, bytes >> 2)
    }
  } finally {
    closeSync(from)
  }
}
