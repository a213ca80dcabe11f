import * as Effect from "effect/Effect"
import { isBelow } from "../below.ts"
import type { Cause } from "../WatchEvent.ts"

/** Paths that are tracked individually; with more, everything is scanned. */
const most = 10_000

/** Changes reported since the last scan began. */
export class Hints {
  readonly #wake = Effect.unsafeMakeLatch(false)
  readonly #isOwn: (path: string) => boolean
  #paths = new Set<string>()
  #cause: Cause | undefined
  #first: number | undefined
  #last = 0

  /** `isOwn` recognises the program's own files, whose changes it makes itself. */
  constructor(isOwn: (path: string) => boolean) {
    this.#isOwn = isOwn
  }

  get waiting(): number {
    return this.#paths.size
  }

  /** Waits for a hint. */
  get any(): Effect.Effect<void> {
    return this.#wake.await
  }

  get isQuiet(): boolean {
    return this.#first === undefined
  }

  /** When to scan: after a quiet period, but at most `maxWaitMs` after the first hint. */
  due({ maxWaitMs, quietMs }: { readonly quietMs: number; readonly maxWaitMs: number }): number {
    return Math.min(this.#last + quietMs, (this.#first ?? this.#last) + maxWaitMs)
  }

  /** Something changed at these places. */
  add(paths: ReadonlyArray<string>, now: number): void {
    const others = paths.filter((path) => !this.#isOwn(path))
    if (others.length === 0) return
    for (const path of others) if (this.#paths.size < most) this.#paths.add(path)
    this.#note(this.#cause ?? "events", now)
  }

  /** Changes anywhere may have been missed. */
  addAll(now: number): void {
    this.#note("lost", now)
  }

  #note(cause: Cause, now: number): void {
    this.#cause = cause
    this.#first ??= now
    this.#last = now
    this.#wake.unsafeOpen()
  }

  /** Clears the hints, so that later ones count as new, and returns the roots to scan. */
  take(roots: ReadonlyArray<string>): { readonly cause: Cause; readonly roots: ReadonlyArray<string> } {
    const paths = [...this.#paths]
    const cause = this.#cause ?? "rescan"
    const isAll = cause !== "events" || paths.length >= most || roots.some((root) => isWithinAnother(root, roots))
    this.#paths = new Set()
    this.#cause = undefined
    this.#first = undefined
    this.#wake.unsafeClose()
    return { cause, roots: isAll ? roots : roots.filter((root) => paths.some((path) => isBelow(path, [root]))) }
  }
}

/** Nested paths are scanned together: alone, the outer one might skip what the inner one includes. */
const isWithinAnother = (root: string, roots: ReadonlyArray<string>): boolean =>
  roots.some((other) => other !== root && isBelow(root, [other]))
