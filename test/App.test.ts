import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as App from "../src/App.ts"
import { Embedders } from "../src/Embedders.ts"
import { startOllama } from "./ollama.ts"

/** What a new collection would get, and what was said about it. */
const chosen = (url: string, model = "all-minilm") => {
  const said: Array<string> = []
  const logger = Logger.make(({ message }) => void said.push(String(message)))
  return Embedders.pipe(
    Effect.flatMap(({ configured }) => Effect.zipLeft(configured.identity, configured.identity)),
    Effect.map(({ backend }) => ({ backend, said })),
    Effect.provide(App.layerOf({ embedding: { backend: "auto", model, url } })),
    Effect.provide(Logger.replace(Logger.defaultLogger, logger))
  )
}

it.scopedLive("a new collection gets an Ollama that answers, also where it was too busy at first", () =>
  Effect.gen(function* () {
    const { faults, url } = yield* startOllama()
    assert.deepStrictEqual(yield* chosen(url), { backend: "ollama", said: [] })
    faults.silentLists = 1
    assert.deepStrictEqual(yield* chosen(url), { backend: "ollama", said: [] })
  })
)

it.scopedLive("says once why a new collection gets the packaged model", () =>
  Effect.gen(function* () {
    const { faults, stop, url } = yield* startOllama()
    const why = Effect.fnUntraced(function* (model?: string) {
      const { backend, said } = yield* chosen(url, model)
      assert.strictEqual(backend, "builtin")
      assert.lengthOf(said, 1)
      return said[0]!
    })
    const missing = yield* why("absent")
    assert.include(missing, `Ollama at ${url} has no absent`)
    assert.include(missing, "`ollama pull absent`")
    faults.silent = true
    assert.match(yield* why(), /did not answer within 1000 ms/)
    yield* stop
    // There is none: nothing to be told.
    assert.deepStrictEqual(yield* chosen(url), { backend: "builtin", said: [] })
  })
)
