import { type Mark, markAt, marksUpTo } from "../model/Locator.ts"
import type { Passage } from "../model/Passage.ts"

/** Speech within a minute is cited by its beginning. */
const minute = 60_000

/** Whether a passage may continue from one place to the next: across pages, but not across slides and sheets. */
const runsOn = (from: Mark | undefined, to: Mark): boolean => {
  const [a, b] = [from?.locator, to.locator]
  if (b === undefined || a?._tag !== b._tag) return a?._tag === b?._tag
  switch (a._tag) {
    case "Slide":
      return false
    case "Part":
      return a.part === (b as typeof a).part
    case "Sheet":
      return a.sheet === (b as typeof a).sheet
    case "Time":
      return (b as typeof a).time - a.time < minute
    case "Page":
    case "Cell":
      return true
  }
}

const ownHeading = /^#{1,6} (.*)/

const newlines = (text: string): number => text.split("\n").length - 1

/** Splits a passage at its places. */
const apart = (passage: Passage, marks: ReadonlyArray<Mark>): ReadonlyArray<Passage> => {
  const cuts: Array<number> = []
  let at = marksUpTo(marks, passage.start)
  let from = marks[at - 1]
  for (; at < marks.length && marks[at]!.start < passage.end; at++) {
    if (runsOn(from, marks[at]!)) continue
    from = marks[at]!
    cuts.push(from.start)
  }
  if (cuts.length === 0) return [passage]
  return [passage.start, ...cuts].flatMap((cut, i) => {
    const whole = passage.text.slice(cut - passage.start, (cuts[i] ?? passage.end) - passage.start)
    const text = whole.trim()
    if (text === "") return []
    const start = cut + whole.indexOf(text)
    const startLine = passage.startLine + newlines(passage.text.slice(0, start - passage.start))
    const heading = ownHeading.exec(text)?.[1]?.trim()
    return [
      {
        ...passage,
        text,
        start,
        end: start + text.length,
        startLine,
        endLine: startLine + newlines(text),
        heading:
          heading === undefined || passage.heading.at(-1) === heading ? passage.heading : [...passage.heading, heading]
      }
    ]
  })
}

/** The pieces of passages that overlap, without those whose text others have: in the order of their starts. */
const distinct = (pieces: ReadonlyArray<ReadonlyArray<Passage>>): ReadonlyArray<Passage> => {
  let covered = 0
  return pieces.flatMap((own, index) => {
    const next = pieces[index + 1]?.[0]?.start ?? Infinity
    return own.filter(({ end, start }) => {
      if (start >= next || end <= covered) return false
      covered = end
      return true
    })
  })
}

/** Passages of an extracted text, each with its place in the file; none crosses the boundary of a slide or sheet. */
export const located = (
  passages: ReadonlyArray<Passage>,
  marks: ReadonlyArray<Mark> | undefined
): ReadonlyArray<Passage> =>
  marks === undefined || marks.length === 0
    ? passages
    : distinct(passages.map((passage) => apart(passage, marks))).map((passage) => {
        const mark = markAt(marks, passage.start)
        const startLine = mark?.line ?? passage.startLine
        const endLine = mark?.line === undefined ? passage.endLine : (markAt(marks, passage.end - 1)?.line ?? startLine)
        return { ...passage, startLine, endLine: Math.max(startLine, endLine), locator: mark?.locator }
      })
