import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Embedder } from "../Embedder.ts"
import type { Passage, Vector } from "../model/Passage.ts"
import { embeddedText } from "../chunking/embedded.ts"

/** Texts passed to the embedder at once; all texts of a long document would need its size in memory again. */
const window = 2048

/** The texts to embed of each document, in order. */
export function* textsOf(
  drafts: ReadonlyArray<{ readonly title?: string | undefined }>,
  cut: ReadonlyArray<ReadonlyArray<Passage>>,
  making?: number
): Generator<string> {
  for (const [index, { title }] of drafts.entries()) {
    for (const passage of cut[index]!) yield embeddedText(title, passage, making)
  }
}

/** Names a text of the sequence by its document and lines. */
export const placesOf =
  (
    drafts: ReadonlyArray<{ readonly source?: string | undefined; readonly origin?: string | undefined }>,
    cut: ReadonlyArray<ReadonlyArray<Passage>>
  ) =>
  (at: number): string => {
    let left = at
    for (const [index, { origin, source }] of drafts.entries()) {
      const passage = cut[index]![left]
      if (passage === undefined) {
        left -= cut[index]!.length
        continue
      }
      const lines = `${passage.startLine}${passage.endLine > passage.startLine ? `-${passage.endLine}` : ""}`
      return `${source ?? origin ?? "a document"}:${lines}`
    }
    return "a document"
  }

/**
 * A vector for each text, in order; known ones are not embedded again. Truncated and refused texts are logged with file
 * and lines.
 */
export const embedAll = Effect.fnUntraced(function* (
  { embedPassages }: typeof Embedder.Service,
  texts: Iterator<string>,
  known: ReadonlyMap<string, Vector>,
  placeOf: (at: number) => string
) {
  const vectors: Array<Option.Option<Vector>> = []
  for (;;) {
    const some: Array<string> = []
    while (some.length < window) {
      const next = texts.next()
      if (next.done === true) break
      some.push(next.value)
    }
    const first = vectors.length
    const places = some.flatMap((text, index) => (known.has(text) ? [] : [first + index]))
    const unknown = some.filter((text) => !known.has(text))
    const told = (index: number, what: string) => Effect.logWarning(`${placeOf(places[index]!)}: ${what}`)
    const embedded = unknown.length === 0 ? [] : yield* embedPassages(unknown, told)
    let at = 0
    for (const text of some) {
      const kept = known.get(text)
      vectors.push(kept === undefined ? (embedded[at++] ?? Option.none()) : Option.some(kept))
    }
    if (some.length < window) return vectors
  }
})
