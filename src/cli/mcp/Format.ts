import * as Effect from "effect/Effect"

export type Table = Readonly<Record<string, unknown>>

/**
 * A kind of configuration file: how to add an entry to its text, remove it, and show it alone. Failures are messages.
 */
export interface Format {
  /** The content of a text; a blank text has none. */
  readonly read: (text: string) => Effect.Effect<Table, string>
  readonly set: (text: string, section: string, name: string, entry: Table) => Effect.Effect<string, string>
  readonly drop: (text: string, section: string, name: string) => Effect.Effect<string, string>
  readonly alone: (section: string, name: string, entry: Table) => Effect.Effect<string>
}

export const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const sectionIn = (root: Table, section: string): Table => {
  const inner = root[section]
  return isTable(inner) ? inner : {}
}

/** The content of an entry; empty if there is none. */
export const entryIn = (root: Table, section: string, name: string): Table => {
  const entry = sectionIn(root, section)[name]
  return isTable(entry) ? entry : {}
}

/** Whether there is an entry of this name. */
export const hasEntry = (root: Table, section: string, name: string): boolean =>
  Object.hasOwn(sectionIn(root, section), name)

export const withEntry = (root: Table, section: string, name: string, entry: Table): Table => ({
  ...root,
  [section]: { ...sectionIn(root, section), [name]: entry }
})

export const withoutEntry = (root: Table, section: string, name: string): Table => {
  if (!hasEntry(root, section, name)) return root
  const { [name]: _, ...others } = sectionIn(root, section)
  return { ...root, [section]: others }
}

export const attempt = <A>(run: () => A): Effect.Effect<A, string> =>
  Effect.try({ try: run, catch: (error) => (error as Error).message.split("\n")[0] ?? "" })
