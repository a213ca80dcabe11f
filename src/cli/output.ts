import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { escaped } from "./harmless.ts"
import { Place } from "./place.ts"
import { Terminal } from "./terminal.ts"

/** A result as JSON: on one line, or indented in a terminal. */
export const printJson = <A, I>(schema: Schema.Schema<A, I>, value: A) =>
  Effect.gen(function* () {
    const { out, print } = yield* Terminal
    yield* print(escaped(JSON.stringify(Schema.encodeSync(schema)(value), null, out.isTerminal ? 2 : undefined)))
  })

/** A value as JSON on a line of its own, for a stream of them. */
export const printLine = <A, I>(schema: Schema.Schema<A, I>, value: A) =>
  Effect.flatMap(Terminal, ({ print }) => print(escaped(JSON.stringify(Schema.encodeSync(schema)(value)))))

/** A result as JSON with `--json`, else as text for people. */
export const printResult = <A, I, E, R>(schema: Schema.Schema<A, I>, value: A, text: Effect.Effect<string, E, R>) =>
  Effect.gen(function* () {
    const { globals } = yield* Place
    if (globals.json) return yield* printJson(schema, value)
    const { print } = yield* Terminal
    yield* print(yield* text)
  })

const units = ["B", "KB", "MB", "GB", "TB"] as const

/** 1,234,567 bytes as "1.2 MB". */
export const bytesText = (bytes: number): string => {
  const power = Math.min(units.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`
}

const grouped = new Intl.NumberFormat("en-US")

/** 1234567 as "1,234,567". */
export const numberText = (value: number): string => grouped.format(value)

/** "1 file", "2 files". */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${numberText(value)} ${value === 1 ? one : many}`

/** Milliseconds as "0.4 s", "1 m 20 s" or "2 h 5 m". */
export const durationText = (ms: number): string => {
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} m ${Math.floor(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`
}
