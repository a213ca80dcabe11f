import * as Effect from "effect/Effect"
import { attempt, type Format, isTable, type Table } from "./Format.ts"

/** A bare key if TOML allows it, else a quoted one. */
const key = (name: string): string => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))

const headerOf = (section: string, name: string) => `[${section}.${key(name)}]`

/** The table that a line opens, without quotes and comments, if any. */
const opened = (line: string): string | undefined =>
  /^\s*\[/.test(line) ? line.replace(/["'\s]/g, "").split("#")[0] : undefined

/** The first and last of a table's own lines; -1 if there is no such table. */
const linesOf = (lines: ReadonlyArray<string>, header: string): readonly [first: number, next: number] => {
  const bare = header.replace(/["'\s]/g, "")
  const first = lines.findIndex((line) => opened(line) === bare)
  const next = lines.findIndex((line, index) => index > first && opened(line) !== undefined)
  return [first, next === -1 ? lines.length : next]
}

const library = Effect.promise(() => import("smol-toml"))

export const toml: Format = {
  // Dates and tables become JSON values, so that they compare.
  read: (text) =>
    Effect.flatMap(library, ({ parse }) => attempt(() => JSON.parse(JSON.stringify(parse(text))) as Table)),
  set: (text, section, name, entry) =>
    Effect.map(library, ({ stringify }) => {
      const own = Object.fromEntries(Object.entries(entry).filter(([, value]) => !isTable(value)))
      const header = headerOf(section, name)
      const block = `${header}\n${stringify(own).trimEnd()}\n`
      const lines = text.split("\n")
      const [first, next] = linesOf(lines, header)
      return first === -1
        ? `${text.trimEnd()}${text.trim() === "" ? "" : "\n\n"}${block}`
        : [...lines.slice(0, first), ...block.split("\n"), ...lines.slice(next)].join("\n")
    }),
  drop: (text, section, name) =>
    Effect.sync(() => {
      const own = headerOf(section, name).replace(/["'\s]/g, "")
      const inner = `${own.slice(0, -1)}.`
      let within = false
      const kept = text.split("\n").filter((line) => {
        const header = opened(line)
        if (header !== undefined) within = header === own || header.replace(/^\[+/, "[").startsWith(inner)
        return !within
      })
      const left = kept.join("\n").trimEnd()
      return left === "" ? "" : `${left}\n`
    }),
  alone: (section, name, entry) =>
    Effect.map(library, ({ stringify }) => `${headerOf(section, name)}\n${stringify(entry).trimEnd()}`)
}
