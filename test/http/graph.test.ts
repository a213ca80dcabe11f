import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { songQuestion as query, songs } from "../songs.ts"
import { ask, over, start, type Given } from "./server.ts"

const documents = [
  {
    content: "# Harlan Vex\n\nHarlan Vex wrote the song Hollow Lantern in a small house by the sea.",
    metadata: { source: "vex.md", title: "Harlan Vex" }
  },
  {
    content: "# Hollow Lantern\n\nHollow Lantern is a song. It was recorded in Port Arden in winter.",
    metadata: { source: "lantern.md", title: "Hollow Lantern" }
  },
  {
    content: "# Port Arden\n\nPort Arden is a town with two mills and a harbour.",
    metadata: { source: "arden.md", title: "Port Arden" }
  }
]

const indexed = Effect.map(start({ documents }), ({ port }) => port)

const names = (answer: { json: any }) => answer.json.entities.map(({ name }: { name: string }) => name)

it.scopedLive("lists entities by PageRank, by the beginning of their names, a page at a time", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    const all = yield* ask(port, "GET", "/graph/entities")
    assert.strictEqual(all.status, 200, all.text)
    assert.includeMembers(names(all), ["Hollow Lantern", "Port Arden"])
    assert.isTrue(all.json.complete)
    const ranks = all.json.entities.map(({ rank }: { rank: number }) => rank)
    assert.deepStrictEqual(
      ranks,
      ranks.toSorted((a: number, b: number) => b - a)
    )
    assert.deepInclude(
      all.json.entities.find(({ name }: { name: string }) => name === "Hollow Lantern"),
      { documents: 2 }
    )
    assert.deepStrictEqual(names(yield* ask(port, "GET", "/graph/entities?prefix=HOLLOW%20l")), ["Hollow Lantern"])
    assert.deepStrictEqual((yield* ask(port, "GET", "/graph/entities?prefix=zzz")).json, {
      entities: [],
      complete: true
    })
    const paged: Array<string> = []
    for (let cursor: string | undefined = "0"; cursor !== undefined;) {
      const page: { json: any } = yield* ask(port, "GET", `/graph/entities?limit=1&cursor=${cursor}`)
      assert.lengthOf(page.json.entities, 1)
      paged.push(...names(page))
      cursor = page.json.next_cursor
    }
    assert.deepStrictEqual(paged, names(all))
  })
)

it.scopedLive(
  "lists the entities of what is stored now, also where as much was stored before, as after a restore",
  () =>
    Effect.gen(function* () {
      const port = yield* indexed
      assert.include(names(yield* ask(port, "GET", "/graph/entities")), "Port Arden")
      const [, lantern] = documents
      const content = lantern!.content.replace("Port Arden", "Harlan Vex")
      const stored = yield* ask(port, "POST", "/index", { body: { documents: [{ ...lantern, content }] } })
      assert.strictEqual(stored.status, 200, stored.text)
      const now = names(yield* ask(port, "GET", "/graph/entities"))
      assert.notInclude(now, "Port Arden")
      assert.include(now, "Harlan Vex")
    })
)

it.scopedLive("lists each entity once, by a name that leads to it, and to no document that is not called so", () =>
  Effect.gen(function* () {
    const titled = (source: string, title: string, content: string) => ({ content, metadata: { source, title } })
    const { port } = yield* start({
      documents: [
        titled("a/guide.md", "Alpha Manual", "The first steps."),
        titled(
          "b/guide.md",
          "Beta Manual",
          "As the Alpha Manual says, [begin](../a/guide.md). See [this](../gone.md)."
        ),
        titled("c/third.md", "1.", "The [manual](../a/guide.md) and [another](../b/guide.md). See [this](../gone.md)."),
        titled(
          "d/fourth.md",
          "Fourth",
          "The [last](../c/third.md), of which [this](../e.md) and the Guide say nothing."
        )
      ]
    })
    const { json } = yield* ask(port, "GET", "/graph/entities")
    const listed = json.entities.map(({ documents, name }: any) => `${name} ${documents}`)
    assert.sameMembers(listed, ["Alpha Manual 3", "Beta Manual 2", "c/third.md 2", "guide 3", "../gone.md 2"])
    for (const { documents, name } of json.entities) {
      const found = yield* ask(port, "GET", `/graph/entities/${encodeURIComponent(name)}`)
      assert.deepInclude(found.json, { name, documents })
    }
  })
)

it.scopedLive("says in /stats what share of the documents it joins", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    const { json, status } = yield* ask(port, "GET", "/stats")
    assert.strictEqual(status, 200)
    assert.closeTo(json.linkage, 2 / 3, 1e-9)
    const { port: empty } = yield* start()
    assert.notProperty((yield* ask(empty, "GET", "/stats")).json, "linkage")
  })
)

it.scopedLive("lists the entities of what is there now", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    assert.include(names(yield* ask(port, "GET", "/graph/entities")), "Port Arden")
    yield* ask(port, "DELETE", "/documents?source=arden.md")
    assert.notInclude(names(yield* ask(port, "GET", "/graph/entities")), "Port Arden")
  })
)

it.scopedLive("tells what it knows of a name: where it stands, and what it leads to", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    const found = yield* ask(port, "GET", "/graph/entities/hollow%20lantern")
    assert.strictEqual(found.status, 200, found.text)
    assert.deepInclude(found.json, { name: "Hollow Lantern", documents: 2 })
    assert.deepInclude(found.json.mentions[0], { source: "lantern.md", relation: "defines", chunk_index: 0 })
    const neighbours = (answer: { json: any }) => answer.json.neighbours.map(({ name }: { name: string }) => name)
    assert.deepStrictEqual(neighbours(found), ["Port Arden"])
    assert.notInclude(neighbours(yield* ask(port, "GET", "/graph/entities/harlan%20vex")), "Port Arden")
    assert.include(neighbours(yield* ask(port, "GET", "/graph/entities/harlan%20vex?hops=2")), "Port Arden")
    assert.deepStrictEqual(neighbours(yield* ask(port, "GET", "/graph/entities/hollow%20lantern?kind=imports")), [])
    assert.lengthOf(neighbours(yield* ask(port, "GET", "/graph/entities/hollow%20lantern?limit=1")), 1)
  })
)

it.scopedLive("shows the way from one name to another, with the passage of each step", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    const { json, status } = yield* ask(port, "GET", "/graph/path?from=Harlan%20Vex&to=Port%20Arden")
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(
      json.steps.map(({ from, source, to }: { from: string; source: string; to: string }) => [
        from.toLowerCase(),
        to.toLowerCase(),
        source
      ]),
      [
        ["harlan vex", "hollow lantern", "vex.md"],
        ["hollow lantern", "port arden", "lantern.md"]
      ]
    )
    assert.include(json.steps[1].text, "recorded in Port Arden")
  })
)

it.scopedLive("says what is wrong with a question, and what is not there", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    for (const [path, field] of [
      ["/graph/entities?limit=0", "limit"],
      ["/graph/entities?limit=1001", "limit"],
      ["/graph/entities?cursor=nope", "cursor"],
      ["/graph/entities?page=2", "page"],
      ["/graph/entities/x?hops=4", "hops"],
      ["/graph/entities/x?kind=likes", "kind"],
      ["/graph/path?from=x", "to"]
    ] as const) {
      const answer = yield* ask(port, "GET", path)
      assert.strictEqual(answer.status, 400, path)
      assert.include(answer.json.errors[0].path, field, answer.text)
    }
    for (const path of ["/graph/entities/nobody", "/graph/path?from=nobody&to=Port%20Arden"]) {
      const answer = yield* ask(port, "GET", path)
      assert.strictEqual(answer.status, 404, path)
      assert.strictEqual(answer.json._tag, "EntityNotFound", answer.text)
      assert.include(answer.json.detail, "nobody")
    }
    const mistyped = yield* ask(port, "GET", "/graph/entities/port%20ardn")
    assert.include(mistyped.json.detail, 'no entity named "port ardn" (did you mean "Port Arden"?)')
    for (const path of ["/graph/entities", "/graph/entities/x", "/graph/path?from=x&to=y"]) {
      const answer = yield* ask(port, "GET", `${path}${path.includes("?") ? "&" : "?"}collection=nope`)
      assert.strictEqual(answer.json._tag, "CollectionNotFound", answer.text)
    }
  })
)

it.scopedLive("has an empty graph before there are documents, and keeps it to those with the key", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    assert.deepStrictEqual((yield* ask(port, "GET", "/graph/entities")).json, { entities: [], complete: true })
    assert.strictEqual((yield* ask(port, "GET", "/graph/entities/x")).status, 404)
    const locked = yield* start({ apiKey: "secret" })
    for (const path of ["/graph/entities", "/graph/entities/x", "/graph/path?from=x&to=y"]) {
      assert.strictEqual((yield* ask(locked.port, "GET", path)).status, 401, path)
    }
  })
)

const filled = (given: Given = {}) => Effect.map(start({ ...given, documents: songs }), ({ port }) => port)

const way = { entity: "Hank Snow", source: "song.md", chunk_index: 0 }
const words = { query, top_k: 10, hybrid: true, alpha: 0 }

const viaOf = (results: ReadonlyArray<any>) =>
  results.filter(({ via }) => via !== undefined).map(({ via }) => via.at(-1))

it.scopedLive("goes along the graph, or not, as query, prompt, ask and the WebSocket are told", () =>
  Effect.gen(function* () {
    const port = yield* filled()
    for (const [graph, isLed] of [
      [true, true],
      [false, false],
      ["auto", true],
      [undefined, true]
    ] as const) {
      const told = { ...words, ...(graph === undefined ? {} : { graph }) }
      const say = (found: boolean, door: string) => assert.strictEqual(found, isLed, `${door} ${graph}`)
      const isWay = (via: { readonly entity: string; readonly source?: string }) =>
        via.entity === way.entity && via.source === way.source

      const queried = yield* ask(port, "POST", "/query", { body: told })
      assert.strictEqual(queried.status, 200, queried.text)
      say(viaOf(queried.json.results).some(isWay), "/query")

      const prompted = yield* ask(port, "POST", "/prompt", { body: told })
      say(/^via: (?:.*, )?Hank Snow$/m.test(prompted.json.prompt), "/prompt")

      const asked = yield* ask(port, "POST", "/ask", { body: told })
      const sources = asked.text
        .split("\n")
        .filter((line) => line.startsWith('data: {"index"'))
        .map((line) => JSON.parse(line.slice(6)))
      assert.lengthOf(sources, 8)
      say(viaOf(sources).some(isWay), "/ask")

      const searched = yield* over(port, { type: "search", ...told })
      say(viaOf(searched.flatMap(({ result }) => (result === undefined ? [] : [result]))).some(isWay), "/ws search")
      const written = yield* over(port, { type: "prompt", ...told })
      say(/^via: (?:.*, )?Hank Snow$/m.test(written.map(({ text = "" }) => text).join("")), "/ws prompt")
    }
  })
)

it.scopedLive("refuses what is neither true, false nor auto, at each", () =>
  Effect.gen(function* () {
    const port = yield* filled()
    for (const path of ["/query", "/prompt", "/ask"]) {
      const answer = yield* ask(port, "POST", path, { body: { query, graph: "maybe" } })
      assert.strictEqual(answer.status, 400, path)
      assert.include(answer.json.errors[0].path, "graph")
    }
    const [error] = yield* over(port, { type: "search", query, graph: "maybe" })
    assert.strictEqual(error.error.status, 400)
  })
)

it.scopedLive("holds to a filter, whatever the graph leads to", () =>
  Effect.gen(function* () {
    const port = yield* filled()
    for (const [filter, fits] of [
      [{ source: "song*" }, (metadata: any) => metadata.source.startsWith("song")],
      [{ kind: { not: "person" } }, (metadata: any) => metadata.kind !== "person"],
      [{ kind: "person" }, (metadata: any) => metadata.kind === "person"]
    ] as const) {
      const { json } = yield* ask(port, "POST", "/query", { body: { ...words, graph: true, filter } })
      assert.isTrue(
        json.results.every(({ metadata }: any) => fits(metadata)),
        JSON.stringify(filter)
      )
    }
  })
)

it.scopedLive("finds a document's neighbours by its title, or by its source if it has none, as links do", () =>
  Effect.gen(function* () {
    const { port } = yield* start({
      documents: [
        { content: "# Pitch pipes\n\nSee [the reeds](reeds.md) for more.", metadata: { source: "docs/pipes.md" } },
        { content: "Tuning needs [reeds](reeds.md) and [a bench](bench.md).", metadata: { source: "docs/tuning.md" } },
        { content: "# Cane reeds\n\nThey are cut in winter.", metadata: { source: "docs/reeds.md" } },
        { content: "It is made of beech.", metadata: { source: "docs/bench.md" } }
      ]
    })
    const neighbours = (name: string) =>
      Effect.map(ask(port, "GET", `/graph/entities/${encodeURIComponent(name)}`), ({ json, status, text }) => {
        assert.strictEqual(status, 200, text)
        assert.notInclude(
          json.neighbours.map((each: { name: string }) => each.name),
          name
        )
        return json.mentions.map(({ source }: { source: string }) => source)
      })
    assert.includeMembers(yield* neighbours("Cane reeds"), ["docs/reeds.md", "docs/pipes.md", "docs/tuning.md"])
    assert.includeMembers(yield* neighbours("docs/bench.md"), ["docs/bench.md", "docs/tuning.md"])
  })
)
