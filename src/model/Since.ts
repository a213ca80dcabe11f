import * as Schema from "effect/Schema"
import type { Filter } from "./Filter.ts"
import { mustBe } from "./kinds.ts"

const seconds = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const

const duration = /^(\d{1,5})([smhdw])$/
const date = /^\d{4}-\d\d-\d\d$/
const time = /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:?\d\d)?$/i

/** Whether the calendar has a day; JavaScript takes the 30th of February for the 2nd of March. */
const isDay = (text: string): boolean => {
  const at = Date.parse(text)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

/** The time that is meant, in milliseconds since 1970; NaN if none is. */
const timeOf = (text: string, now: number): number => {
  const [, count, unit] = duration.exec(text) ?? []
  if (count !== undefined) return now - Number(count) * seconds[unit as keyof typeof seconds] * 1000
  if (!isDay(text.slice(0, 10))) return NaN
  if (date.test(text)) return Date.parse(text)
  const [, local, zone = "Z"] = time.exec(text) ?? []
  return local === undefined ? NaN : Date.parse(`${local.replace(" ", "T")}${zone.toUpperCase()}`)
}

const description =
  "Only documents that are new or changed in the index since then: 2d (also s, m, h, w), or an ISO 8601 time, in UTC without a zone"

/** A time in the past: as a duration before now, or in ISO 8601; without a zone, in UTC. */
export const Since = Schema.String.pipe(
  Schema.filter((text) => !Number.isNaN(timeOf(text, 0))),
  Schema.annotations({
    identifier: "Since",
    description,
    jsonSchema: { type: "string", description },
    message: mustBe("since", "a duration like 90m, 12h, 2d or 3w, or a time like 2026-01-31 or 2026-01-31T18:00:00Z")
  })
)

/** A filter that also asks for documents indexed since then; to the second, so that repetitions find it known. */
export const indexedSince = (
  since: string | undefined,
  now: number,
  filter: Filter | undefined
): Filter | undefined => {
  if (since === undefined) return filter
  const recent: Filter = { indexed_at: { gte: Math.floor(timeOf(since, now) / 1000) * 1000 } }
  return filter === undefined || Object.keys(filter).length === 0 ? recent : { and: [filter, recent] }
}
