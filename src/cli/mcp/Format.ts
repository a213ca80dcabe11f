import * as Effect from "effect/Effect"

export type Table = Readonly<Record<string, unknown>>

/** A kind of configuration file: how an entry is put into its text, taken out, and shown alone. Failures are in words. */
export interface Format {
  /** What a text says; a blank one says nothing. */
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

/** What an entry says; nothing where there is none. */
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
