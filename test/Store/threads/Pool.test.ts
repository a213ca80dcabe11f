import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as Scheduler from "effect/Scheduler"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { CollectionNotFound, StoreUnavailable } from "../../../src/Store.ts"
import type { StoreError } from "../../../src/Store/port/errors.ts"
import * as Pool from "../../../src/Store/threads/Pool.ts"
import { ThreadDied } from "../../../src/Store/threads/Thread.ts"
import { type Call, Outcome, type Reply } from "../../../src/Store/threads/messages.ts"
import { CollectionName } from "../../../src/model/Collection.ts"
import * as Client from "../../../src/runtime/Turn.ts"

/** A call that a thread has taken, for the test to end. */
interface Taken {
  readonly thread: number
  readonly call: Call
  readonly answer: (exit: typeof Outcome.Type) => Effect.Effect<unknown>
  readonly die: Effect.Effect<unknown>
  readonly stall: Effect.Effect<unknown>
}

/** Threads of our own making, which do as the test says. */
const fakes = (canStart: (thread: number) => Effect.Effect<void, ThreadDied | StoreError> = () => Effect.void) => {
  const taken: Array<Taken> = []
  const cancelled: Array<number> = []
  const ended: Array<number> = []
  /** What threads do between calls. */
  const work = { steps: 0 }
  let started = 0
  const start = Effect.gen(function* () {
    const thread = ++started
    yield* Effect.addFinalizer(() => Effect.sync(() => ended.push(thread)))
    yield* canStart(thread)
    let alive = true
    return {
      alive: () => alive,
      steps: () => work.steps,
      cancel: (id: number) => void cancelled.push(id),
      perform: (call: Call) =>
        Effect.gen(function* () {
          const reply = yield* Deferred.make<Reply, ThreadDied>()
          taken.push({
            thread,
            call,
            answer: (exit) =>
              Deferred.succeed(reply, { id: call.id, outcome: Schema.encodeSync(Outcome)(exit), spans: [] }),
            die: Effect.suspend(() => {
              alive = false
              return Deferred.fail(reply, new ThreadDied({ reason: "it was killed" }))
            }),
            stall: Effect.suspend(() => {
              alive = false
              return Deferred.fail(reply, new ThreadDied({ reason: "it stood still", stalled: true }))
            })
          })
          return yield* Deferred.await(reply)
        })
    }
  })
  return { cancelled, ended, start, started: () => started, taken, work }
}

const broken = (reason: string) => new StoreUnavailable({ reason: `broke off: ${reason}` })

/** Runs an effect that is interrupted at a step of its. */
const goingAt = <A, E>(effect: Effect.Effect<A, E>, step: number) => {
  let steps = 0
  let first: Fiber.RuntimeFiber<unknown, unknown> | undefined
  const scheduler: Scheduler.Scheduler = {
    scheduleTask: (task, priority, fiber) => Scheduler.defaultScheduler.scheduleTask(task, priority, fiber),
    shouldYield: (fiber) => {
      // A fiber that it forks has the same scheduler.
      first ??= fiber
      if (fiber === first && ++steps === step) fiber.unsafeInterruptAsFork(FiberId.none)
      return Scheduler.defaultScheduler.shouldYield(fiber)
    }
  }
  return Effect.map(Effect.runtime(), (runtime) => Runtime.runFork(runtime)(effect, { scheduler }))
}

const settled = Effect.repeatN(Effect.yieldNow(), 50)

const find = (pool: Pool.Pool, name: string) => pool("find", [name])

const namesOf = (taken: ReadonlyArray<Taken>) => taken.map(({ call }) => call.args[0])

const make = (
  threads: ReturnType<typeof fakes>,
  options: Partial<Pick<Pool.PoolOptions, "size" | "attempts" | "eager" | "weigh">> = {}
) => Pool.make({ size: 2, attempts: 2, eager: false, start: threads.start, broken, ...options })

describe("Pool", () => {
  it.scoped("starts threads as calls need them, and no more than it may", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads)
      yield* settled
      assert.strictEqual(threads.started(), 0)
      for (let round = 0; round < 3; round++) {
        const call = yield* Effect.fork(find(pool, "alone"))
        yield* settled
        yield* threads.taken[round]!.answer(Exit.succeed(round))
        assert.strictEqual(yield* Fiber.join(call), round)
      }
      assert.strictEqual(threads.started(), 1)
      for (let n = 0; n < 5; n++) yield* Effect.fork(find(pool, `${n}`))
      yield* settled
      assert.strictEqual(threads.started(), 2)
      assert.deepStrictEqual(namesOf(threads.taken.slice(3)), ["0", "1"])
    })
  )

  it.scoped("ends a thread that calls have left with too much memory, once it is idle, and starts another", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads, { size: 1, weigh: (_, [name]) => (name === "large" ? 3_000_000 : 0) })
      const answered = Effect.fnUntraced(function* (name: string) {
        const call = yield* Effect.fork(find(pool, name))
        yield* settled
        yield* threads.taken.at(-1)!.answer(Exit.succeed(name))
        assert.strictEqual(yield* Fiber.join(call), name)
        yield* settled
      })
      const pause = (duration: Duration.DurationInput) => Effect.zipRight(TestClock.adjust(duration), settled)
      yield* answered("large")
      yield* pause("5 seconds")
      yield* answered("large")
      // Within a second of the last call, and while one is under way, it is needed.
      yield* pause("600 millis")
      yield* answered("small")
      yield* pause("600 millis")
      assert.deepStrictEqual(threads.ended, [])
      const long = yield* Effect.fork(find(pool, "long"))
      yield* pause("5 seconds")
      assert.deepStrictEqual(threads.ended, [])
      yield* threads.taken.at(-1)!.answer(Exit.succeed("long"))
      yield* Fiber.join(long)
      yield* settled
      assert.deepStrictEqual(threads.ended, [])
      // It may merge or sweep meanwhile.
      for (let second = 0; second < 3; second++) {
        threads.work.steps++
        yield* pause("1 second")
        assert.deepStrictEqual(threads.ended, [])
      }
      yield* pause("1 second")
      assert.deepStrictEqual(threads.ended, [1])
      yield* answered("next")
      yield* pause("5 seconds")
      assert.deepStrictEqual(threads.ended, [1])
      assert.deepStrictEqual(
        threads.taken.map(({ thread }) => thread),
        [1, 1, 1, 1, 2]
      )
    })
  )

  it.scoped("starts one at once where it is told to", () =>
    Effect.gen(function* () {
      const threads = fakes()
      yield* make(threads, { eager: true })
      yield* settled
      assert.strictEqual(threads.started(), 1)
    })
  )

  it.scoped("gives a call to the thread that was idle last, whose caches are warm", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads)
      const both = yield* Effect.forEach(["a", "b"], (name) => Effect.fork(find(pool, name)))
      yield* settled
      // The second thread answers first.
      for (const at of [1, 0]) {
        yield* threads.taken[at]!.answer(Exit.succeed(at))
        yield* settled
      }
      yield* Effect.forEach(both, Fiber.join)
      for (let at = 2; at < 6; at++) {
        const call = yield* Effect.fork(find(pool, "alone"))
        yield* settled
        yield* threads.taken[at]!.answer(Exit.succeed(at))
        yield* Fiber.join(call)
        yield* settled
      }
      assert.deepStrictEqual(
        threads.taken.slice(2).map(({ thread }) => thread),
        [1, 1, 1, 1]
      )
    })
  )

  it.scoped("starts no second thread while the first one starts", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads, { eager: true })
      const call = yield* Effect.fork(find(pool, "a"))
      yield* settled
      yield* threads.taken[0]!.answer(Exit.succeed(1))
      assert.strictEqual(yield* Fiber.join(call), 1)
      assert.strictEqual(threads.started(), 1)
    })
  )

  it.scoped("takes calls in their order, past one that takes long", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads)
      yield* Effect.fork(find(pool, "long"))
      yield* settled
      const short = yield* Effect.forEach(["a", "b", "c"], (name) => Effect.fork(find(pool, name)))
      for (let n = 1; n <= 3; n++) {
        yield* settled
        yield* threads.taken[n]!.answer(Exit.succeed(n))
      }
      assert.deepStrictEqual(yield* Effect.forEach(short, Fiber.join), [1, 2, 3])
      assert.deepStrictEqual(namesOf(threads.taken), ["long", "a", "b", "c"])
      assert.isTrue(threads.taken.slice(1).every(({ thread }) => thread === 2))
    })
  )

  it.scoped("lets clients take turns, however many calls one of them makes", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads, { size: 1 })
      const asked = (client: string, name: string) => Effect.fork(Client.working(client)(find(pool, name)))
      for (const name of ["a1", "a2", "a3", "a4"]) yield* asked("a", name)
      yield* settled
      yield* asked("b", "b1")
      const gone = yield* asked("c", "c1")
      yield* asked("b", "b2")
      yield* settled
      yield* Fiber.interrupt(gone)
      for (let n = 0; n < 6; n++) {
        yield* threads.taken[n]!.answer(Exit.succeed(n))
        yield* settled
      }
      assert.deepStrictEqual(namesOf(threads.taken), ["a1", "a2", "b1", "a3", "b2", "a4"])
    })
  )

  it.scoped("gives failures their types back, and defects their words", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads)
      const failure = new CollectionNotFound({ name: CollectionName.make("gone") })
      const failed = yield* Effect.fork(Effect.flip(find(pool, "a")))
      yield* settled
      yield* threads.taken[0]!.answer(Exit.fail(failure))
      assert.deepStrictEqual(yield* Fiber.join(failed), failure)
      const died = yield* Effect.fork(Effect.catchAllDefect(find(pool, "b"), Effect.succeed))
      yield* settled
      yield* threads.taken[1]!.answer(Exit.die("a bug"))
      assert.strictEqual(((yield* Fiber.join(died)) as Error).message, "a bug")
    })
  )

  it.scoped("makes a call again whose thread died, once", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads)
      const saved = yield* Effect.fork(find(pool, "a"))
      yield* settled
      yield* threads.taken[0]!.die
      yield* settled
      assert.deepStrictEqual(threads.ended, [1])
      yield* threads.taken[1]!.answer(Exit.succeed("saved"))
      assert.strictEqual(yield* Fiber.join(saved), "saved")

      const lost = yield* Effect.fork(Effect.flip(find(pool, "b")))
      for (let n = 2; n <= 3; n++) {
        yield* settled
        yield* threads.taken[n]!.die
      }
      assert.deepStrictEqual(yield* Fiber.join(lost), broken("it was killed"))
      assert.strictEqual(threads.started(), 3)

      const next = yield* Effect.fork(find(pool, "c"))
      yield* settled
      yield* threads.taken[4]!.answer(Exit.succeed("well"))
      assert.strictEqual(yield* Fiber.join(next), "well")
    })
  )

  it.scoped("replaces a thread that stands still, without making its call again", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads, { size: 1 })
      const lost = yield* Effect.fork(Effect.flip(find(pool, "a")))
      const next = yield* Effect.fork(find(pool, "b"))
      yield* settled
      yield* threads.taken[0]!.stall
      assert.deepStrictEqual(yield* Fiber.join(lost), broken("it stood still"))
      yield* settled
      assert.deepStrictEqual(threads.ended, [1])
      yield* threads.taken[1]!.answer(Exit.succeed("well"))
      assert.strictEqual(yield* Fiber.join(next), "well")
      assert.deepStrictEqual(namesOf(threads.taken), ["a", "b"])
    })
  )

  it.scoped("starts a thread whatever the step at which the first caller goes, and gives up no other call for it", () =>
    Effect.gen(function* () {
      for (let step = 1; step < 200; step++) {
        const threads = fakes()
        const pool = yield* make(threads, { size: 1 })
        const gone = yield* goingAt(find(pool, "gone"), step)
        const stays = yield* Effect.fork(find(pool, "stays"))
        for (let round = 0; round < 5; round++) {
          yield* settled
          yield* Effect.forEach(threads.taken, ({ answer }) => answer(Exit.succeed("well")))
        }
        yield* settled
        assert.strictEqual((yield* Fiber.poll(stays))._tag, "Some", `gone at step ${step}`)
        yield* Fiber.interruptFork(gone)
        const kept = threads.taken.find(({ call }) => call.args[0] === "stays")!
        assert.notInclude(threads.cancelled, kept.call.id)
      }
    })
  )

  it.scoped("makes no call again where it must not", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads, { attempts: 1, size: 1 })
      const lost = yield* Effect.fork(Effect.flip(pool("put", ["c", []])))
      yield* settled
      yield* threads.taken[0]!.die
      assert.strictEqual((yield* Fiber.join(lost))._tag, "StoreUnavailable")
      assert.strictEqual(threads.taken.length, 1)
    })
  )

  it.scoped("tells each call why no thread starts, and starts none that no call wants", () =>
    Effect.gen(function* () {
      const reason = new StoreUnavailable({ reason: "the index is gone" })
      const refusing = fakes(() => reason)
      const refused = yield* make(refusing, { eager: true })
      assert.deepStrictEqual(yield* Effect.flip(find(refused, "a")), reason)
      const before = refusing.started()
      yield* settled
      assert.strictEqual(refusing.started(), before)

      const dying = fakes(() => new ThreadDied({ reason: "out of memory" }))
      const pool = yield* make(dying)
      for (let n = 0; n < 3; n++) assert.deepStrictEqual(yield* Effect.flip(find(pool, "a")), broken("out of memory"))
      // One at the start of each of the two, two for each call.
      assert.isAtMost(dying.started(), 2 + 3 * 2)
      assert.strictEqual(dying.ended.length, dying.started())

      const slow = fakes((thread) => (thread < 3 ? new ThreadDied({ reason: "not yet" }) : Effect.void))
      const recovering = yield* make(slow, { size: 1 })
      const call = yield* Effect.fork(find(recovering, "a"))
      yield* settled
      yield* slow.taken[0]!.answer(Exit.succeed("at last"))
      assert.strictEqual(yield* Fiber.join(call), "at last")
    })
  )

  it.scoped("lets a caller go at once, and its thread on to the next call", () =>
    Effect.gen(function* () {
      const threads = fakes()
      const pool = yield* make(threads, { size: 1 })
      const [running, queued, last] = yield* Effect.all(
        ["running", "queued", "last"].map((name) => Effect.fork(find(pool, name)))
      )
      yield* settled
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(running!)))
      yield* Fiber.interrupt(queued!)
      assert.deepStrictEqual(threads.cancelled, [threads.taken[0]!.call.id])
      // What it made nevertheless goes nowhere.
      yield* threads.taken[0]!.answer(Exit.succeed("too late"))
      yield* settled
      assert.deepStrictEqual(namesOf(threads.taken), ["running", "last"])
      yield* threads.taken[1]!.answer(Exit.succeed("mine"))
      assert.strictEqual(yield* Fiber.join(last!), "mine")
      assert.strictEqual(threads.started(), 1)
    })
  )

  it.effect("ends all threads with its scope, also those that an uninterruptible caller began", () =>
    Effect.gen(function* () {
      const threads = fakes((thread) => (thread === 3 ? Effect.interruptible(Effect.never) : Effect.void))
      const scope = yield* Scope.make()
      const pool = yield* Scope.extend(make(threads, { size: 3 }), scope)
      const callers = yield* Effect.forEach(["a", "b", "c", "d"], (name) =>
        Effect.fork(Effect.uninterruptible(find(pool, name)))
      )
      yield* settled
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual([...threads.ended].sort(), [1, 2, 3])
      for (const caller of callers) assert.isTrue(Exit.isInterrupted(yield* Fiber.await(caller)))
    })
  )
})
