import { type Entry, type Inside, labelOf } from "../../entries/Entry.ts"
import { jsonEntries } from "../../entries/json.ts"
import { tomlEntries } from "../../entries/toml.ts"
import { xmlEntries } from "../../entries/xml.ts"
import { yamlFile } from "../../entries/yaml.ts"
import { cut, fits, type Measure, type Unit } from "./unit.ts"
import type { PassageSink } from "./passages.ts"
import { addProse, addSpan } from "./prose.ts"
import { skipSpace, trimEnd } from "../../entries/scanning.ts"

/** Deeper nested entries are treated as plain text. */
const deepest = 40

/** Most small neighbours held at once. */
const most = 2000

interface Placed {
  readonly start: number
  readonly end: number
  readonly tokens: number
  readonly entry: Entry
}

const outermost = (text: string, language: string | undefined): Inside | undefined => {
  switch (language) {
    case "yaml":
    case "yml":
      return yamlFile(text)
    case "toml":
      return { read: tomlEntries, body: 0, base: 0 }
    default: {
      const body = skipSpace(text, 0, text.length)
      if (text.charAt(body) === "<") return { read: xmlEntries, body, base: 0 }
      const first = text.slice(body).search(/[[{]/)
      return first < 0 ? undefined : { read: jsonEntries, body: body + first, base: 0 }
    }
  }
}

/**
 * Cuts JSON, YAML, TOML and XML at their entries, each passage under the keys that lead to it. An object or list of a
 * quarter of a passage or more gets its own passages; smaller neighbours are packed together, and a larger one is cut
 * at its own entries. Text outside any entry, and the rest of broken files, is cut as text.
 */
export const addData = (m: Measure, language: string | undefined, sink: PassageSink): void => {
  const { text } = m

  const namesOf = ({ inside, key }: Entry, to: number): ReadonlyArray<string> => {
    if (typeof key !== "number") return key.filter((part) => part !== "")
    const label = inside === undefined ? undefined : labelOf(text, inside, to)
    return [label === undefined ? `[${key}]` : `[${key}] ${label}`]
  }

  const cutText = (start: number, end: number, path: ReadonlyArray<string>): void => {
    const units: Array<Unit> = []
    addProse(m, units, { start, end, flow: 1 })
    sink.add(units, () => path)
  }

  const cutInside = (from: number, to: number, inside: Inside, path: ReadonlyArray<string>, depth: number): void => {
    let run: Array<Placed> = []
    let held = 0
    const emit = () => {
      if (run.length === 0) return
      const units: Array<Unit> = []
      for (const { end, entry, start, tokens } of run)
        addSpan(m, units, { start, end, cut: entry.inside === undefined ? cut.line : cut.block, flow: 0, tokens })
      sink.add(units, headingOf(run, path, namesOf))
      run = []
      held = 0
    }
    const place = (entry: Entry, from: number, to: number): void => {
      const end = trimEnd(text, from, to)
      const start = skipSpace(text, from, end)
      if (start === end) return
      const tokens = end - start > m.width ? Infinity : m.count(start, end)
      if (fits(m, tokens, start, end)) {
        const isLarge = entry.inside !== undefined && tokens >= m.size / 4
        if ((isLarge && held >= m.size / 8) || run.length === most) emit()
        run.push({ start, end, tokens, entry })
        held += tokens
        if (isLarge) emit()
        return
      }
      // A little text before it joins it.
      const first = run.length > 0 && held < m.size / 8 ? run[0]!.start : start
      if (first === start) emit()
      else {
        run = []
        held = 0
      }
      const names = [...path, ...namesOf(entry, to)]
      if (entry.inside === undefined || depth === deepest) cutText(first, end, names)
      else cutInside(first, to, entry.inside, names, depth + 1)
    }
    let open: Entry | undefined
    let begins = from
    for (const entry of inside.read(text, inside.body, to, inside.base)) {
      if (open !== undefined) {
        place(open, begins, entry.from)
        begins = entry.from
      } else if (entry.from - from > m.width / 4) {
        cutText(from, entry.from, path)
        begins = entry.from
      }
      open = entry
    }
    if (open === undefined) cutText(from, to, path)
    else place(open, begins, to)
    emit()
  }

  const all = outermost(text, language)
  if (all === undefined) cutText(0, text.length, [])
  else cutInside(0, text.length, all, [], 0)
}

/** Beside what holds all of them, the one entry that makes up half of a span or more. Asked for in order. */
const headingOf = (
  run: ReadonlyArray<Placed>,
  path: ReadonlyArray<string>,
  namesOf: (entry: Entry, to: number) => ReadonlyArray<string>
) => {
  let first = 0
  return (start: number, end: number): ReadonlyArray<string> => {
    while (first < run.length - 1 && run[first]!.end <= start) first++
    for (let at = first; at < run.length && run[at]!.start < end; at++) {
      const placed = run[at]!
      const share = Math.min(end, placed.end) - Math.max(start, placed.start)
      if (share * 2 >= end - start) return [...path, ...namesOf(placed.entry, placed.end)]
    }
    return path
  }
}
