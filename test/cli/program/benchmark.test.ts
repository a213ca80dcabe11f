import { afterAll, assert, describe, it } from "vitest"
import { readFileSync } from "node:fs"
import { BenchmarkReport, SpeedReport } from "../../../src/cli/benchmark.ts"
import { Sandbox } from "./sandbox.ts"

const lines = (values: ReadonlyArray<unknown>) => values.map((value) => `${JSON.stringify(value)}\n`).join("")

/**
 * Keyword search ranks by how often the one word that a query names stands in documents of equal length, so the order is
 * known: a1, a2, a3 for q1; b1, b2 for q2. No document is about the word of q3.
 */
const words = (word: string, times: number) =>
  [...Array<string>(times).fill(word), ...Array<string>(8 - times).fill("filler")].join(" ")

const dataset = {
  "toy/corpus.jsonl": lines([
    { _id: "a1", title: "", text: words("zebra", 6) },
    { _id: "a2", title: "", text: words("zebra", 4) },
    { _id: "a3", title: "", text: words("zebra", 2) },
    { _id: "b1", title: "", text: words("walrus", 5) },
    { _id: "b2", title: "", text: words("walrus", 2) }
  ]),
  "toy/queries.jsonl": lines([
    { _id: "q1", text: "zebra" },
    { _id: "q2", text: "walrus" },
    { _id: "q3", text: "gnu" },
    { _id: "q4", text: "nobody judged this" }
  ]),
  "toy/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\ta1\t1\nq1\ta3\t2\nq2\tb2\t1\nq3\ta1\t1\nq4\ta1\t0\n"
}

const box = new Sandbox(dataset)
afterAll(() => box.remove())

describe("benchmark", () => {
  it("scores keyword search as computed by hand", async () => {
    const { datasets, mean } = await box.json(BenchmarkReport, ["benchmark", "--dataset", "toy"])
    assert.isUndefined(mean)
    const [toy] = datasets
    assert.deepInclude(toy, { dataset: "toy", documents: 5, queries: 3, failed: 0 })
    // q1: gains 1, 0, 2 at ranks 1 to 3, ideally 2, 1: (1 + 2/log2(4)) / (2 + 1/log2(3)) = 2/2.63093 = .76019.
    // q2: gain 1 at rank 2: 1/log2(3) = .63093. q3: 0. Mean: .46371.
    assert.closeTo(toy?.modes.keyword.ndcg_at_10 ?? 0, 0.46371, 1e-5)
    // q1: 2 of 2, q2: 1 of 1, q3: 0 of 1.
    assert.closeTo(toy?.modes.keyword.recall_at_100 ?? 0, 2 / 3, 1e-9)
    // 1, 1/2, 0.
    assert.closeTo(toy?.modes.keyword.mrr_at_10 ?? 0, 0.5, 1e-9)
  })

  it("prints a table, with the mean of several", async () => {
    const { stdout } = await box.ends(0, ["benchmark", "--dataset", "toy", "--dataset", "toy"])
    assert.match(stdout, /^dataset +mode +nDCG@10 +recall@10 +all@10 +recall@100 +MRR@10 +p50 ms +p95 ms/m)
    assert.match(stdout, /^mean +keyword +0\.4637 .* 0\.6667 +0\.5000 /m)
    assert.match(stdout, /Peak memory \d+ MB/)
  })

  it("exits with 4 below the quality asked for", async () => {
    await box.ends(4, ["benchmark", "--dataset", "toy", "--min-ndcg", "1"], "below 1")
  })

  it("says what is wrong with a dataset", async () => {
    box.write({
      "bad/corpus.jsonl": "{}\n",
      "bad/queries.jsonl": lines([{ _id: "1", text: "x" }]),
      "bad/qrels/test.tsv": "1\ta\t1\n2 a 1\n"
    })
    box.write({ "odd/corpus.jsonl": "{}\n", "odd/queries.jsonl": "{}\n", "odd/qrels/test.tsv": "1\ta\t1\n" })
    const messages = [
      ["nowhere", "nowhere/corpus.jsonl: there is no such file"],
      ["bad", "bad/qrels/test.tsv: line 2 is not a query-id, corpus-id and score"],
      ["odd", 'odd/queries.jsonl: line 1 is not a JSON object with "_id" and "text"']
    ] as const
    for (const [folder, message] of messages) {
      await box.ends(1, ["benchmark", "--dataset", folder], message)
    }
  })
})

describe("benchmark of one's own index", () => {
  it("measures what is in it, and changes nothing", async () => {
    const db = ["--db", "own.db"]
    await box.ends(0, [...db, "index", "toy/corpus.jsonl"])
    const before = readFileSync(box.path("own.db"))
    const report = await box.json(SpeedReport, [...db, "benchmark", "--queries", "20"])
    assert.deepInclude(report, { collection: "default", documents: 5, passages: 5, queries: 20, recall_at_10: 1 })
    assert.isAbove(report.passages_per_second ?? 0, 0)
    assert.strictEqual(report.bytes_per_passage, Math.round(before.length / 5))
    for (const { p50_ms, p95_ms, p99_ms } of Object.values(report.legs)) {
      assert.isTrue(p50_ms > 0 && p50_ms <= p95_ms && p95_ms <= p99_ms)
    }
    assert.isTrue(before.equals(readFileSync(box.path("own.db"))))

    const { stdout } = await box.ends(0, [...db, "benchmark", "--queries", "3"])
    assert.match(stdout, /^default: 5 documents, 5 passages, 3 queries sampled from them$/m)
    assert.match(stdout, /^search +p50 ms +p95 ms +p99 ms$/m)
    for (const leg of ["keyword", "vector", "hybrid"])
      assert.match(stdout, new RegExp(`^${leg} +\\d+\\.\\d +\\d+\\.\\d`, "m"))
    assert.match(stdout, /^Vector search finds 100\.0 % of the ten nearest$/m)
  })

  it("counts the nearest passages alone, where a search also shows what the graph leads to", async () => {
    const linked = (n: number) =>
      `# Harbour ${n}\n\nHarbour ${n} lies by [Harbour ${(n + 7) % 30}](h${(n + 7) % 30}.md).\n`
    box.write(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`linked/h${n}.md`, linked(n)])))
    const db = ["--db", "linked.db"]
    await box.ends(0, [...db, "index", "linked"])
    const report = await box.json(SpeedReport, [...db, "benchmark", "--queries", "30"])
    assert.strictEqual(report.recall_at_10, 1)
  })

  it("says what to do where there is nothing to measure", async () => {
    await box.ends(1, ["--db", "none.db", "benchmark"], "clew index PATH")
    await box.ends(0, ["--db", "empty.db", "collections", "create", "papers"])
    for (const args of [[], ["--collection", "papers"]]) {
      await box.ends(
        1,
        ["--db", "empty.db", "benchmark", ...args],
        /has no passage to measure with; index something with `clew index PATH`/
      )
    }
    const unknown = await box.run(["--db", "empty.db", "benchmark", "--collection", "other"])
    assert.include(unknown.stderr, "No collection named other")
  })

  it("keeps the flags of both apart", async () => {
    for (const args of [
      ["--min-ndcg", "0.4"],
      ["--dataset", "toy", "--queries", "3"],
      ["--dataset", "toy", "--collection", "papers"],
      ["--queries", "0"]
    ]) {
      assert.strictEqual((await box.run(["benchmark", ...args])).code, 2, args.join(" "))
    }
  })
})
