import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { WebSocket } from "ws"
import { songQuestion as query, songs } from "../songs.ts"
import { ask, type Given, start } from "./server.ts"

const filled = (given: Given = {}) =>
  Effect.gen(function* () {
    const { port } = yield* start(given)
    const { status, text } = yield* ask(port, "POST", "/index", { body: { documents: songs } })
    assert.strictEqual(status, 200, text)
    return port
  })

const way = { entity: "Hank Snow", source: "song.md", chunk_index: 0 }
const words = { query, top_k: 10, hybrid: true, alpha: 0 }

/** Every message up to the last of an answer over a WebSocket. */
const overSocket = (port: number, message: object) =>
  Effect.async<ReadonlyArray<any>>((resume) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`)
    const all: Array<any> = []
    socket.on("open", () => socket.send(JSON.stringify(message)))
    socket.on("message", (data) => {
      all.push(JSON.parse(String(data)))
      if (!["done", "error"].includes(all.at(-1).type)) return
      socket.terminate()
      resume(Effect.succeed(all))
    })
    return Effect.sync(() => socket.terminate())
  })

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

      const searched = yield* overSocket(port, { type: "search", ...told })
      say(viaOf(searched.flatMap(({ result }) => (result === undefined ? [] : [result]))).some(isWay), "/ws search")
      const written = yield* overSocket(port, { type: "prompt", ...told })
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
    const [error] = yield* overSocket(port, { type: "search", query, graph: "maybe" })
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
