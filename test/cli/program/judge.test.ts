import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { GateReport } from "../../../src/cli/gate.ts"
import { JudgeReport } from "../../../src/cli/judge.ts"
import { embeddings, wordPieceJson, writeModel } from "../../Embedder/modelFolder.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

const box = new Sandbox({
  ...library,
  "other.toml": "[search]\nalpha = 0.0\n",
  "toy/corpus.jsonl": `${JSON.stringify({ _id: "d1", title: "", text: "zebra" })}\n${JSON.stringify({ _id: "d2", title: "", text: "walrus" })}\n`,
  "toy/queries.jsonl": `${JSON.stringify({ _id: "q1", text: "zebra" })}\n`,
  "toy/qrels/test.tsv": "q1\td1\t2\nq1\td2\t0\n"
})
const file = "gold.jsonl"
const lines = (name = file): ReadonlyArray<any> =>
  readFileSync(box.path(name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

beforeAll(async () => {
  await box.ends(0, ["index", "docs"])
})
afterAll(() => box.remove())

describe("judge", () => {
  it("shows passages without their ranks, takes a key for each, and saves at once", async () => {
    const { stderr, stdout } = await box.ends(0, ["judge", "--judgements", file, "spring", "tide"], undefined, {
      input: "3 x\n0q"
    })
    assert.match(stdout, /spring tide {2}1\/\d/)
    assert.include(stdout, "docs/tides.md:")
    assert.include(stdout, "the spring tide is highest")
    assert.include(stderr, "2 judgements saved")
    const [first, second, ...more] = lines()
    assert.deepInclude(first, { query: "spring tide", source: "docs/tides.md", grade: 3 })
    assert.isAtLeast(first.end_line, first.start_line)
    assert.strictEqual(second.grade, 0)
    assert.isEmpty(more)
  })

  it("goes on where it ended, and asks nothing twice", async () => {
    const before = lines().length
    // The end of input is the end of judging.
    const rest = await box.run(["judge", "--judgements", file, "spring tide"], { input: "0" })
    assert.notInclude(rest.stdout, "the spring tide is highest")
    assert.strictEqual(lines().length, before + 1)
    const all = await box.run(["judge", "--judgements", file], { input: "0".repeat(50) })
    assert.include(all.stderr, "saved")
    const none = await box.run(["judge", "--judgements", file], { input: "" })
    assert.strictEqual(none.stdout, "")
    assert.include(none.stderr, "0 judgements saved")
  })

  it("is there for scripts", async () => {
    const args = ["judge", "--judgements", file, "--grade", "docs/bread.md=3", "hot oven"]
    const { questions, saved } = await box.json(JudgeReport, args)
    assert.strictEqual(saved, 1)
    const bread = questions[0]!.pool.find(({ source }) => source.endsWith("bread.md"))
    assert.strictEqual(bread?.grade, 3)
    assert.strictEqual(bread?.ranks.keyword, 1)
    await box.ends(2, ["judge", "--grade", "docs/bread.md", "hot oven"], "SOURCE=GRADE")
    await box.ends(2, ["judge", "--judgements", "new.jsonl"], "QUESTION is missing")
  })

  it("keeps judgements beside the index unless it is told where", async () => {
    await box.ends(0, ["judge", "--grade", "docs/brot.md=1", "teig"])
    assert.deepInclude(lines("home/data/clew/index.db.judgements.jsonl")[0], { query: "teig", grade: 1 })
    const env = { CLEW_STORE_JUDGEMENTS: "mine/own.jsonl" }
    await box.ends(0, ["judge", "--grade", "docs/brot.md=1", "teig"], undefined, { env })
    assert.deepInclude(lines("mine/own.jsonl")[0], { query: "teig", grade: 1 })
  })

  it("counts what is judged outside the indexed folder", async () => {
    box.write({ "elsewhere/here.md": "" })
    symlinkSync(box.path("docs"), box.path("linked"))
    const cwd = box.path("elsewhere")
    const away = "../away.jsonl"
    const args = ["judge", "--judgements", away]
    await box.ends(0, [...args, "spring tide"], undefined, { cwd, input: "3q" })
    for (const source of ["../docs/bread.md", "../linked/bread.md", "docs/bread.md"]) {
      await box.ends(0, [...args, "--grade", `${source}=2`, "hot oven"], undefined, { cwd })
    }
    for (const { source } of lines("away.jsonl")) assert.notInclude(source, "..")
    const { configurations, unmatched } = await box.json(GateReport, ["benchmark", "--judgements", away], { cwd })
    assert.strictEqual(unmatched, 0)
    assert.isAbove(configurations[0]!.modes.keyword.ndcg_at_10.mean, 0.9)
    // A file from before, with the way up from where it was made.
    box.write({ "old.jsonl": `${JSON.stringify({ query: "hot oven", source: "../docs/bread.md", grade: 3 })}\n` })
    const old = await box.json(GateReport, ["benchmark", "--judgements", "old.jsonl"])
    assert.deepInclude(old, { unmatched: 0 })
    assert.strictEqual(old.configurations[0]!.modes.keyword.ndcg_at_10.mean, 1)
  })

  it("refuses a grade of what is not there, and tells of judgements that match nothing", async () => {
    const args = ["judge", "--judgements", "nothing.jsonl", "--grade", "docs/bread.md=3"]
    for (const source of ["docs/breed.md", "read.md", "../docs/bread.md/x"]) {
      await box.ends(
        2,
        [...args, "--grade", `${source}=3`, "hot oven"],
        `no document ${JSON.stringify(source)} is in the index`
      )
    }
    assert.isFalse(existsSync(box.path("nothing.jsonl")))
    const judged = ["docs/bread.md", "docs/gone.md", "gone.md"].map((source) => ({
      query: "hot oven",
      source,
      grade: 2
    }))
    box.write({ "partly.jsonl": judged.map((one) => `${JSON.stringify(one)}\n`).join("") })
    const { stderr } = await box.run(["benchmark", "--judgements", "partly.jsonl"])
    assert.include(stderr, "2 of 3 judgements match no document in this index, such as docs/gone.md")
    assert.strictEqual((await box.json(GateReport, ["benchmark", "--judgements", "partly.jsonl"])).unmatched, 2)
  })

  it("takes what a dataset judges", async () => {
    for (const saved of [2, 0]) {
      const { stderr } = await box.ends(
        0,
        ["judge", "--from", "toy", "--judgements", "toy.jsonl"],
        `${saved} judgements saved`
      )
      // The dataset's corpus is not indexed here.
      assert.strictEqual(stderr.includes("2 of 2 judgements match no document"), saved === 2)
    }
    assert.deepStrictEqual(lines("toy.jsonl")[0], { query: "zebra", source: "toy/corpus.jsonl#d1", grade: 2 })
    await box.ends(0, ["--db", "toy.db", "index", "toy/corpus.jsonl"])
    const report = await box.json(GateReport, ["--db", "toy.db", "benchmark", "--judgements", "toy.jsonl"])
    assert.strictEqual(report.configurations[0]?.modes.keyword.ndcg_at_10.mean, 1)
  })
})

describe("benchmark --judgements", () => {
  it("measures every mode with intervals, and another configuration beside it", async () => {
    const report = await box.json(GateReport, ["benchmark", "--judgements", file, "--against", "other.toml"])
    assert.strictEqual(report.questions, 2)
    const [own, other] = report.configurations
    assert.deepStrictEqual(Object.keys(own!.modes), ["configured", "keyword", "vector", "hybrid rrf", "hybrid score"])
    const { high, low, mean } = own!.modes.configured.ndcg_at_10
    assert.isTrue(0 < low && low <= mean && mean <= high && high <= 1)
    assert.deepStrictEqual(other!.modes.configured, own!.modes.keyword)
    assert.deepInclude(report.against, { questions: 2, before: mean, after: own!.modes.keyword.ndcg_at_10.mean })
    const { stdout } = await box.run(["benchmark", "--judgements", file])
    assert.match(stdout, /^configuration +mode +nDCG@10/m)
    assert.match(stdout, /^defaults +hybrid rrf +\d\.\d{4}/m)
  })

  it("measures a copy of the index with another embedder beside it", async () => {
    const run = ["benchmark", "--judgements", file, "--embedder"]
    mkdirSync(box.path("model"))
    const given = {
      tokenizer: wordPieceJson(["[UNK]", "tide", "the"]),
      tensors: {
        embeddings: embeddings([
          [1, 1],
          [1, 0],
          [0, 1]
        ])
      }
    }
    await Effect.runPromise(Effect.scoped(Effect.provide(writeModel(given, box.path("model")), NodeFileSystem.layer)))
    const { stdout, stderr } = await box.ends(
      0,
      [...run, "builtin:model"],
      "passages of default embedded by builtin:model"
    )
    assert.match(stdout, /^Against builtin:model: nDCG@10 .* over 2 questions/m)
    assert.match(stdout, /^builtin:model: \d+\.\d ms a search/m)
    assert.notMatch(stderr, /^clew: 0 passages/m)
    const info = await box.run(["info", "--json"])
    assert.notInclude(info.stdout, "model@", "the index keeps its embedder")
    await box.ends(2, [...run, "auto"], "--embedder auto names no embedder")
    await box.ends(2, [...run, "none:x"], "embedding.backend")
    await box.ends(2, [...run, "builtin", "--against", "other.toml"], "give only one of them")
  })

  it("compares with a baseline, names what changed, and fails where it has become worse", async () => {
    const gate = ["benchmark", "--judgements", file, "--baseline", "quality.json"]
    await box.ends(1, gate, "save one with --baseline and --save")
    await box.ends(0, [...gate, "--save"])
    const same = await box.json(GateReport, gate)
    assert.deepInclude(same.baseline, { questions: 2, changed: [] })

    // Now somebody judges that the question is answered elsewhere.
    appendFileSync(box.path(file), `${JSON.stringify({ query: "spring tide", source: "docs/nowhere.md", grade: 3 })}\n`)
    const worse = await box.ends(1, gate, "by more than 0.01")
    assert.match(worse.stdout, /\d\.\d{3} to \d\.\d{3} {2}spring tide/)
    await box.ends(0, [...gate, "--tolerance", "0.9"])
  })

  it("saves a baseline over no other file, such as the index or the judgements", async () => {
    const index = "home/data/clew/index.db"
    for (const [taken, says] of [
      [index, "already exists and is not a baseline by Clew"],
      [file, "already exists and is not a baseline by Clew"],
      [`${index}-journal`, "belongs to the index"]
    ] as const) {
      const before = existsSync(box.path(taken)) ? readFileSync(box.path(taken)) : undefined
      await box.ends(1, ["benchmark", "--judgements", file, "--baseline", taken, "--save"], says)
      if (before !== undefined) assert.isTrue(before.equals(readFileSync(box.path(taken))))
    }
    await box.ends(1, ["judge", "--judgements", `${index}-wal`, "spring", "tide"], "belongs to the index")
    const save = ["benchmark", "--judgements", file, "--baseline", "new.json", "--save"]
    for (const _ of [1, 2]) await box.ends(0, save)
  })

  it("says what is wrong", async () => {
    box.write({ "bad.jsonl": '{"query":"x"}\n', "none.jsonl": '{"query":"x","source":"a","grade":0}\n' })
    const cases = [
      [["--judgements", "bad.jsonl"], 1, "bad.jsonl: line 1 is not a judgement (source)"],
      [["--judgements", "none.jsonl"], 1, "has no question with a grade above 0"],
      [["--judgements", "missing.jsonl"], 1, "there is no such file"],
      [["--judgements", file, "--dataset", "toy"], 2, "--dataset cannot be combined with --judgements"],
      [["--baseline", "quality.json"], 2, "--baseline requires --judgements"],
      [["--judgements", file, "--save"], 2, "--save requires --baseline"],
      [["--judgements", file, "--baseline", file], 1, "is not a baseline"]
    ] as const
    for (const [args, code, message] of cases) {
      const ended = await box.run(["benchmark", ...args])
      assert.include(ended.stderr, message)
      assert.strictEqual(ended.code, code, message)
    }
  })
})
