import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { overrun } from "../../src/files/Loader/Extractor.ts"
import { tellNumber, threadNumber, threadTime } from "../../src/runtime/workers.ts"

/** Works as long as it is asked to, by a counter that it increases meanwhile. */
const program = `
  const { parentPort, workerData: { number, state } } = require("node:worker_threads")
  try { number[0] = Number(require("node:fs").readlinkSync("/proc/thread-self").split("/").at(-1)) } catch {}
  parentPort.on("message", (turns) => {
    for (let n = 0; n < turns * 1e8; n++) state[0] = n
    parentPort.postMessage("done")
  })
  parentPort.postMessage("ready")`

it.skipIf(process.platform !== "linux")(
  "counts what a thread works, not what others do or how long it waits",
  async () => {
    const number = threadNumber()
    const state = new Int32Array(new SharedArrayBuffer(4))
    const spent = threadTime(number)
    assert.strictEqual(spent(), 0)
    const worker = new Worker(program, { eval: true, workerData: { number, state } })
    await once(worker, "message")
    const idle = threadTime(number)
    // Work of this thread.
    for (let n = 0; n < 1e8; n++) state[0] = n
    assert.isAtMost(idle(), 50)
    worker.postMessage(2)
    await once(worker, "message")
    assert.isAtLeast(idle(), 50)
    assert.isAtLeast(spent(), idle())
    await worker.terminate()

    const own = threadNumber()
    tellNumber(own)
    assert.isAbove(own[0]!, 0)
  }
)

it.effect("ends a reader by the time it has worked, once it is too large, or once it rests for good", () =>
  Effect.gen(function* () {
    let spent = 0
    const fiber = yield* Effect.fork(overrun(() => spent, 6000))
    // The machine is so busy that it gets a tenth of the time.
    for (let second = 0; second < 59; second++) {
      spent += 100
      yield* TestClock.adjust("1 second")
    }
    assert.isTrue((yield* Fiber.poll(fiber))._tag === "None")
    spent += 200
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* Fiber.join(fiber), "limit")

    let isTooLarge = false
    const growing = yield* Effect.fork(
      overrun(
        () => 1,
        6000,
        () => isTooLarge
      )
    )
    yield* TestClock.adjust("1 second")
    assert.isTrue((yield* Fiber.poll(growing))._tag === "None")
    isTooLarge = true
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* Fiber.join(growing), "memory")

    const resting = yield* Effect.fork(overrun(() => 7, 6000))
    yield* TestClock.adjust("119 seconds")
    assert.isTrue((yield* Fiber.poll(resting))._tag === "None")
    yield* TestClock.adjust("3 seconds")
    assert.strictEqual(yield* Fiber.join(resting), "rest")
  })
)
