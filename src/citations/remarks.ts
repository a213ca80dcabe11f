import type { Found } from "../model/Provenance.ts"
import type { ReadAs } from "../model/ReadAs.ts"

/** The conditions on passages and documents, in short. */
export const demandsOf = ({ fields = [], phrases = [], without = [] }: ReadAs): string =>
  [...phrases.map((phrase) => `with “${phrase}”`), ...without.map((text) => `without “${text}”`), ...fields].join(", ")

/** A sentence about what a search lacked, which names the leg if only one answered. */
export const shortfall = ({ degraded, mode }: Pick<Found, "degraded" | "mode">): string | undefined =>
  degraded === undefined || mode === "hybrid" || degraded.startsWith("reranker")
    ? degraded
    : `answered by ${mode} search only: ${degraded}`

/** A sentence on how a query with quotes, `-word` or `field:value` was read. */
export const asRead = ({ readAs }: Pick<Found, "readAs">): string | undefined => {
  if (readAs === undefined) return undefined
  if (readAs.as_words !== undefined) return `read as plain words: ${readAs.as_words}`
  const unread = readAs.unchecked === undefined ? "" : `; ${readAs.unchecked} passages with its words were not checked`
  return `read as: ${readAs.words} (${demandsOf(readAs)})${unread}`
}

/** A sentence on what else was searched for. */
export const besides = ({ alsoSearched }: Pick<Found, "alsoSearched">): string | undefined =>
  alsoSearched === undefined ? undefined : `also searched: ${alsoSearched.join(", ")}`

/** A sentence: only weak matches were found. */
export const weakOnly = "weak matches only: none of these is likely to answer"
