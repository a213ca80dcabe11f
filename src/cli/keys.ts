import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type { Readable } from "node:stream"

/** Standard input, or another stream in its place. */
export interface Keyboard extends Readable {
  readonly isTTY?: boolean
  readonly setRawMode?: (mode: boolean) => unknown
}

/** Ctrl-C and Ctrl-D of a terminal in raw mode. */
const ends = new Set(["\u0003", "\u0004"])

/**
 * The next key if standard input is a terminal, else its next character that is not white space; undefined at the end.
 */
export const keysOf = Effect.fnUntraced(function* (stdin: Keyboard) {
  const queue = yield* Queue.unbounded<string | undefined>()
  const take = (text: string) => {
    for (const key of text) {
      if (ends.has(key)) Queue.unsafeOffer(queue, undefined)
      else if (key.trim() !== "") Queue.unsafeOffer(queue, key)
    }
  }
  const end = () => Queue.unsafeOffer(queue, undefined)
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      if (stdin.isTTY === true) stdin.setRawMode?.(true)
      stdin.setEncoding("utf8").on("data", take).on("end", end).on("error", end).resume()
    }),
    () =>
      Effect.sync(() => {
        stdin.off("data", take).off("end", end).off("error", end).pause()
        if (stdin.isTTY === true) stdin.setRawMode?.(false)
      })
  )
  return Queue.take(queue)
})
