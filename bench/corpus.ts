import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** Real text of a data set in BEIR layout. */
export interface Corpus {
  readonly documents: ReadonlyArray<{ readonly id: string; readonly title: string; readonly text: string }>
  /** Its own questions, over and over again. */
  readonly query: (n: number) => string
  /** Text that is in no document: `words` words and the rest of a sentence, of sentences drawn from all over the corpus. */
  readonly fresh: (words: number) => string
}

const linesOf = (file: string): ReadonlyArray<any> =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** The corpus in the file, and the queries beside it. The same draws at each run. */
export const readCorpus = (file: string): Corpus => {
  const documents = linesOf(file).map(({ _id, text, title = "" }) => ({ id: _id, title, text }))
  const beside = join(dirname(file), "queries.jsonl")
  const queries: ReadonlyArray<string> = existsSync(beside)
    ? linesOf(beside).map(({ text }) => text)
    : documents.map(({ title }) => title).filter((title) => title !== "")
  const sentences = documents.flatMap(({ text }) => text.split(/(?<=[.?!])\s+/))
  let seed = 1
  const draw = (): string => sentences[(seed = (seed * 48_271) % 2_147_483_647) % sentences.length]!
  return {
    documents,
    query: (n) => queries[n % queries.length]!,
    fresh: (words) => {
      const drawn: Array<string> = []
      for (let count = 0; count < words; count += drawn.at(-1)!.split(" ").length) drawn.push(draw())
      return drawn.join(" ")
    }
  }
}
