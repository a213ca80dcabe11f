import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { Worker, type WorkerOptions } from "node:worker_threads"
import * as Turn from "./Turn.ts"

/** Where a thread tells its number in the system; 0: it has not started yet, or the system has no such numbers. */
export type ThreadNumber = Int32Array<SharedArrayBuffer>

export const threadNumber = (): ThreadNumber => new Int32Array(new SharedArrayBuffer(4))

/** Tells the current thread's number. */
export const tellNumber = (number: ThreadNumber): void => {
  try {
    number[0] = Number(fs.readlinkSync("/proc/thread-self").split("/").at(-1))
  } catch {
    // Only Linux has it.
  }
}

/** Milliseconds in a tick of the times in /proc, which has the same unit on every machine. */
const tick = 10

/** The processor time of a thread, in milliseconds; undefined if the system does not tell. */
const spentBy = (number: number): number | undefined => {
  if (number === 0) return undefined
  try {
    const stat = fs.readFileSync(`/proc/self/task/${number}/stat`, "latin1")
    // The name before, in brackets, may have blanks.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const ticks = Number(fields[11]) + Number(fields[12])
    return Number.isFinite(ticks) ? ticks * tick : undefined
  } catch {
    return undefined
  }
}

/**
 * Measures the processor time that a thread has used from now on, in milliseconds. Where the system does not tell it of
 * a thread, it is what the whole process has used, or the time that has passed, whichever is less.
 */
export const threadTime = (number: ThreadNumber): (() => number) => {
  const began = performance.now()
  const whole = process.cpuUsage()
  const first = number[0]!
  const before = spentBy(first) ?? 0
  return () => {
    const now = number[0]!
    // Another thread may have taken its place.
    const spent = spentBy(now)
    if (spent !== undefined) return now === first ? spent - before : spent
    if (process.platform === "linux" && now === 0) return 0
    const { system, user } = process.cpuUsage(whole)
    return Math.min(performance.now() - began, (user + system) / 1000)
  }
}

/** Whether this process is the program: another that uses the library keeps its working directory. */
const isProgram = (): boolean => {
  try {
    return path.dirname(fs.realpathSync(process.argv[1] ?? "")) === path.dirname(fileURLToPath(import.meta.url))
  } catch {
    return false
  }
}

/** A thread asks for the working directory as it starts, and dies where that was deleted, though all paths are absolute. */
const leaveDeleted = (): void => {
  try {
    // What process.cwd() says may be remembered.
    fs.realpathSync.native(".")
  } catch {
    if (!isProgram()) return
    try {
      // A clone, or a worktree, may have been made anew at its place.
      process.chdir(process.cwd())
    } catch {
      process.chdir("/")
    }
  }
}

/** Starts a worker thread. `source` is its entry below `src`, `built` its bundle beside this file's. */
export const startWorker = (
  { built, source }: { readonly source: string; readonly built: string },
  workerData: object = {},
  options: WorkerOptions = {}
): Worker => {
  leaveDeleted()
  const here = import.meta.url
  return here.endsWith(".ts")
    ? new Worker(new URL("../../scripts/sourceWorker.mjs", here), {
        ...options,
        workerData: { ...workerData, entry: new URL(`../${source}`, here).href }
      })
    : new Worker(new URL(`./${built}`, here), { ...options, workerData })
}

const unheard = () => {}

/** A job as the worker gets it, and its answer as it gives it. */
export type Numbered<A> = A & { readonly id: number }

/**
 * Gives a worker one job at a time. The worker starts with the first job and ends with the scope, keeps the process alive
 * only while it works, and answers each job under the job's number. Interrupting the wait terminates it, since it may be
 * in a loop.
 */
export const oneByOne = <Job extends object, Answer extends object>(options: {
  readonly spawn: () => Worker
  /** The answer if the worker ended: by an error, or with an exit code. */
  readonly broken: (why: Error | number) => Answer
  /** Whether to end the worker after the job: an idle thread never frees its memory. */
  readonly isSpent?: (job: Job, answer: Answer) => boolean
  /** Limits the time for a job, from the start of its turn. */
  readonly within?: (answer: Effect.Effect<Answer>) => Effect.Effect<Answer>
}): Effect.Effect<(job: Job) => Effect.Effect<Answer>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { broken, isSpent = () => false, spawn, within = (answer) => answer } = options
    const turn = Turn.make()
    let running: Worker | undefined
    let settle: (answer: Answer) => void = unheard
    let lastId = 0
    const end = (): void => {
      void running?.terminate()
      running = undefined
    }
    yield* Effect.addFinalizer(() => Effect.sync(end))

    const start = (): Worker => {
      const worker = spawn()
      const breakOff = (why: Error | number) => {
        if (running !== worker) return
        end()
        settle(broken(why))
      }
      worker.on("message", (answer: Numbered<Answer>) => {
        // A terminated worker may have sent its last answer already.
        if (running === worker && answer.id === lastId) settle(answer)
      })
      worker.on("error", breakOff)
      worker.on("messageerror", breakOff)
      worker.on("exit", breakOff)
      return worker
    }

    const ask = (job: Job) =>
      Effect.async<Answer>((resume) => {
        const worker = (running ??= start())
        worker.ref()
        settle = (answer) => {
          worker.unref()
          if (isSpent(job, answer) && running === worker) end()
          // It would keep the job in memory.
          settle = unheard
          resume(Effect.succeed(answer))
        }
        worker.postMessage({ ...job, id: ++lastId })
        return Effect.sync(() => {
          settle = unheard
          end()
        })
      })

    return (job) => turn(within(ask(job)))
  })
