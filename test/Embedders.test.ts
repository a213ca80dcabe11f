import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import * as App from "../src/App.ts"
import type { SettingsEncoded } from "../src/Config/Settings.ts"
import { Embedders } from "../src/Embedders.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import { Reindexer } from "../src/upkeep/Reindexer.ts"
import { Store } from "../src/Store.ts"
import { startOllama } from "./ollama.ts"
import { startOpenAi } from "./openAi.ts"
import { Indexer } from "../src/Indexer.ts"
import { temporaryFolder } from "./folder.ts"

/** An index file, opened anew with each configuration, as by one process after another. */
const makeIndex = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const open =
    (embedding: NonNullable<SettingsEncoded["embedding"]>) =>
    <A, E, R>(use: Effect.Effect<A, E, R>) =>
      Effect.provide(use, App.layerOf({ embedding, store: { path: join(folder, "index.db") } }))
  return open
})

const add = Effect.flatMap(Indexer, (indexer) =>
  indexer.index([{ content: "the tide comes in twice a day", metadata: { source: "tides.md" } }])
)
const recorded = Effect.flatMap(Store, (store) => store.collection(defaultCollection))
const opened = Effect.flatMap(recorded, (collection) =>
  Effect.flatMap(Embedders, (embedders) => embedders.forCollection(collection))
)
const questioned = Effect.flatMap(recorded, (collection) =>
  Effect.flatMap(Embedders, (embedders) => embedders.forCollection(collection, "urgent"))
)
const reindex = (force: boolean) =>
  Effect.flatMap(Reindexer, (reindexer) =>
    Effect.map(Stream.runCollect(reindexer.run(defaultCollection, { force })), (all) => [...all].at(-1)!)
  )

it.scopedLive("opens a collection of the packaged model as it records, whatever is configured since", () =>
  Effect.gen(function* () {
    const open = yield* makeIndex
    yield* open({ backend: "builtin" })(add)
    const openai = { backend: "openai", url: "http://127.0.0.1:9", model: "text-embedding-3-small" } as const
    const { backend } = yield* open(openai)(Effect.flatMap(opened, ({ identity }) => identity))
    assert.strictEqual(backend, "builtin")
    yield* open(openai)(add)
  })
)

it.scopedLive("notices a model that was pulled again, and goes on by reindexing, also where the backend is auto", () =>
  Effect.gen(function* () {
    const { state, url } = yield* startOllama()
    const open = yield* makeIndex
    for (const backend of ["ollama", "auto"] as const) {
      const now = open({ backend, url, model: "all-minilm" })
      yield* now(add)
      assert.strictEqual((yield* now(recorded)).embedder.digest, state.digest)
      const before = state.digest
      state.digest = `${backend}-pulled-again`
      const error = yield* Effect.flip(now(opened))
      assert.include(error.message, `of digest ${before.slice(0, 12)}`)
      assert.include(error.message, "pulled again or replaced")
      assert.include(error.message, "Run `clew reindex`")
      assert.isTrue((yield* now(reindex(false))).changed)
      assert.strictEqual((yield* now(recorded)).embedder.digest, state.digest)
      yield* now(opened)
    }
  })
)

it.scopedLive("asks a server again whose model changed while it ran, and records what made the vectors", () =>
  Effect.gen(function* () {
    const { asked, faults, state, url } = yield* startOllama()
    const open = yield* makeIndex
    for (const backend of ["ollama", "auto"] as const) {
      const now = open({ backend, url, model: "all-minilm" })
      yield* now(add)
      yield* now(
        Effect.gen(function* () {
          yield* opened
          // Another process notices, and reindexes as it was told.
          state.digest = `${backend}-pulled-once`
          yield* now(reindex(false))
          assert.strictEqual((yield* Effect.flatMap(opened, ({ identity }) => identity)).digest, state.digest)
          state.digest = `${backend}-pulled-twice`
          assert.isTrue((yield* reindex(false)).changed)
          assert.strictEqual((yield* recorded).embedder.digest, state.digest)
          faults.dimensions = 16
          const { embedPassages } = yield* opened
          yield* Effect.flip(embedPassages(["tide"]))
          assert.include((yield* Effect.flip(opened)).message, "but ollama all-minilm (16 dimensions)")
          // Not at each question.
          const { length } = asked
          yield* Effect.flip(questioned)
          assert.lengthOf(asked, length)
          assert.isTrue((yield* reindex(false)).changed)
          assert.strictEqual((yield* recorded).embedder.dimensions, 16)
          delete faults.dimensions
          assert.isTrue((yield* reindex(false)).changed)
        })
      )
    }
  })
)

it.scopedLive("takes no tag and :latest for one model", () =>
  Effect.gen(function* () {
    const { url } = yield* startOllama()
    const open = yield* makeIndex
    yield* open({ backend: "ollama", url, model: "all-minilm" })(add)
    const tagged = open({ backend: "ollama", url, model: "all-minilm:latest" })
    yield* tagged(opened)
    assert.isFalse((yield* tagged(reindex(false))).changed)
  })
)

it.scopedLive("says where prefixes alone differ", () =>
  Effect.gen(function* () {
    const { url } = yield* startOllama()
    const open = yield* makeIndex
    yield* open({ backend: "ollama", url, model: "all-minilm" })(add)
    const error = yield* Effect.flip(
      open({ backend: "ollama", url, model: "all-minilm", query_prefix: "query: " })(opened)
    )
    assert.include(error.message, "only its prefixes differ")
    assert.include(error.message, '"query: " before queries')
  })
)

it.scopedLive(
  "embeds queries and passages behind the recorded prefixes where the backend is auto, whatever is configured",
  () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startOllama()
      const open = yield* makeIndex
      const first = {
        backend: "auto",
        url,
        model: "all-minilm",
        query_prefix: "ask: ",
        passage_prefix: "say: "
      } as const
      yield* open(first)(add)
      const said = () => asked.filter(({ path }) => path === "/api/embed").map(({ body }) => String(body.input))
      for (const since of [{}, { query_prefix: "other: ", passage_prefix: "other: " }]) {
        const now = open({ backend: "auto", url, model: "all-minilm", ...since })
        const before = said().length
        yield* now(
          Effect.flatMap(opened, ({ embedPassages, embedQuery }) =>
            Effect.zip(embedQuery("when is high water"), embedPassages(["the tide"]))
          )
        )
        assert.includeMembers(said().slice(before), ["ask: when is high water", "say: the tide"])
        const { passagePrefix, queryPrefix } = (yield* now(recorded)).embedder
        assert.deepStrictEqual([queryPrefix, passagePrefix], ["ask: ", "say: "])
      }
    })
)

it.scopedLive("embeds anew on demand though the embedder is the same", () =>
  Effect.gen(function* () {
    const { asked, url } = yield* startOllama()
    const now = (yield* makeIndex)({ backend: "ollama", url, model: "all-minilm" })
    yield* now(add)
    assert.isFalse((yield* now(reindex(false))).changed)
    const before = asked.length
    const { changed, done } = yield* now(reindex(true))
    assert.deepStrictEqual([changed, done], [true, 1])
    assert.isTrue(asked.slice(before).some(({ body }) => JSON.stringify(body.input).includes("tide")))
  })
)

it.scopedLive(
  "names the file of a passage that is too long for the model, and stores the others with their vectors",
  () =>
    Effect.gen(function* () {
      const { faults, url } = yield* startOpenAi()
      faults.mostWords = 20
      const open = yield* makeIndex
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => void said.push(String(message)))
      const documents = ["short", "word ".repeat(60), "short too"].map((content, n) => ({
        content,
        metadata: { source: `docs/${n}.md` }
      }))
      const indexed = yield* open({ backend: "openai", url, model: "embed" })(
        Effect.flatMap(Indexer, (indexer) => indexer.index(documents))
      ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      assert.deepStrictEqual(
        indexed.map(({ status }) => status),
        ["created", "created", "created"]
      )
      assert.deepStrictEqual(
        said.filter((line) => line.startsWith("docs/")),
        ["docs/1.md:1: too long for embed: only its beginning is searched by meaning"]
      )
    })
)

it.scopedLive("refuses a width that the packaged model does not have", () =>
  Effect.gen(function* () {
    const open = yield* makeIndex
    const { message } = yield* Effect.flip(open({ backend: "builtin", dimensions: 128 })(add))
    assert.match(message, /embedding\.dimensions is 128, but .* gives 256 and cannot reduce them: remove the setting/)
    yield* open({ backend: "builtin", dimensions: 256 })(add)
  })
)
