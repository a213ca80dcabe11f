import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Embedder } from "../Embedder.ts"
import type { Passage, Vector } from "../model/Passage.ts"
import { embeddedText } from "../text/embedded.ts"

/** Texts handed to an embedder at once: those of a long document are as long as it is, once more. */
const window = 2048

/** What is embedded of each document, in order. */
export function* textsOf(
  drafts: ReadonlyArray<{ readonly title?: string | undefined }>,
  cut: ReadonlyArray<ReadonlyArray<Passage>>
): Generator<string> {
  for (const [index, { title }] of drafts.entries()) {
    for (const passage of cut[index]!) yield embeddedText(title, passage)
  }
}

/** A vector for each text, in order; those that are known are not embedded again. */
export const embedAll = Effect.fnUntraced(function* (
  { embedPassages }: typeof Embedder.Service,
  texts: Iterator<string>,
  known: ReadonlyMap<string, Vector>
) {
  const vectors: Array<Option.Option<Vector>> = []
  for (;;) {
    const some: Array<string> = []
    while (some.length < window) {
      const next = texts.next()
      if (next.done === true) break
      some.push(next.value)
    }
    const unknown = some.filter((text) => !known.has(text))
    const embedded = unknown.length === 0 ? [] : yield* embedPassages(unknown)
    let at = 0
    for (const text of some) {
      const kept = known.get(text)
      vectors.push(kept === undefined ? (embedded[at++] ?? Option.none()) : Option.some(kept))
    }
    if (some.length < window) return vectors
  }
})
