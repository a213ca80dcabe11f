import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** Real text from a data set in BEIR layout. */
export interface Corpus {
  readonly documents: ReadonlyArray<{ readonly id: string; readonly title: string; readonly text: string }>
  /** Its own queries, repeated cyclically. */
  readonly query: (n: number) => string
  /** A text that is in no document: at least `words` words, in whole sentences from all over the corpus. */
  readonly fresh: (words: number) => string
}

const linesOf = (file: string): ReadonlyArray<any> =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** The corpus in a folder, or in the file, and the queries beside it. Draws are the same in each run. */
export const readCorpus = (given: string): Corpus => {
  const file = given.endsWith(".jsonl") ? given : join(given, "corpus.jsonl")
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
