import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { readFileSync, readdirSync } from "node:fs"
import { GraphFile, GraphTopReport } from "../../../src/cli/graph.ts"
import { GraphBuilt } from "../../../src/model/Graph.ts"
import { GraphEntity, GraphPath } from "../../../src/model/Graph.ts"
import { startOllama } from "../../ollama.ts"
import { songQuestion, songs } from "../../songs.ts"
import { Sandbox } from "./sandbox.ts"

const files = {
  "docs/song.md": "# Hello Love\n\nThis song was a hit of Hank Snow in 1974. See [its singer](singer.md).\n",
  "docs/singer.md": "# Hank Snow\n\nThe singer lived near Nashville until he died.\n",
  "docs/city.md": "# Nashville\n\nIn Tennessee many go to Nashville </script><b>&.\n"
}

let box: Sandbox
beforeAll(async () => {
  box = new Sandbox(files)
  await box.ends(0, ["index", "docs"])
})
afterAll(() => box.remove())

it("tells what a name is, where it stands and what it leads to", async () => {
  const found = await box.json(GraphEntity, ["graph", "query", "hank", "snow"])
  assert.strictEqual(found.name, "Hank Snow")
  assert.include(found.description ?? "", "The singer lived")
  const mention = found.mentions.find(({ relation }) => relation === "mentions")!
  assert.match(`${mention.source}:${mention.start_line}`, /song\.md:\d+$/)
  assert.isTrue(found.neighbours.some(({ name }) => name === "Nashville"))
  const linked = await box.json(GraphEntity, ["graph", "query", "Hank Snow", "--kind", "links"])
  assert.isTrue(linked.neighbours.every(({ relation }) => relation === "links"))
  await box.ends(3, ["graph", "query", "Nobody Known"], "Nobody Known")
})

it("finds a way between two names, with the passage of each step", async () => {
  const { steps } = await box.json(GraphPath, ["graph", "path", "Hello Love", "Nashville"])
  assert.deepStrictEqual(
    steps.map(({ source }) => source.split("/").at(-1)),
    ["song.md", "singer.md"]
  )
  assert.deepStrictEqual([steps[0]!.from, steps[1]!.to], ["Hello Love", "Nashville"])
})

it("ranks, exports and draws it", async () => {
  const { nodes } = await box.json(GraphTopReport, ["graph", "top"])
  assert.isAbove(nodes.length, 3)
  assert.closeTo(
    nodes.reduce((sum, { rank }) => sum + rank, 0),
    1,
    1e-3
  )
  const { stdout: graphml } = await box.run(["graph", "export"])
  assert.match(
    graphml,
    /^<\?xml[^]*<graph edgedefault="undirected">[^]*<data key="label">Hank Snow<\/data>[^]*<\/graphml>/
  )
  const { stdout: json } = await box.run(["graph", "export", "--format", "json"])
  assert.isAbove((JSON.parse(json) as { readonly links: ReadonlyArray<unknown> }).links.length, 3)
  assert.match((await box.run(["graph", "export", "--format", "dot"])).stdout, /^graph clew \{\n/)
  const file = box.path("graph.html")
  assert.deepStrictEqual(await box.json(GraphFile, ["graph", "export", "--output", "graph.html"]), { file })
  assert.deepStrictEqual(await box.json(GraphFile, ["graph", "show", "--output", "graph.html"]), { file })
  const again = await box.ends(0, ["graph", "show", "--output", "graph.html"])
  assert.strictEqual(again.stdout, "Wrote graph.html\n")
  const page = readFileSync(box.path("graph.html"), "utf8")
  assert.include(page, "default-src 'none'")
  assert.notMatch(page, /https?:\/\/|src=|<link/)
})

it("writes over no file that is no graph, such as the index or a note, nor to a name that SQLite takes for the index's", async () => {
  const index = box.path("home/data/clew/index.db")
  box.write({ "note.html": "<!doctype html><title>A note</title>\n", "empty.dot": "" })
  const before = readFileSync(index)
  for (const [file, says] of [
    [index, "already exists and is not a graph by Clew"],
    ["note.html", "already exists and is not a graph by Clew"],
    [`${index}-journal`, "belongs to the index"]
  ] as const) {
    await box.ends(1, ["graph", "export", "--output", file], says)
    await box.ends(1, ["graph", "show", "--output", file], says)
  }
  await box.ends(1, ["export", `${index}-journal`], "belongs to the index")
  await box.ends(1, ["backup", `${index}-journal`], "belongs to the index")
  assert.isTrue(before.equals(readFileSync(index)))
  assert.include(readFileSync(box.path("note.html"), "utf8"), "A note")
  for (const format of ["graphml", "json", "dot", "dot"]) {
    await box.ends(0, ["graph", "export", "--format", format, "--output", "empty.dot"])
  }
  for (const _ of [1, 2]) await box.ends(0, ["graph", "show", "--output", "empty.dot"])
  assert.isEmpty(readdirSync(box.folder).filter((name) => name.endsWith(".partial")))
})

it("brings in what was indexed without it, from where it was broken off", async () => {
  const other = new Sandbox(files)
  try {
    await other.run(["index", "docs"], { env: { CLEW_GRAPH_ENABLED: "false" } })
    await other.ends(3, ["graph", "query", "Hank Snow"])
    const built = await other.json(GraphBuilt, ["graph", "build"])
    assert.isAbove(built.added_chunks, 0)
    assert.strictEqual(built.added_chunks, built.chunks)
    assert.isAbove(built.linkage, 0.5)
    assert.match((await other.run(["graph", "build"])).stdout, /67 % of the documents name or link another\./)
    assert.match((await other.run(["info"])).stdout, /^Graph +67 % of the documents name or link another/m)
    const db = new Database(other.path("home/data/clew/index.db"))
    db.exec("DELETE FROM graph_mentions; DELETE FROM graph_passages WHERE passage_id > 1")
    db.close()
    assert.strictEqual((await other.json(GraphBuilt, ["graph", "build"])).added_chunks, built.chunks - 1)
  } finally {
    other.remove()
  }
})

it.scopedLive("has a language model read the passages: says how often before it asks, and asks about none twice", () =>
  Effect.gen(function* () {
    const said = {
      entities: ["hit", "Hank Snow"],
      relations: [{ subject: "This song", relation: "was a hit of", object: "Hank Snow" }]
    }
    const ollama = yield* startOllama([JSON.stringify(said)])
    const env = { CLEW_LLM_BACKEND: "ollama", CLEW_LLM_URL: ollama.url, CLEW_LLM_MODEL: "small" }
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => new Sandbox(files)),
      (made) => Effect.sync(() => made.remove())
    )
    const run = (...args: ReadonlyArray<string>) => Effect.promise(() => other.run(args, { env }))
    yield* run("index", "docs")
    const first = yield* run("graph", "build", "--llm")
    assert.strictEqual(first.code, 0, first.stderr)
    assert.match(first.stderr, /^clew: small will be called at most 3 times/)
    assert.match(first.stdout, /Asked small 3 times: \d names, 1 relation\./)
    const chats = ollama.asked.filter(({ path }) => path === "/api/chat")
    assert.lengthOf(chats, 3)
    assert.strictEqual(chats[0]!.body.format.properties.entities.type, "array")
    const told = (yield* run("graph", "query", "this song")).stdout
    const relation = /Hank Snow \(2 documents\)  docs\/song\.md:3  This song was a hit of Hank Snow/
    assert.match(told, relation)
    yield* run("export", "all.jsonl")
    yield* run("import", "all.jsonl", "--db", "copy.db")
    assert.match((yield* run("graph", "query", "this song", "--db", "copy.db")).stdout, relation)
    // Without a graph it is kept for one to come.
    const without = { env: { CLEW_GRAPH_ENABLED: "false" } }
    yield* Effect.promise(() => other.run(["import", "all.jsonl", "--db", "plain.db"], without))
    const lines = (yield* run("export", "--db", "plain.db")).stdout
    assert.lengthOf(lines.split('"said":'), 4)
    const again = yield* Effect.promise(() => other.json(GraphBuilt, ["graph", "build", "--llm"], { env }))
    assert.deepStrictEqual(again.llm, { model: "small", calls: 0, unusable: 0, entities: 0, relations: 0 })
    const none = yield* Effect.promise(() =>
      other.run(["graph", "build", "--llm"], { env: { CLEW_LLM_BACKEND: "extractive" } })
    )
    assert.notStrictEqual(none.code, 0)
    assert.include(none.stderr, "No language model is available")
    assert.strictEqual((yield* run("graph", "build", "-m", "small")).code, 2)
  })
)

it("goes along it, or not, as query, prompt and ask are told by --graph or search.graph", async () => {
  const other = new Sandbox(
    Object.fromEntries(
      songs.map(({ content, metadata: { source, title } }) => [`docs/${source}`, `# ${title}\n\n${content}\n`])
    )
  )
  try {
    await other.run(["index", "docs"])
    const words = ["-k", "10", "--alpha", "0", songQuestion]
    for (const [args, env, isLed] of [
      [["--graph", "true"], {}, true],
      [["--graph", "false"], {}, false],
      [[], { CLEW_SEARCH_GRAPH: "false" }, false],
      [["--graph", "auto"], { CLEW_SEARCH_GRAPH: "false" }, true]
    ] as const) {
      const shown = await other.run(["query", ...args, ...words], { env })
      assert.strictEqual(/via .*Hank Snow/.test(shown.stdout), isLed, `query ${args.join(" ")}\n${shown.stdout}`)
      const prompt = await other.run(["prompt", ...args, ...words], { env })
      assert.strictEqual(/^via: .*Hank Snow/m.test(prompt.stdout), isLed, `prompt ${args.join(" ")}`)
      const answer = await other.run(["ask", ...args, ...words], { env })
      assert.strictEqual(/via .*Hank Snow/.test(answer.stdout + answer.stderr), isLed, `ask ${args.join(" ")}`)
    }
    await other.ends(2, ["query", "--graph", "maybe", "x"])
  } finally {
    other.remove()
  }
})
