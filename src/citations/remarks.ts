import type { Found, Hit, ReadAs } from "../model/SearchResult.ts"

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

/** A sentence about results whose files have changed since they were indexed, or are gone. */
export const outdated = ({ hits }: { readonly hits: ReadonlyArray<Hit> }): string | undefined => {
  const filesThat = (are: Hit["stale"]) =>
    new Set(hits.flatMap(({ document, stale }) => (stale === are ? [document.file?.path] : []))).size
  const files = (count: number) => (count === 1 ? "1 file" : `${count} files`)
  const [changed, gone] = [filesThat("changed"), filesThat("gone")]
  const said = [
    ...(changed === 0 ? [] : [`${files(changed)} changed since being indexed`]),
    ...(gone === 0 ? [] : [`${files(gone)} no longer ${gone === 1 ? "exists" : "exist"}`])
  ]
  return said.length === 0 ? undefined : said.join(", ")
}

/** The path by which the graph led to a passage. */
export const way = (via: NonNullable<Hit["via"]>): string =>
  via.map(({ entity, source }) => `${entity} (${source ?? "in the query"})`).join(", ")
