import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { highlighter } from "../src/citations/highlight.ts"
import { terms } from "../src/terms/terms.ts"

interface CorpusDocument {
  readonly title?: string
  readonly text: string
}

const rounds = 5
const wordsOfPassage = 150

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** CPU milliseconds of a round over all texts: the first, cold one, and the median of the others. */
const time = (work: () => void): { readonly cold: number; readonly warm: number } => {
  const times = Array.from({ length: rounds + 1 }, () => {
    const started = process.cpuUsage()
    work()
    const { system, user } = process.cpuUsage(started)
    return (user + system) / 1000
  })
  return { cold: times[0] ?? 0, warm: median(times.slice(1)) }
}

/** Speed of index terms and highlighting on the passages of a BEIR corpus file. */
export const main = (corpus: string): void => {
  const passages = readFileSync(corpus, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => {
      const { text, title } = JSON.parse(line) as CorpusDocument
      return `${title ?? ""}\n${text}`.match(new RegExp(`(?:\\S+\\s*){1,${wordsOfPassage}}`, "g")) ?? []
    })
  const bytes = passages.reduce((sum, passage) => sum + Buffer.byteLength(passage), 0)
  let count = 0
  const indexing = time(() => {
    count = 0
    for (const passage of passages) count += terms(passage).length
  })
  const find = highlighter((passages[0] ?? "").split(/\s+/).slice(0, 10).join(" "))
  const marking = time(() => {
    for (const passage of passages) find(passage)
  })
  const each = (ms: number) => `${((ms * 1000) / passages.length).toFixed(1)} µs a passage`
  const rate = (ms: number) => `${(bytes / 1000 / ms).toFixed(0)} MB/s`
  console.log(`${passages.length} passages of at most ${wordsOfPassage} words, ${bytes} bytes, ${count} terms`)
  console.log(`terms      cold ${rate(indexing.cold)}, ${each(indexing.cold)}`)
  console.log(`terms      warm ${rate(indexing.warm)}, ${each(indexing.warm)}`)
  console.log(`highlight  warm ${rate(marking.warm)}, ${each(marking.warm)}`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const corpus = process.argv[2]
  if (corpus === undefined) {
    console.error("usage: tsx bench/terms.ts <corpus.jsonl of a data set in BEIR layout>")
    process.exitCode = 2
  } else main(corpus)
}
