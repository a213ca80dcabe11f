import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { execFileSync } from "node:child_process"
import { rmSync, symlinkSync } from "node:fs"
import type { LoadOptions } from "../../src/Config/Load.ts"
import { place, problems, test } from "./place.ts"

test("nowhere a file: the defaults, and the database in the home folder", () =>
  Effect.gen(function* () {
    const { at, load } = yield* place()
    const { file, origins, settings } = yield* load()
    assert.deepStrictEqual(file, Option.none())
    assert.strictEqual(settings.store.path, at("~/.local/share/clew/index.db"))
    assert.strictEqual(settings.pipeline.chunkSize, 192)
    assert.deepStrictEqual([...origins.keys()], ["store.path"])
  }))

test("the first of --config, $CLEW_CONFIG, ./clew.toml and the one in the home folder counts, alone", () =>
  Effect.gen(function* () {
    const { at, load } = yield* place({
      "./flag.toml": "[search]\ntop_k = 11",
      "./env.toml": "[search]\ntop_k = 12",
      "./clew.toml": "[search]\ntop_k = 13",
      "~/.config/clew/config.toml": "[search]\ntop_k = 14\n[pipeline]\nchunk_size = 99"
    })
    const env = { CLEW_CONFIG: "env.toml" }
    const topK = (over: Partial<LoadOptions>) => Effect.map(load(over), ({ settings }) => settings.search.topK)
    assert.strictEqual(yield* topK({ config: "flag.toml", env }), 11)
    assert.strictEqual(yield* topK({ env }), 12)
    assert.strictEqual(yield* topK({ env: { CLEW_CONFIG: "" } }), 13)
    assert.strictEqual(yield* topK({ cwd: at("~") }), 14)
    assert.strictEqual((yield* load()).settings.pipeline.chunkSize, 192)
    assert.deepStrictEqual((yield* load()).file, Option.some(at("./clew.toml")))
  }))

test("XDG directories count when absolute, and are ignored when relative", () =>
  Effect.gen(function* () {
    const { at, load } = yield* place({
      "~/.config/clew/config.toml": "[search]\ntop_k = 14",
      "~/xdg/clew/config.toml": "[search]\ntop_k = 15"
    })
    const absolute = yield* load({ env: { XDG_CONFIG_HOME: at("~/xdg"), XDG_DATA_HOME: at("~/data") } })
    assert.strictEqual(absolute.settings.search.topK, 15)
    assert.strictEqual(absolute.settings.store.path, at("~/data/clew/index.db"))
    const relative = yield* load({ env: { XDG_CONFIG_HOME: "xdg", XDG_DATA_HOME: "data" } })
    assert.strictEqual(relative.settings.search.topK, 14)
    assert.strictEqual(relative.settings.store.path, at("~/.local/share/clew/index.db"))
  }))

test("a named file has to be there, and to be a file", () =>
  Effect.gen(function* () {
    const missing = "./nowhere.toml: there is no such file"
    assert.deepStrictEqual(yield* problems({}, { config: "nowhere.toml" }), [`flag --config: ${missing}`])
    assert.deepStrictEqual(yield* problems({}, { env: { CLEW_CONFIG: "nowhere.toml" } }), [
      `environment variable CLEW_CONFIG: ${missing}`
    ])
    assert.deepStrictEqual(yield* problems({ "./x/y": "" }, { config: "x" }), [
      "flag --config: ./x: this is a folder; the configuration is a TOML file"
    ])
  }))

test("a file merely found is a file, and no pipe or device without an end", () =>
  Effect.gen(function* () {
    const { at, load } = yield* place({ "./large.toml": " ".repeat(2 ** 20 + 1) })
    for (const target of ["/dev/zero", at("./pipe"), at("./large.toml")]) {
      if (target === at("./pipe")) execFileSync("mkfifo", [target])
      symlinkSync(target, at("./clew.toml"))
      assert.include((yield* Effect.flip(load())).message, `${at("./clew.toml")}: it is no file of at most 1 MiB`)
      rmSync(at("./clew.toml"))
    }
  }))

test("a home folder that is no folder is as if there were no file", () =>
  Effect.gen(function* () {
    const { at, load } = yield* place({ "./null": "" })
    assert.deepStrictEqual((yield* load({ env: { HOME: at("./null") } })).file, Option.none())
  }))

test("a file merely found sets no addresses; the same file named does", () =>
  Effect.gen(function* () {
    const toml = `
      [embedding]
      url = "http://there.example"
      [llm]
      url = "http://there.example"
      [rerank]
      url = "http://there.example"
      [telemetry]
      otlp_endpoint = "http://there.example"
    `
    const refused = (key: string) =>
      `./clew.toml: ${key} is an address; a file that was only found in the working directory may not set it; ` +
      "if you trust it, name it: --config ./clew.toml"
    assert.deepStrictEqual(
      yield* problems({ "./clew.toml": toml }),
      ["embedding.url", "llm.url", "rerank.url", "telemetry.otlp_endpoint"].map(refused)
    )
    assert.deepStrictEqual(yield* problems({ "./clew.toml": 'embedding = { url = "http://there.example" }' }), [
      refused("embedding.url")
    ])
    const { load } = yield* place({ "./clew.toml": toml, "~/.config/clew/config.toml": toml })
    for (const over of [{ config: "clew.toml" }, { env: { CLEW_CONFIG: "clew.toml" } }]) {
      assert.strictEqual((yield* load(over)).settings.embedding.url, "http://there.example")
    }
    const home = yield* place({ "~/.config/clew/config.toml": toml })
    assert.strictEqual((yield* home.load()).settings.telemetry.otlpEndpoint, "http://there.example")
  }))

test("a file merely found lets nobody in, and has nothing indexed from outside of its folder", () =>
  Effect.gen(function* () {
    const toml = `
      [server]
      host = "127.0.0.1"
      port = 8000
      oauth_issuer = "https://there.example"
      oauth_audience = "https://there.example/mcp"
      write_paths = ["docs", "~/.ssh"]
      [watch]
      paths = [".", "./docs", "new/../missing", "..", "/etc", "out", "out/later", "later"]
      [store]
      path = "~/.config/autostart/x.desktop"
      judgements = "~/.bash_aliases"
    `
    const files = { "./clew.toml": toml, "./docs/a.md": "", "~/notes/a.md": "" }
    const { at, load } = yield* place(files)
    symlinkSync(at("~/notes"), at("./out"))
    symlinkSync(at("~/not-yet"), at("./later"))
    const { message } = yield* Effect.flip(load())
    const only = (key: string, what: string, cannot: string) =>
      `${at("./clew.toml")}: ${key} ${what}; a file that was only found in the working directory may not ${cannot}; ` +
      `if you trust it, name it: --config ${at("./clew.toml")}`
    const outside = (key: string, path: string) =>
      only(key, `has ${JSON.stringify(path)}`, "name a place outside of its folder there")
    const elsewhere = "name a place outside of its folder there that does not end in"
    assert.deepStrictEqual(message.split("\n"), [
      only("server.oauth_issuer", "lets others in", "set it"),
      only("server.oauth_audience", "lets others in", "set it"),
      ...["..", "/etc", "out", "out/later", "later"].map((path) => outside("watch.paths", path)),
      outside("server.write_paths", "~/.ssh"),
      only("store.path", 'has "~/.config/autostart/x.desktop"', `${elsewhere} .db`),
      only("store.judgements", 'has "~/.bash_aliases"', `${elsewhere} .jsonl`)
    ])
    const { settings } = yield* load({ config: "clew.toml" })
    assert.deepStrictEqual(settings.server.writePaths, [at("./docs"), at("~/.ssh")])
    assert.isUndefined(settings.watch.within)
  }))

test("a file merely found may name an index elsewhere that is called like one, and what leads to one", () =>
  Effect.gen(function* () {
    const own = '[store]\npath = "index"\njudgements = "~/graded.jsonl"\n[watch]\npaths = ["docs"]'
    const mine = yield* place({ "./clew.toml": own })
    const { settings } = yield* mine.load()
    assert.strictEqual(settings.store.path, mine.at("./index"))
    assert.strictEqual(settings.watch.within?.length, 1)
    // Paths of the user's own are not the file's to bound.
    assert.isUndefined((yield* mine.load({ env: { CLEW_WATCH_PATHS: "/notes" } })).settings.watch.within)
    const theirs = yield* place({ "./clew.toml": '[store]\npath = "x.db"' })
    symlinkSync(theirs.at("~/.profile"), theirs.at("./x.db"))
    assert.include((yield* Effect.flip(theirs.load())).message, "does not end in .db")
    const beside = yield* place({ "./clew.toml": '[store]\npath = "y.db"' })
    symlinkSync(beside.at("~/.bash_aliases"), beside.at("./y.db.judgements.jsonl"))
    assert.include((yield* Effect.flip(beside.load())).message, "does not end in .jsonl")
  }))
