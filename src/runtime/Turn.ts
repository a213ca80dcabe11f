import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Client from "./Client.ts"
import { FairQueue } from "./FairQueue.ts"

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
 * Runs up to `atOnce` effects at once, within each priority client by client, and first come, first served for each; waiting can be interrupted. Unlike a
 * semaphore's permit, a turn cannot be lost to an interruption: its holder is in a set, not in the result of a wait.
 */
export const makeTurns = (atOnce: number): Turns => {
  const kinds = {
    urgent: { most: atOnce, running: 0, waiting: new FairQueue<Place>() },
    patient: { most: Math.max(1, atOnce - 1), running: 0, waiting: new FairQueue<Place>() }
  }
  const { patient, urgent } = kinds

  const advance = (): void => {
    for (const kind of [urgent, patient]) {
      while (urgent.running + patient.running < atOnce && kind.running < kind.most) {
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
        Effect.flatMap(FiberRef.get(Client.current), (client) => {
          const me: Place = { begin: () => {}, hasBegun: false }
          kind.waiting.push(client, me)
          advance()
          const begun = Effect.async<void>((resume) => {
            if (me.hasBegun) resume(Effect.void)
            else me.begin = () => resume(Effect.void)
          })
          const leave = Effect.sync(() => {
            if (me.hasBegun) kind.running--
            else kind.waiting.delete(client, me)
            advance()
          })
          return Effect.ensuring(Effect.zipRight(restore(begun), restore(effect)), leave)
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
