import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { totalmem } from "node:os"
import type { Extracted } from "../../extraction/Extracted.ts"
import type { Kind, Source } from "../../extraction/extract.ts"
import { inAssets } from "../../runtime/packaged.ts"
import { type ThreadNumber, oneByOne, startWorker, threadNumber, threadTime } from "../../runtime/workers.ts"
import { Unreadable, Unsupported } from "../Loader.ts"
import { type Failure, whyNot } from "./failure.ts"

export interface Job {
  readonly kind: Kind
  readonly source: Source
}

/** What the worker gets at its start. */
export interface ThreadData {
  /** Where it tells its number, by which its time is measured. */
  readonly thread: ThreadNumber
  /** The path of the archive of CMaps. */
  readonly cmaps: string
}

export interface Limits {
  /** Most processor time for one file, in milliseconds. */
  readonly parseTimeoutMs: number
  /** Most memory for one file, in MiB. */
  readonly parseMemoryMb: number
}

/**
 * Extracts a file's text. A file that takes too much time or memory is Unsupported, and the next one is read; where the
 * reader itself cannot run, the file is Unreadable.
 */
export type Extract = (path: string, kind: Kind, source: Source) => Effect.Effect<Extracted, Unreadable | Unsupported>

const entry = { source: "files/Loader/extractWorker.ts", built: "extractWorker.js" }

export type Answer = { readonly read: Extracted } | Failure

/** A reader that uses no processor for so long, in milliseconds, waits for something that never comes. */
const longestRest = 120_000

/** What the rest of the process may take while a file is read, in MiB. */
const headroom = 512

/** What the rest of the process needs to run at all, in MiB. */
const running = 256

/** The least that a file may take, in MiB. */
const least = 64

const mebibyte = 1024 * 1024

/** After a file, or a text, of this many bytes or characters the thread ends: its memory costs more than starting another. */
const large = 4 * mebibyte

/** The memory that this process may have, in MiB: that of its container or service, or the machine's. */
const memoryMb = (): number => Math.min(process.constrainedMemory() || Infinity, totalmem()) / mebibyte

/** The memory that a file may take, in MiB: as much as is set, unless the system would end the process for it. */
export const allowance = (parseMemoryMb: number): number =>
  Math.min(parseMemoryMb, Math.max(least, Math.floor(memoryMb()) - running))

/** Bytes that indexing a text took at most for each of its characters: 10 of one in paragraphs, 18 of one in short lines. */
const perCharacter = 10

/** The most characters of a text whose passages, which are stored at once, have room in memory. */
export const longest = (): number =>
  Math.floor((Math.max(least, Math.floor(memoryMb()) - running) * mebibyte) / perCharacter)

/**
 * Whether the process has grown since by more than a file may take. V8's limit counts objects alone, and not the bytes of
 * buffers and images.
 */
const growth = (mostMb: number): (() => boolean) => {
  const grown = process.memoryUsage.rss() / mebibyte
  const most = Math.min(mostMb + headroom, Math.max(least, memoryMb() * 0.9 - grown))
  return () => process.memoryUsage.rss() / mebibyte - grown > most
}

/**
 * Completes once a thread has used more than `limit` milliseconds of the processor, or none for too long, or is too
 * large.
 */
export const overrun = (
  spent: () => number,
  limit: number,
  isTooLarge: () => boolean = () => false
): Effect.Effect<"limit" | "rest" | "memory"> =>
  Effect.gen(function* () {
    const pause = Math.min(250, Math.max(5, limit / 20))
    let before = 0
    let rested = 0
    for (;;) {
      yield* Effect.sleep(pause)
      const now = spent()
      if (isTooLarge()) return "memory"
      if (now > limit) return "limit"
      rested = now > before ? 0 : rested + pause
      before = now
      if (rested >= longestRest) return "rest"
    }
  })

/** A worker that extracts foreign formats, one file at a time. */
export const make = ({ parseMemoryMb, parseTimeoutMs }: Limits): Effect.Effect<Extract, never, Scope.Scope> =>
  Effect.suspend(() => {
    let thread = threadNumber()
    const mostMb = allowance(parseMemoryMb)
    const tooLarge: Answer = {
      reason:
        mostMb === parseMemoryMb
          ? `reading it takes more memory than limits.parse_memory_mb allows (${parseMemoryMb})`
          : `reading it takes more than ${mostMb} MiB of memory, and this process may have ${Math.floor(memoryMb())} MiB in all: give its container or machine more`,
      isLimit: true
    }
    const tooLong = (why: "limit" | "rest"): Answer => ({
      reason:
        why === "limit"
          ? `reading it takes longer than limits.parse_timeout_ms allows (${parseTimeoutMs} ms of processor time)`
          : `reading it came to a standstill`,
      isLimit: true
    })
    return Effect.map(
      oneByOne<Job, Answer>({
        spawn: () => {
          thread = threadNumber()
          const resourceLimits = { maxOldGenerationSizeMb: mostMb, stackSizeMb: 4 }
          return startWorker(entry, { thread, cmaps: inAssets("cmaps/cmaps.zip") } satisfies ThreadData, {
            resourceLimits
          })
        },
        broken: (why): Answer =>
          typeof why === "number"
            ? { reason: `damaged: its reader ended with code ${why}` }
            : "code" in why && why.code === "ERR_WORKER_OUT_OF_MEMORY"
              ? tooLarge
              : whyNot(why),
        isSpent: ({ source }, answer) =>
          Math.max(source.length, "read" in answer ? answer.read.text.length : 0) > large,
        within: (answer) =>
          Effect.raceFirst(
            answer,
            Effect.suspend(() =>
              Effect.map(overrun(threadTime(thread), parseTimeoutMs, growth(mostMb)), (why) =>
                why === "memory" ? tooLarge : tooLong(why)
              )
            )
          )
      }),
      (read) => (path, kind, source) =>
        Effect.flatMap(read({ kind, source }), (answer): Effect.Effect<Extracted, Unreadable | Unsupported> =>
          "read" in answer
            ? Effect.succeed(answer.read)
            : "fault" in answer
              ? new Unreadable({ path, reason: answer.fault })
              : new Unsupported({ path, ...answer })
        )
    )
  })
