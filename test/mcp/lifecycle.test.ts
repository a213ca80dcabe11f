import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { lazyLayer } from "../../src/mcp/serve.ts"
import {
  bin,
  bread,
  cleanEnv,
  Client,
  connect,
  connectWith,
  folderWith,
  sea,
  start,
  startWith,
  temporaryFolder
} from "./client.ts"

describe("start", () => {
  it("answers initialize and lists its tools before it touches the index", async () => {
    const client = await connect()
    await client.result("tools/list")
    assert.isFalse(existsSync(join(client.folder, "index.db")))
    await client.call("collection_info")
    const { content, structuredContent } = await client.call("search", { query: "tides" })
    for (const said of [content[0].text, structuredContent.notice]) assert.include(said, "no index at")
    await client.result("resources/read", { uri: "service://index/stats" })
    // Only what writes makes one.
    assert.isFalse(existsSync(join(client.folder, "index.db")))
    await client.call("index_documents", { documents: [sea] })
    assert.isTrue(existsSync(join(client.folder, "index.db")))
    assert.lengthOf((await client.call("search", { query: "tides" })).structuredContent.results, 1)
  })

  it("refuses an unknown name in --filter, and says which names there are", async () => {
    const client = new Client({ args: ["--filter", "search,get_promt"] })
    const { code } = await client.exited
    assert.strictEqual(code, 2)
    assert.include(client.stderr, "get_promt")
    assert.include(client.stderr, "did you mean get_prompt")
    assert.include(client.stderr, "collection_info")
    assert.deepStrictEqual(client.lines, [])
  })

  it("refuses a filter that is empty, or that wants to write read-only", async () => {
    for (const args of [
      ["--filter", ","],
      ["--filter", "search,,get_prompt"],
      ["--read-only", "--filter", "index_documents"]
    ]) {
      const client = new Client({ args })
      assert.strictEqual((await client.exited).code, 2, args.join(" "))
      assert.include(client.stderr, "--filter")
    }
  })

  it("ends the start where the configuration is wrong, as where a flag is", async () => {
    for (const options of [{ env: { CLEW_SEARCH_TOP_K: "1000" } }, { args: ["--config", "none.toml"] }]) {
      const client = new Client(options)
      assert.strictEqual((await client.exited).code, 2)
      assert.match(client.stderr, /CLEW_SEARCH_TOP_K|none\.toml/)
      assert.deepStrictEqual(client.lines, [])
    }
  })

  it("says what to do where a read-only server finds no index, and finds it once it is there", async () => {
    const folder = temporaryFolder()
    const reader = await connect({ folder, args: ["--read-only"] })
    const { structuredContent } = await reader.call("search", { query: "tides" })
    assert.include(structuredContent.notice, "clew index")
    assert.include(structuredContent.notice, join(folder, "index.db"))
    assert.isFalse(existsSync(join(folder, "index.db")))
    await connectWith([sea], { folder })
    assert.lengthOf((await reader.call("search", { query: "tides" })).structuredContent.results, 1)
  })

  it("tells the client's model what the index is about", async () => {
    const folder = temporaryFolder()
    await connectWith([sea], { folder })
    const writer = await connectWith([bread], { folder })
    await writer.call("index_documents", { documents: [bread], collection: "kitchen" })
    const client = new Client({ folder, args: ["--name", "Shore notes", "--description", "Tides since 2019"] })
    const { instructions, serverInfo } = await client.result("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "0" }
    })
    assert.strictEqual(serverInfo.title, "Clew: Shore notes")
    for (const part of [
      "3 indexed documents (Shore notes)",
      "Tides since 2019.",
      "kitchen (1)",
      '"docs/"',
      '"notes/"'
    ]) {
      assert.include(instructions, part)
    }
    const { tools } = await client.result("tools/list")
    assert.include(tools[0].description, "3 indexed documents (Shore notes)")
  })
})

it("runs in a folder that is gone, as a shell may be in one", () => {
  const folder = temporaryFolder()
  const gone = join(folder, "gone")
  mkdirSync(gone)
  const script = `rmdir ../gone; exec "$0" "$1" mcp --db "$2"`
  const { status, stdout } = spawnSync("sh", ["-c", script, process.execPath, bin, join(folder, "index.db")], {
    cwd: gone,
    env: cleanEnv(folder),
    input: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    encoding: "utf8"
  })
  assert.deepStrictEqual([status, JSON.parse(stdout).id], [0, 1])
})

it("goes on where its folder was removed, and where that was made anew", async () => {
  for (const isMadeAnew of [false, true]) {
    const folder = temporaryFolder()
    const place = join(folder, "project")
    mkdirSync(place)
    const client = await start({ folder, cwd: place })
    rmSync(place, { recursive: true })
    if (isMadeAnew) mkdirSync(place)
    await client.call("index_documents", { documents: [sea] })
    assert.lengthOf((await client.call("search", { query: "tides", explain: true })).structuredContent.results, 1)
  }
})

it("tells once, as its log is set, that the index was replaced, whichever threads find it so", async () => {
  const client = await startWith([sea], { env: { CLEW_LOG_FORMAT: "json" } })
  const inThread = { query: "flour", explain: true }
  await client.call("search", inThread)
  const other = await folderWith([bread])
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(client.folder, `index.db${suffix}`), { force: true })
  renameSync(join(other, "index.db"), join(client.folder, "index.db"))
  assert.lengthOf((await client.call("search", inThread)).structuredContent.results, 1)
  await client.end()
  const said = client.stderr.split("\n").filter((line) => line !== "")
  assert.lengthOf(
    said.filter((line) => JSON.parse(line).message.includes("was replaced")),
    1
  )
})

class Built extends Context.Tag("test/Built")<Built, number>() {}

/** A layer whose builds wait for a gate each; they fail until the last one. */
const gated = Effect.gen(function* () {
  const gates = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
  let builds = 0
  const layer = Layer.effect(
    Built,
    Effect.suspend(() => {
      const build = builds++
      return Effect.zipRight(
        Deferred.await(gates[build]!),
        build === gates.length - 1 ? Effect.succeed(build) : Effect.fail(`build ${build} failed`)
      )
    })
  )
  return { gates, lazy: yield* lazyLayer(layer), builds: () => builds }
})

it.scoped("lets all who wait fail together, and tries again for the next", () =>
  Effect.gen(function* () {
    const { builds, gates, lazy } = yield* gated
    const callers = yield* Effect.forEach([1, 2, 3], () => Effect.fork(Effect.flip(lazy.use(Built))))
    yield* Effect.yieldNow()
    yield* Deferred.succeed(gates[0]!, undefined)
    assert.deepStrictEqual(
      yield* Effect.forEach(callers, (caller) => Fiber.join(caller)),
      Array.from({ length: 3 }, () => "build 0 failed")
    )
    assert.strictEqual(builds(), 1)
    assert.isFalse(yield* lazy.isBuilt)
    yield* Deferred.succeed(gates[1]!, undefined)
    assert.strictEqual(yield* lazy.use(Built), 1)
    assert.strictEqual(yield* lazy.use(Built), 1)
    assert.isTrue(yield* lazy.isBuilt)
    assert.strictEqual(builds(), 2)
  })
)

it.scoped("goes on building when the caller that began it goes away", () =>
  Effect.gen(function* () {
    const { builds, gates, lazy } = yield* gated
    const first = yield* Effect.fork(lazy.use(Built))
    const second = yield* Effect.fork(Effect.flip(lazy.use(Built)))
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(first)
    yield* Deferred.succeed(gates[0]!, undefined)
    assert.strictEqual(yield* Fiber.join(second), "build 0 failed")
    assert.strictEqual(builds(), 1)
  })
)
