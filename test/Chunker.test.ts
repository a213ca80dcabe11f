import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Chunker } from "../src/Chunker.ts"
import { PipelineConfig } from "../src/Config.ts"
import { packagedTokenizer, Tokenizer } from "../src/packaged/Tokenizer.ts"
import { nextTurn } from "../src/runtime/EventLoop.ts"
import { chunk } from "../src/chunking/chunk.ts"

const size = { chunkSize: 64, chunkOverlap: 8 }
const layer = Chunker.Default.pipe(Layer.provide([Tokenizer.Default, Layer.succeed(PipelineConfig, size)]))

const section = (n: number) =>
  `## Turning ${n}\n\n${`The thread leads past turning ${n} of the maze, and on. `.repeat(20)}\n\n`
const maze = (sections: number) => `# The maze\n\n${Array.from({ length: sections }, (_, n) => section(n)).join("")}`

it.scopedLive("cuts a long document as a short one, and lets everything else go on meanwhile", () =>
  Effect.gen(function* () {
    const chunker = yield* Chunker
    const { count } = yield* packagedTokenizer
    const content = maze(400)
    const expected = chunk(content, { size: 64, overlap: 8, format: "markdown", countTokens: count })

    // Started for this one, so that its start does not count below.
    assert.deepStrictEqual(yield* chunker.chunk(content, "markdown"), expected)

    // Cut on this thread, it would not turn once.
    let turns = 0
    const beat = setInterval(() => turns++, 1)
    yield* chunker.chunk(maze(2000), "markdown")
    clearInterval(beat)
    assert.isAbove(turns, 10)
  }).pipe(Effect.provide(layer))
)

/** Threads that are at work. */
const working = () => process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length

it.scopedLive("ends at once what nobody waits for any more, and cuts the next", () =>
  Effect.gen(function* () {
    const chunker = yield* Chunker
    const untouched = yield* Effect.map(Layer.build(Layer.fresh(layer)), Context.get(Chunker))
    for (const each of [chunker, untouched]) yield* each.chunk(maze(50), "markdown")
    const idle = working()
    const cutting = yield* Effect.fork(chunker.chunk(maze(4000), "markdown"))
    let isWhole = false
    yield* Effect.fork(Effect.tap(untouched.chunk(maze(2000), "markdown"), () => (isWhole = true)))
    while (working() < idle + 2) yield* nextTurn
    yield* Fiber.interrupt(cutting)
    while (working() === idle + 2) yield* nextTurn
    assert.isFalse(isWhole, "half as much is cut by now")
    const passages = yield* chunker.chunk(maze(50), "markdown")
    assert.isAbove(passages.length, 50)
    assert.deepStrictEqual(passages[0]?.heading, ["The maze", "Turning 0"])
  }).pipe(Effect.provide(layer))
)

it.scopedLive("takes no passages of a document that nobody waits for any more", () =>
  Effect.gen(function* () {
    const chunker = yield* Chunker
    yield* chunker.chunk(maze(100), "markdown")
    const left = yield* Effect.fork(chunker.chunk(maze(101), "markdown"))
    yield* Effect.yieldNow()
    // Until the thread is done, and no other works; its answer waits until this thread goes on.
    const pause = new Int32Array(new SharedArrayBuffer(4))
    for (let used = process.cpuUsage(), quiet = 0; quiet < 5;) {
      Atomics.wait(pause, 0, 0, 20)
      const { system, user } = process.cpuUsage(used)
      used = process.cpuUsage()
      quiet = user + system < 2000 ? quiet + 1 : 0
    }
    yield* Fiber.interrupt(left)
    const content = `# Another\n\n${section(0).repeat(100)}`
    const passages = yield* chunker.chunk(content, "markdown")
    assert.isTrue(passages.every(({ heading }) => heading[0] === "Another"))
    assert.strictEqual(passages.at(-1)?.end, content.trimEnd().length)
  }).pipe(Effect.provide(layer))
)

it.scopedLive("cuts millions of one character beyond the Basic Multilingual Plane", () =>
  Effect.gen(function* () {
    const chunker = yield* Chunker
    const content = "\u{1f600}".repeat(6e6)
    const passages = yield* chunker.chunk(content, "text")
    assert.strictEqual(passages.at(-1)?.end, content.length)
    assert.isTrue(passages.every(({ end, start }) => end - start <= 8 * size.chunkSize))
  }).pipe(Effect.provide(layer))
)
