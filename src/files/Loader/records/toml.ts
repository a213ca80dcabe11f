import type { Entry } from "../../../entries/Entry.ts"
import { tomlEntries } from "../../../entries/toml.ts"

/** The name of the list that a table belongs to, as in `[[posts]]`. */
const listName = ({ key }: Entry): string | undefined =>
  typeof key !== "number" && key.length === 2 && /^\[\d+\]$/.test(key[1]!) ? key[0] : undefined

/** The tables of a file that is one list; undefined if it contains anything else. */
export const tomlList = (text: string): ReadonlyArray<Entry> | undefined => {
  const entries = [...tomlEntries(text, 0, text.length)]
  const name = entries[0] === undefined ? undefined : listName(entries[0])
  if (name === undefined) return undefined
  // A record's own tables, as in `[posts.place]`, belong to it.
  if (entries.some(({ key }) => typeof key === "number" || key[0] !== name)) return undefined
  return entries.filter((entry) => listName(entry) === name)
}

/** The only item of a list that was parsed alone. */
export const onlyItem = (parsed: unknown): unknown => {
  const [list] = Object.values(parsed as Readonly<Record<string, unknown>>)
  return Array.isArray(list) ? list[0] : undefined
}
