import type { StoredDocument } from "../../model/Stored.ts"

type Passage = StoredDocument["passages"][number]

/** A document without its passages' texts, which its content holds, and with what is left of them in few pieces. */
export interface PackedDocument extends Omit<StoredDocument, "passages"> {
  readonly passages: {
    /** Of each passage the ordinal, start, end, start line, end line, and place of its heading in `headings`. */
    readonly numbers: Int32Array
    readonly headings: ReadonlyArray<Passage["heading"]>
    /** What few passages have, by their places. */
    readonly rest: ReadonlyMap<number, Pick<Passage, "locator" | "tableHeader">>
  }
}

const width = 6

/** A large document's passages are many small objects, and cloning those stops the thread that receives them. */
export const packDocument = ({ passages, ...document }: StoredDocument): PackedDocument => {
  const numbers = new Int32Array(passages.length * width)
  const headings: Array<Passage["heading"]> = []
  const rest = new Map<number, Pick<Passage, "locator" | "tableHeader">>()
  const places = new Map<string, number>()
  for (const [index, passage] of passages.entries()) {
    const { end, endLine, heading, locator, ordinal, start, startLine, tableHeader } = passage
    if (locator !== undefined || tableHeader !== undefined) {
      rest.set(index, {
        ...(locator === undefined ? {} : { locator }),
        ...(tableHeader === undefined ? {} : { tableHeader })
      })
    }
    const key = JSON.stringify(heading)
    let place = places.get(key)
    if (place === undefined) {
      place = headings.push(heading) - 1
      places.set(key, place)
    }
    numbers.set([ordinal, start, end, startLine, endLine, place], index * width)
  }
  return { ...document, passages: { numbers, headings, rest } }
}

export const unpackDocument = ({
  passages: { headings, numbers, rest },
  ...document
}: PackedDocument): StoredDocument => {
  const passages: Array<Passage> = []
  for (let at = 0; at < numbers.length; at += width) {
    const start = numbers[at + 1]!
    const end = numbers[at + 2]!
    passages.push({
      ordinal: numbers[at]!,
      text: document.content.slice(start, end),
      heading: headings[numbers[at + 5]!]!,
      start,
      end,
      startLine: numbers[at + 3]!,
      endLine: numbers[at + 4]!,
      ...rest.get(at / width)
    })
  }
  return { ...document, passages }
}
