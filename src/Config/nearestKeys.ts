import { nearest } from "../terms/nearest.ts"
import { type Key, keys, sections } from "./Keys.ts"
import { settable } from "./Env.ts"

const pathsNamed = (names: ReadonlyArray<string>, among: ReadonlyArray<Key>): ReadonlyArray<string> =>
  names.flatMap((name) => among.filter((key) => key.name === name).map((key) => key.path))

/** What an unknown key of a section, or without one, most likely means: in its own section first, then anywhere. */
export const nearestKeys = (section: string | undefined, name: string): ReadonlyArray<string> => {
  const own = keys.filter((key) => key.section === section)
  const here = nearest(
    name,
    own.map((key) => key.name)
  )
  if (here.length > 0) return pathsNamed(here, own)
  const anywhere = nearest(name, [...new Set(keys.map((key) => key.name))])
  return pathsNamed(anywhere, keys).slice(0, 3)
}

export const nearestSections = (name: string): ReadonlyArray<string> => nearest(name, sections)

export const nearestVariables = (variable: string): ReadonlyArray<string> => {
  const short = (variable: string) => variable.replace(/^CLEW_/, "")
  const byShort = new Map(settable.map((variable) => [short(variable), variable]))
  return nearest(short(variable), [...byShort.keys()]).map((name) => byShort.get(name) ?? name)
}
