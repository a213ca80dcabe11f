import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Sandbox } from "./sandbox.ts"

const judged = (relevant: string) => ({
  "data/corpus.jsonl": '{"_id":"1","text":"Tides rise."}\n{"_id":"2","text":"Bread is baked."}\n',
  "data/queries.jsonl": '{"_id":"q","text":"tides"}\n',
  "data/qrels/test.tsv": `query-id\tcorpus-id\tscore\nq\t${relevant}\t1\n`
})

const box = new Sandbox({
  "docs/a.md": "# Tides\n\nThe tide rises twice a day, said Ada Lovelace.\n",
  "bad/b.jsonl": '{"text": "fine"}\n{"a":\n',
  "other/oaks.md": "# Oaks\n\nThe tide of leaves falls in autumn.\n",
  "plain.txt": "no index",
  "wrong.toml": "chunks = 3\n",
  ...judged("2")
})
const nothing = ["--alpha", "0", "zyzzyva"]

beforeAll(async () => {
  await box.ends(0, ["index", "docs"])
  await box.ends(0, ["index", "other", "--db", "other.db"])
}, 60_000)
afterAll(() => box.remove())

/** Command lines by the code that they end with; commands that only end by a signal are in the tests of signals. */
const table: Readonly<Record<number, ReadonlyArray<ReadonlyArray<string>>>> = {
  0: [
    ["index", "docs"],
    ["update"],
    ["query", "tide"],
    ["ask", "when does the tide rise"],
    ["info"],
    ["reindex"],
    ["doctor"],
    ["graph", "query", "Ada Lovelace"]
  ],
  1: [
    ["doctor", "--db", "plain.txt"],
    ["index", "bad", "--db", "bad.db"],
    ["index", "gone.md"],
    ["query", "tide", "--db", "none.db"],
    ["query", "tide", "-c", "nope"],
    ["delete", "gone.md", "--yes"],
    ["collections", "drop", "nope", "--yes"],
    ["restore", "plain.txt", "--yes"],
    ["export", "none/all.jsonl"],
    ["import", "none.jsonl"],
    ["init", "wrong.toml"],
    ["serve", "--host", "0.0.0.0"]
  ],
  2: [
    ["nope"],
    ["query"],
    ["query", "x", "--config", "wrong.toml"],
    ["delete", "docs/a.md"],
    ["mcp", "--filter", "nope"],
    ["--completions", "tcsh"]
  ],
  3: [
    ["query", ...nothing],
    ["ask", ...nothing],
    ["prompt", ...nothing],
    ["judge", "tide", "-f", "year>3000"],
    ["list", "nope"],
    ["show", "nope"],
    ["similar", "nope"],
    ["why", "tide", "nope"],
    ["graph", "query", "Nobody"],
    ["graph", "path", "Nobody", "Ada Lovelace"],
    ["update", "-c", "empty"]
  ],
  4: [
    ["benchmark", "--dataset", "data", "--min-ndcg", "0.9"],
    ["compare", "other.db"]
  ]
}

describe("exit codes", () => {
  for (const [code, lines] of Object.entries(table)) {
    it(`${code}`, async () => {
      if (code === "0") assert.strictEqual((await box.run(["collections", "create", "empty"])).code, 0)
      const ends = await Promise.all(
        // Some wait for one another's writes, which is what is tried here as well.
        lines.map(async (args) => ({ args, ...(await box.run(args, { env: { CLEW_LLM_BACKEND: "extractive" } })) }))
      )
      for (const { args, code: found, stderr } of ends)
        assert.strictEqual(found, Number(code), `${args.join(" ")}: ${stderr}`)
    }, 120_000)
  }

  it("are in docs/cli.md as they are: the commands named with a code end with it", () => {
    const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8")
    for (const [code, lines] of Object.entries(table)) {
      const row = new RegExp(`^\\| ${code} +\\|(.*)\\|$`, "m").exec(page)?.[1] ?? ""
      const tried = new Set(lines.flatMap(([one, two]) => [one, `${one} ${two}`]))
      for (const [, command] of row.matchAll(/`([a-z ]+)`/g)) {
        assert.isTrue(tried.has(command) || command === "update", `${code}: ${command} is not tried`)
      }
      if (code === "3" || code === "4") {
        for (const [one, two] of lines) {
          const name = one === "graph" ? `${one} ${two}` : one
          assert.include(row, `\`${name}\``, `docs/cli.md does not say that ${name} may end with ${code}`)
        }
      }
    }
  })
})
