import * as Effect from "effect/Effect"
import { isBelow } from "../../text/below.ts"
import type { Cause } from "../WatchEvent.ts"

/** Paths that are told apart; where more are waiting, everything is looked at. */
const most = 10_000

/** What has been told of changes since the last scan began. */
export class Hints {
  readonly #wake = Effect.unsafeMakeLatch(false)
  readonly #isOwn: (path: string) => boolean
  #paths = new Set<string>()
  #cause: Cause | undefined
  #first: number | undefined
  #last = 0

  /** `isOwn` tells the program's own files, whose changes are its own doing. */
  constructor(isOwn: (path: string) => boolean) {
    this.#isOwn = isOwn
  }

  get waiting(): number {
    return this.#paths.size
  }

  /** Waits until there is something to look at. */
  get any(): Effect.Effect<void> {
    return this.#wake.await
  }

  get isQuiet(): boolean {
    return this.#first === undefined
  }

  /** When to begin: after a while of quiet, but no later than `maxWaitMs` after the first hint. */
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

  /** Changes may have gone unseen, anywhere. */
  addAll(now: number): void {
    this.#note("lost", now)
  }

  #note(cause: Cause, now: number): void {
    this.#cause = cause
    this.#first ??= now
    this.#last = now
    this.#wake.unsafeOpen()
  }

  /** Empties itself, for what comes while it is worked on to count as new. Gives those of the roots to look at. */
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

/** Paths that lie within each other are looked at together: by itself the outer one might leave out what is in the inner. */
const isWithinAnother = (root: string, roots: ReadonlyArray<string>): boolean =>
  roots.some((other) => other !== root && isBelow(root, [other]))
