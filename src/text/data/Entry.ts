/** What holds entries: where reading them begins, up to where the entry that holds them ends. */
export interface Inside {
  readonly read: Read
  readonly body: number
  /** Columns before YAML's entries. */
  readonly base: number
}

/** A key with its value, an item of a list, an element. It goes on until the next one begins. */
export interface Entry {
  /** Where it begins, with the comments above it. */
  readonly from: number
  /** Its key; several for a table whose name has parts; a number is its place in a list. */
  readonly key: ReadonlyArray<string> | number
  /** Where its value begins. */
  readonly value: number
  /** Nothing for what has no entries of its own. */
  readonly inside: Inside | undefined
}

/** The entries between `body` and `to`, in order, however broken the text is. Linear in what it reads. */
export type Read = (text: string, body: number, to: number, base: number) => Iterable<Entry>

/** Keys by whose value a thing in a list is known. */
const labels: ReadonlyArray<string> = ["name", "title", "id", "key", "label", "slug", "kind"]

/** Entries looked at for a label, and the characters it may have. */
const lookedAt = 12
const longest = 80

const plain = (text: string): string => {
  const line = (/^[^\r\n]*/.exec(text)?.[0] ?? "").trim().replace(/,$/, "").trim()
  const quoted = /^"([^"\\]*)"/.exec(line) ?? /^'([^']*)'/.exec(line)
  return quoted?.[1] ?? (/^[[{"'&*|>]/.test(line) ? "" : line)
}

/** What a thing without a key is called by its own first entries: `name`, `title` and their like. */
export const labelOf = (text: string, { base, body, read }: Inside, to: number): string | undefined => {
  let best = labels.length
  let found: string | undefined
  let count = 0
  let open: Entry | undefined
  const look = (end: number) => {
    if (open === undefined || open.inside !== undefined || typeof open.key === "number") return
    const rank = labels.indexOf(open.key.at(-1)?.toLowerCase() ?? "")
    const value = rank < 0 || rank >= best ? "" : plain(text.slice(open.value, Math.min(end, open.value + 2 * longest)))
    if (value === "" || value.length > longest) return
    best = rank
    found = value
  }
  for (const entry of read(text, body, to, base)) {
    look(entry.from)
    open = entry
    if (++count > lookedAt) return found
  }
  look(to)
  return found
}
