import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import { afterwards } from "./afterwards.ts"

/** What waits, by who waits for it: each owner in turn, and what one owner waits for in its order. */
export class FairQueue<A> {
  private readonly waiting = new Map<string, Set<A>>()
  private count = 0

  get size(): number {
    return this.count
  }

  push(owner: string, item: A): void {
    const own = this.waiting.get(owner)
    if (own === undefined) this.waiting.set(owner, new Set([item]))
    else own.add(item)
    this.count++
  }

  /** Takes an item out; does nothing if it no longer waits. */
  delete(owner: string, item: A): void {
    const own = this.waiting.get(owner)
    if (own?.delete(item) !== true) return
    this.count--
    if (own.size === 0) this.waiting.delete(owner)
  }

  /** The next owner's first; undefined if nothing waits. */
  shift(): A | undefined {
    for (const [owner, own] of this.waiting) {
      for (const item of own) {
        this.delete(owner, item)
        // The owner's next turn comes after those of all others.
        if (own.size > 0) {
          this.waiting.delete(owner)
          this.waiting.set(owner, own)
        }
        return item
      }
    }
    return undefined
  }
}

/** The client that a fiber works for; queues let clients take turns. Work of the process itself has none. */
export const current: FiberRef.FiberRef<string> = FiberRef.unsafeMake("")

/** Runs an effect for a client. */
export const working =
  (client: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.locally(effect, current, client)

/** Runs an effect in its turn. */
export type Turn = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Two priorities for the same resource. */
export interface Turns {
  /** Before all waiting patient ones. */
  readonly urgent: Turn
  /** If several may run at once, one place stays free of these. */
  readonly patient: Turn
  /** How many are waiting or running. */
  readonly size: () => number
}

interface Place {
  begin: () => void
  hasBegun: boolean
}

/**
 * Runs up to `places` effects at once, within each priority client by client, and first come, first served for each; waiting can be interrupted. Unlike a
 * semaphore's permit, a turn cannot be lost to an interruption: its holder is in a set, not in the result of a wait.
 */
export const makeTurns = (places: number): Turns => {
  const kinds = {
    urgent: { most: places, running: 0, waiting: new FairQueue<Place>() },
    patient: { most: Math.max(1, places - 1), running: 0, waiting: new FairQueue<Place>() }
  }
  const { patient, urgent } = kinds

  const advance = (): void => {
    for (const kind of [urgent, patient]) {
      while (urgent.running + patient.running < places && kind.running < kind.most) {
        const place = kind.waiting.shift()
        if (place === undefined) break
        kind.running++
        place.hasBegun = true
        place.begin()
      }
    }
  }

  const turn =
    (kind: typeof urgent): Turn =>
    (effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.withFiberRuntime((fiber) => {
          const client = fiber.getFiberRef(current)
          const me: Place = { begin: () => {}, hasBegun: false }
          kind.waiting.push(client, me)
          advance()
          const begun = Effect.async<void>((resume) => {
            if (me.hasBegun) resume(Effect.void)
            else me.begin = () => resume(Effect.void)
          })
          // A place that is free costs no wait.
          return afterwards(me.hasBegun ? restore(effect) : Effect.zipRight(restore(begun), restore(effect)), () => {
            if (me.hasBegun) kind.running--
            else kind.waiting.delete(client, me)
            advance()
          })
        })
      )

  return {
    urgent: turn(urgent),
    patient: turn(patient),
    size: () => Object.values(kinds).reduce((sum, { running, waiting }) => sum + running + waiting.size, 0)
  }
}

/** One at a time. */
export const make = (): Turn => makeTurns(1).urgent
