/** The inside of an entry: where reading its entries begins, up to where it ends. */
export interface Inside {
  readonly read: Read
  readonly body: number
  /** Columns before YAML's entries. */
  readonly base: number
}

/** A key with its value, a list item, or an element. It ends where the next one begins. */
export interface Entry {
  /** Where it begins, including the comments above it. */
  readonly from: number
  /** Its key; several for a table with a dotted name; a number is its index in a list. */
  readonly key: ReadonlyArray<string> | number
  /** Where its value begins. */
  readonly value: number
  /** Undefined if it has no entries of its own. */
  readonly inside: Inside | undefined
}

/** The entries between `body` and `to`, in order, however broken the text is. Linear in the text that it reads. */
export type Read = (text: string, body: number, to: number, base: number) => Iterable<Entry>

/** Keys whose value identifies an item of a list. */
const labels: ReadonlyArray<string> = ["name", "title", "id", "key", "label", "slug", "kind"]

/** Entries searched for a label, and the most characters of a label. */
const lookedAt = 12
const longest = 80

const plain = (text: string): string => {
  const line = (/^[^\r\n]*/.exec(text)?.[0] ?? "").trim().replace(/,$/, "").trim()
  const quoted = /^"([^"\\]*)"/.exec(line) ?? /^'([^']*)'/.exec(line)
  return quoted?.[1] ?? (/^[[{"'&*|>]/.test(line) ? "" : line)
}

/** The label of an item without a key, from its own first entries: `name`, `title` and similar. */
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
