import { type OwnFacet, facetLimits, type Facet, type FacetValue } from "../../model/Facets.ts"
import type { Filter } from "../../model/Filter.ts"
import { isGlob } from "./clauses.ts"

/** Numbers in the order in which they were added, four bytes each. */
export class Numbers {
  private all = new Uint32Array(1024)
  length = 0

  push(value: number): void {
    if (this.length === this.all.length) {
      const more = new Uint32Array(2 * this.length)
      more.set(this.all)
      this.all = more
    }
    this.all[this.length++] = value
  }

  get values(): Uint32Array {
    return this.all.subarray(0, this.length)
  }
}

type Value = FacetValue["value"]

/** The values of a facet that the documents of a connection have, each with a number. */
export interface Values {
  readonly size: number
  /** The best of what was counted, by the values' numbers. */
  readonly facet: (counts: Uint32Array) => Facet
}

/** Values that are made of a document's name and time. */
export interface OwnValues extends Values {
  /** The numbers of the values of a document. */
  readonly of: (name: string, indexedAt: number) => ReadonlyArray<number>
}

const isBefore = (a: Value, b: Value): boolean => (typeof a === typeof b ? a < b : typeof a < typeof b)

/** The values that were counted, most first, equal ones in the order of the values; filters only for those listed. */
const best = (counts: Uint32Array, valueOf: (number: number) => Value, filterOf: (number: number) => Filter): Facet => {
  // Few of many are listed: each is compared with the last of them, and sorted in only if it is before it.
  const listed: Array<{ readonly number: number; readonly value: Value; readonly count: number }> = []
  let found = 0
  for (const [number, count] of counts.entries()) {
    if (count === 0) continue
    found++
    const value = valueOf(number)
    const isAfter = (at: number) => {
      const other = listed[at]!
      return other.count > count || (other.count === count && isBefore(other.value, value))
    }
    if (listed.length === facetLimits.values) {
      if (isAfter(listed.length - 1)) continue
      listed.pop()
    }
    let at = listed.length
    while (at > 0 && !isAfter(at - 1)) at--
    listed.splice(at, 0, { number, value, count })
  }
  return {
    values: listed.map(({ count, number, value }) => ({ value, count, filter: filterOf(number) })),
    others: found - listed.length
  }
}

/** The facet of collections by how many of their documents match, most first. */
export const ofCollections = (counted: ReadonlyArray<FacetValue>): Facet => ({
  values: counted.toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)).slice(0, facetLimits.values),
  others: Math.max(0, counted.length - facetLimits.values)
})

/** Values with numbers, from 0. */
class Numbered<A> {
  readonly all: Array<A> = []
  private readonly numbers = new Map<A, number>()

  get size(): number {
    return this.all.length
  }

  numberOf(value: A): number {
    const known = this.numbers.get(value)
    if (known !== undefined) return known
    this.numbers.set(value, this.all.length)
    return this.all.push(value) - 1
  }
}

/** The values of a metadata key, which are numbered as they are read. */
export class MetadataValues extends Numbered<Value> implements Values {
  constructor(private readonly key: string) {
    super()
  }

  facet(counts: Uint32Array): Facet {
    return best(
      counts,
      (number) => this.all[number]!,
      (number) => ({ [this.key]: this.all[number]! })
    )
  }
}

const monthOf = (index: number): string =>
  `${String(Math.floor(index / 12)).padStart(4, "0")}-${String((index % 12) + 1).padStart(2, "0")}`

/** The months in which documents were indexed, in UTC. */
class Months extends Numbered<number> implements OwnValues {
  private last: readonly [time: number, numbers: ReadonlyArray<number>] = [NaN, []]

  of(_name: string, indexedAt: number): ReadonlyArray<number> {
    // Documents of one batch have the same time.
    if (this.last[0] === indexedAt) return this.last[1]
    const date = new Date(indexedAt)
    this.last = [indexedAt, [this.numberOf(12 * date.getUTCFullYear() + date.getUTCMonth())]]
    return this.last[1]
  }

  facet(counts: Uint32Array): Facet {
    return best(
      counts,
      (number) => monthOf(this.all[number]!),
      (number) => {
        const [from, to] = [0, 1].map((after) => `${monthOf(this.all[number]! + after)}-01T00:00:00Z`)
        return { indexed_at: { gte: from!, lt: to! } }
      }
    )
  }
}

const longestEnding = 10

const isLetter = (code: number): boolean => (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** The ending of a file's name before `end`: letters and digits after a dot, at least one letter; else undefined. */
export const endingBefore = (name: string, end: number): string | undefined => {
  let letters = 0
  for (let at = end - 1; at >= Math.max(0, end - longestEnding - 1); at--) {
    const code = name.charCodeAt(at)
    if (code === 46) return letters > 0 ? name.slice(at + 1, end) : undefined
    if (isLetter(code)) letters++
    else if (!isDigit(code)) return undefined
  }
  return undefined
}

/** The endings of files' names, also of those of which a document is one record, like `log.jsonl#12`. */
class Formats extends Numbered<string> implements OwnValues {
  /** How each ending is written, and whether records follow it. */
  private readonly written: Array<Set<string>> = []

  of(name: string): ReadonlyArray<number> {
    const found = new Set<number>()
    const add = (end: number, after: string) => {
      const ending = endingBefore(name, end)
      if (ending === undefined) return
      const number = this.numberOf(ending.toLowerCase())
      const written = (this.written[number] ??= new Set())
      written.add(`*.${ending}${after}`)
      found.add(number)
    }
    add(name.length, "")
    for (let at = name.indexOf("#"); at >= 0; at = name.indexOf("#", at + 1)) add(at, "#*")
    return [...found]
  }

  facet(counts: Uint32Array): Facet {
    return best(
      counts,
      (number) => this.all[number]!,
      (number) => {
        const globs = [...this.written[number]!]
        return { source: globs.length === 1 ? globs[0]! : globs }
      }
    )
  }
}

/** Folders below this many others are counted as one with theirs. */
const deepest = 32

/**
 * Folders, each with all that is below it; a folder's number is greater than that of the folder it is in. The first is that
 * of everything; the others have a slash at the end.
 */
class Folders extends Numbered<string> implements OwnValues {
  private readonly parents: Array<number> = [0]
  private readonly children: Array<Array<number>> = [[]]
  private last: readonly [folder: string, numbers: ReadonlyArray<number>] = ["", [this.numberOf("")]]

  of(name: string): ReadonlyArray<number> {
    const folder = name.slice(0, name.lastIndexOf("/") + 1)
    // Files of a folder mostly follow one another.
    if (folder !== this.last[0]) this.last = [folder, [this.numberWithin(folder)]]
    return this.last[1]
  }

  private numberWithin(folder: string): number {
    let parent = 0
    let depth = 0
    for (let at = folder.indexOf("/"); at >= 0 && depth < deepest; at = folder.indexOf("/", at + 1), depth++) {
      const number = this.numberOf(folder.slice(0, at + 1))
      if (number === this.parents.length) {
        this.parents.push(parent)
        this.children.push([])
        this.children[parent]!.push(number)
      }
      parent = number
    }
    return parent
  }

  facet(counts: Uint32Array): Facet {
    const below = counts.slice()
    for (let number = below.length - 1; number > 0; number--) below[this.parents[number]!]! += below[number]!
    const inhabited = (number: number) => this.children[number]!.filter((child) => below[child]! > 0)
    /** The deepest folder that holds all that a folder holds. */
    const narrowed = (number: number): number => {
      const [only, ...others] = inhabited(number)
      return only !== undefined && others.length === 0 && below[only] === below[number] ? narrowed(only) : number
    }
    const root = narrowed(0)
    const shown = inhabited(root).map(narrowed)
    const listed = new Uint32Array(below.length)
    for (const number of shown.length > 0 || root === 0 ? shown : [root]) listed[number] = below[number]!
    return best(
      listed,
      (number) => this.all[number]!.slice(0, -1) || "/",
      (number) => {
        const path = this.all[number]!
        return {
          // A name may have what a glob takes for any characters; by bytes, what is below a folder lies before this.
          source: isGlob(path) ? { gte: path, lt: `${path.slice(0, -1)}0` } : `${path}*`
        }
      }
    )
  }
}

/** Facets that are made of a document's name and time. */
export const ownValues: Readonly<Record<Exclude<OwnFacet, "collection">, () => OwnValues>> = {
  folder: () => new Folders(),
  format: () => new Formats(),
  indexed: () => new Months()
}
