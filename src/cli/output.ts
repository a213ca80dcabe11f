import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { stripVTControlCharacters } from "node:util"
import { escaped, Terminal } from "./terminal.ts"
import { Place } from "./engine.ts"
import { exitCode, stop, usage } from "./exit.ts"

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
export const printResult = <A, I, E = never, R = never>(
  schema: Schema.Schema<A, I>,
  value: A,
  text: string | Effect.Effect<string, E, R>
) =>
  Effect.gen(function* () {
    const { globals } = yield* Place
    if (globals.json) return yield* printJson(schema, value)
    const { print } = yield* Terminal
    yield* print(typeof text === "string" ? text : yield* text)
  })

const units = ["B", "KB", "MB", "GB", "TB"] as const

/** 1,234,567 bytes as "1.2 MB". */
export const bytesText = (bytes: number): string => {
  let value = bytes
  let unit = 0
  for (; unit < units.length - 1 && Math.round(value) >= 1000; unit++) value /= 1000
  return `${unit === 0 ? value : value.toFixed(value < 9.95 ? 1 : 0)} ${units[unit]}`
}

/** 1234567 as "1,234,567". To make a formatter takes as long as to read a hundred documents. */
export const numberText = (value: number): string =>
  Math.abs(value) < 1000
    ? String(value)
    : `${numberText(Math.trunc(value / 1000))},${String(Math.abs(value % 1000)).padStart(3, "0")}`

/** "1 file", "2 files". */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${numberText(value)} ${value === 1 ? one : many}`

/** Milliseconds as "0.4 s", "1 m 20 s" or "2 h 5 m". */
export const durationText = (ms: number): string => {
  const seconds = ms / 1000
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`
  const whole = Math.max(60, Math.floor(seconds))
  const minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes} m ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`
}

/** No lines around a table's cells, two blanks between them. */
const edges = ["top", "bottom", "left", "right", "mid"]
const chars = Object.fromEntries([
  ...[...edges, ...edges.flatMap((edge) => [`${edge}-mid`, `${edge}-left`, `${edge}-right`])].map((name) => [name, ""]),
  ["middle", "  "]
])

/** Rows under the names of their columns; numbers end at one edge. The library is loaded only where it draws. */
export const drawn = (names: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  Effect.map(
    Effect.promise(() => import("cli-table3")),
    ({ default: Table }) => {
      const isNumbers = (column: number) =>
        rows.every((row) => /^[\d.,]+$/.test(stripVTControlCharacters(row[column] ?? "")))
      const table = new Table({
        head: [...names],
        colAligns: names.map((_, column) => (isNumbers(column) ? "right" : "left")),
        chars,
        style: { "padding-left": 0, "padding-right": 0, head: [], border: [] }
      })
      table.push(...rows.map((row) => [...row]))
      return table.toString()
    }
  )

/** Continues if `--yes` is given or the user agrees; without a terminal, `--yes` is required. */
export const confirmed = Effect.fnUntraced(function* (question: string, yes: boolean) {
  if (yes) return
  const { confirm, isInteractive, note } = yield* Terminal
  if (!isInteractive) return yield* usage(`cannot ask without a terminal: ${question} Use --yes to agree`)
  if (yield* confirm(question)) return
  yield* note("clew: nothing was changed")
  return yield* stop(exitCode.failed)
})
