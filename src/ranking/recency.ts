import * as Effect from "effect/Effect"
import type { Recency } from "../model/Stored.ts"
import type { Snapshot } from "./Snapshot.ts"
import type { Fused } from "./fusion.ts"
import { type TieOrder, tied } from "./ties.ts"

const day = 86_400_000

/** A date or time in ISO 8601, also shortened: "2024", "2024-05", "2024-05-06", "2024-05-06T07:08:09Z". */
const iso =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?)?)?$/i

/** The offset of a time zone, in milliseconds; a time without one counts as UTC. */
const offsetOf = (zone: string | undefined): number => {
  if (zone === undefined || /^z$/i.test(zone)) return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(":", "") || 0)
  return (zone.startsWith("-") ? -1 : 1) * minutes * 60_000
}

const fromText = (text: string): number | undefined => {
  const found = iso.exec(text.trim())
  if (found === null) return undefined
  const [year, month = 1, date = 1, hours = 0, minutes = 0, seconds = 0] = found
    .slice(1, 7)
    .map((part) => (part === undefined ? undefined : Number(part)))
  const time = Date.UTC(year!, month - 1, date, hours, minutes, seconds)
  const told = new Date(time)
  // Rejects invalid dates and times, such as the 31st of June or 24 o'clock.
  const holds =
    told.getUTCFullYear() === year &&
    told.getUTCMonth() === month - 1 &&
    told.getUTCDate() === date &&
    told.getUTCHours() === hours &&
    told.getUTCMinutes() === minutes
  return holds ? time - offsetOf(found[7]) : undefined
}

/** Numbers from here on are milliseconds since the epoch, lower ones seconds, and those up to 9999 years. */
const milliseconds = 1e11

/**
 * The time in a metadata value, in milliseconds since the epoch: ISO 8601 text, a year, or seconds or milliseconds
 * since the epoch. Undefined for anything else, since "May 6" and 06/05/24 are ambiguous.
 */
export const timeOf = (value: unknown): number | undefined => {
  if (typeof value === "string") return fromText(value)
  if (typeof value !== "number" || !Number.isFinite(value) || value < 1000) return undefined
  if (value <= 9999) return Number.isInteger(value) ? Date.UTC(value, 0, 1) : undefined
  return value < milliseconds ? value * 1000 : value
}

/** Days from a time to now; a time in the future has age 0. */
export const ageInDays = (time: number, now: number): number => Math.max(0, (now - time) / day)

/** The share of its score that something of this age keeps: half after each half-life. */
export const decay = (ageDays: number, halfLifeDays: number): number => 0.5 ** (ageDays / halfLifeDays)

/** The age of a passage's document, and the change that it makes to the score, which is 0 or less. */
interface Aged {
  readonly ageDays: number
  readonly contribution: number
}

export type Ages = ReadonlyMap<number, Aged>

/**
 * The ranking with scores that fade with the document's age: after each half-life, half is left. A document without a
 * valid date, or with a date in the future, keeps its score. A score below 0 falls by as much as one above it.
 */
export const byRecency = Effect.fnUntraced(function* <E>(
  snapshot: Pick<Snapshot<E>, "metadata">,
  order: ReadonlyArray<Fused>,
  { halfLifeDays, key, now }: Recency,
  ties: TieOrder<E>,
  limit: number
) {
  const values = yield* snapshot.metadata(
    order.map((hit) => hit.id),
    key
  )
  const ages = new Map<number, Aged>()
  const aged = order.map((hit): Fused => {
    const time = timeOf(values.get(hit.id))
    if (time === undefined) return hit
    const ageDays = ageInDays(time, now)
    const contribution = -Math.abs(hit.score) * (1 - decay(ageDays, halfLifeDays))
    ages.set(hit.id, { ageDays, contribution })
    return { ...hit, score: hit.score + contribution }
  })
  aged.sort(ties.best)
  if (yield* ties.learn(tied(aged, limit))) aged.sort(ties.best)
  return { order: aged, ages: ages as Ages }
})
