import type { Passage } from "./Passage.ts"
import { withoutPause } from "./withoutPause.ts"

type Rest = Pick<Passage, "locator" | "tableHeader">

/** Passages without their texts, which are in the document's content, packed into few objects. */
export interface PackedPassages {
  /** For each passage: start, end, start line, end line, and the index of its heading in `headings`. */
  readonly numbers: Int32Array
  readonly headings: ReadonlyArray<ReadonlyArray<string>>
  /** Rare fields of passages, by index. */
  readonly rest: ReadonlyMap<number, Rest>
}

const width = 5

/** Passages packed per step. */
const stretch = 1024

/**
 * Packs passages in steps: cloning the many small objects of a large document would block the threads on both sides.
 */
export function* packingPassages(passages: ReadonlyArray<Omit<Passage, "text">>): Generator<undefined, PackedPassages> {
  const numbers = new Int32Array(passages.length * width)
  const headings: Array<ReadonlyArray<string>> = []
  const rest = new Map<number, Rest>()
  const places = new Map<string, number>()
  let last: ReadonlyArray<string> | undefined
  let place = 0
  for (const [index, passage] of passages.entries()) {
    const { end, endLine, heading, locator, start, startLine, tableHeader } = passage
    if (locator !== undefined || tableHeader !== undefined) {
      rest.set(index, {
        ...(locator === undefined ? {} : { locator }),
        ...(tableHeader === undefined ? {} : { tableHeader })
      })
    }
    if (heading !== last) {
      const key = JSON.stringify(heading)
      place = places.get(key) ?? headings.push(heading) - 1
      places.set(key, place)
      last = heading
    }
    const at = index * width
    numbers[at] = start
    numbers[at + 1] = end
    numbers[at + 2] = startLine
    numbers[at + 3] = endLine
    numbers[at + 4] = place
    if (index % stretch === stretch - 1) yield
  }
  return { numbers, headings, rest }
}

export const packPassages = (passages: ReadonlyArray<Omit<Passage, "text">>): PackedPassages =>
  withoutPause(packingPassages(passages))

/** Calls `make` for each passage with its text from the content, and its ordinal. */
export const unpackPassages = <A>(
  content: string,
  { headings, numbers, rest }: PackedPassages,
  make: (passage: Passage, ordinal: number) => A
): Array<A> => {
  const passages: Array<A> = []
  for (let at = 0, ordinal = 0; at < numbers.length; at += width, ordinal++) {
    const start = numbers[at]!
    const end = numbers[at + 1]!
    const passage: Passage = {
      text: content.slice(start, end),
      heading: headings[numbers[at + 4]!]!,
      start,
      end,
      startLine: numbers[at + 2]!,
      endLine: numbers[at + 3]!
    }
    const more = rest.get(ordinal)
    passages.push(make(more === undefined ? passage : { ...passage, ...more }, ordinal))
  }
  return passages
}
