import Database from "better-sqlite3"
import { spawn } from "node:child_process"
import { setTimeout as wait } from "node:timers/promises"
import { afterAll, assert, beforeAll, it } from "vitest"
import { program, Sandbox } from "../cli/program/sandbox.ts"

const documents = 60
const paragraphs = 20

/** Each names others, the same ones in every version but the last word. */
const content = (n: number, version: string) =>
  `# Person ${n} Ekwall\n\n` +
  Array.from(
    { length: paragraphs },
    (_, at) =>
      `In paragraph ${at} of ${version} we met Person ${(n + at) % documents} Ekwall and Harbour ${at % 7} Company, see ` +
      `[it](./${(n * at) % documents}.md). ${"They went on about rivers and seas. ".repeat(10)}`
  ).join("\n\n")

let box: Sandbox
beforeAll(() => {
  box = new Sandbox()
})
afterAll(() => box.remove())

const write = (version: string) =>
  box.write(Object.fromEntries(Array.from({ length: documents }, (_, n) => [`docs/${n}.md`, content(n, version)])))

const environment = (graph: boolean) => ({ CLEW_EMBEDDING_BACKEND: "builtin", CLEW_GRAPH_ENABLED: String(graph) })

const run = async (args: ReadonlyArray<string>, graph = true) => {
  const { code, stderr } = await box.run(args, { env: environment(graph) })
  assert.strictEqual(code, 0, stderr)
}

/** Every edge by its document, as the entity's table and as the passage's bytes have it. */
const graphOf = (name: string) => {
  const db = new Database(box.path(name), { readonly: true })
  try {
    const edges = db
      .prepare(
        `SELECT d.source, m.ordinal, m.entity, m.relation FROM graph_mentions AS m
         LEFT JOIN passages AS p ON p.id = m.passage_id LEFT JOIN documents AS d ON d.id = p.document_id ORDER BY 1, 2, 3, 4`
      )
      .raw()
      .all()
    const mentions = db
      .prepare(
        `SELECT d.source, p.ordinal, hex(g.mentions) FROM graph_passages AS g
         LEFT JOIN passages AS p ON p.id = g.passage_id LEFT JOIN documents AS d ON d.id = p.document_id ORDER BY 1, 2`
      )
      .raw()
      .all()
    return { edges, mentions }
  } finally {
    db.close()
  }
}

const count = (name: string, sql: string): number => {
  try {
    const db = new Database(box.path(name), { readonly: true })
    try {
      return Number(db.prepare(sql).pluck().get())
    } finally {
      db.close()
    }
  } catch {
    return 0
  }
}

/** Runs the program until this counts more than it did, and kills it in the middle of what it does next. */
const killed = async (name: string, args: ReadonlyArray<string>, sql: string) => {
  const before = count(name, sql)
  const child = spawn(process.execPath, [program, "--db", box.path(name), ...args], {
    cwd: box.folder,
    env: { PATH: process.env["PATH"], HOME: box.path("home"), ...environment(true) },
    stdio: "ignore"
  })
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()))
  while (child.exitCode === null && count(name, sql) <= before) await wait(2)
  child.kill("SIGKILL")
  await ended
}

it(
  "has after kill -9 in the middle of indexing, and of building, the graph of a fresh build",
  { timeout: 180_000 },
  async () => {
    write("the first")
    await killed("a.db", ["index", "docs"], "SELECT count(*) FROM graph_passages")
    await run(["--db", box.path("a.db"), "index", "docs"])
    write("the second")
    await killed("a.db", ["index", "docs"], "SELECT max(passage_id) FROM graph_passages")
    // Half done, both tables say the same.
    const torn = graphOf("a.db")
    assert.isAbove(torn.edges.length, 0)
    assert.isFalse(torn.edges.some((edge) => (edge as ReadonlyArray<unknown>)[0] === null))
    await run(["--db", box.path("a.db"), "index", "docs"])

    await run(["--db", box.path("b.db"), "index", "docs"], false)
    assert.strictEqual(graphOf("b.db").edges.length, 0)
    await killed("b.db", ["graph", "build"], "SELECT count(*) FROM graph_passages")
    await run(["--db", box.path("b.db"), "graph", "build"])

    await run(["--db", box.path("fresh.db"), "index", "docs"])
    const fresh = graphOf("fresh.db")
    assert.isAbove(fresh.edges.length, documents * paragraphs)
    assert.deepStrictEqual(graphOf("a.db"), fresh)
    assert.deepStrictEqual(graphOf("b.db"), fresh)
  }
)
