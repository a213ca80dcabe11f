import { createHash } from "node:crypto"
import { type Comparison, type Filter, type Range, type Scalar, isScalar } from "../../model/Filter.ts"
import { limits } from "../../model/Limits.ts"
import {
  boundsOf,
  type Clause,
  compiled,
  isGlob,
  kindOf,
  sortable,
  timeBound,
  timesOf,
  unsortable
} from "../core/clauses.ts"

/** A query of OpenSearch. */
export type Query = Readonly<Record<string, unknown>>

/** Nothing that a filter names is longer, so that of longer values the beginning is enough; a term takes 32,766 bytes. */
const longest = 2 * limits.filter.characters + 1

/** A text as a term: longer ones by their beginning, which no filter equals. */
export const term = (text: string): string => text.slice(0, longest)

/** Finds documents' heads: their index has records of files and of sources too. */
export const isHead: Query = { term: { kind: "document" } }

const none: Query = { match_none: {} }
const every: Query = { match_all: {} }

const any = (queries: ReadonlyArray<Query>): Query =>
  queries.length === 0
    ? none
    : queries.length === 1
      ? queries[0]!
      : { bool: { should: queries, minimum_should_match: 1 } }

export const all = (queries: ReadonlyArray<Query>): Query =>
  queries.length === 0 ? every : queries.length === 1 ? queries[0]! : { bool: { filter: queries } }

export const not = (query: Query): Query => ({ bool: { must_not: [query] } })

const longestKey = 1000

/** A key as the beginning of its terms, without a zero byte, which ends it. */
const keyTerm = (key: string): string =>
  key.length > longestKey
    ? `\u0001#${createHash("sha256").update(key).digest("hex")}`
    : key.replaceAll("\u0001", "\u00011").replaceAll("\0", "\u00010")

const valueTerm = (value: Scalar): string => (typeof value === "number" ? sortable(value) : term(String(value)))

/** A value of a metadata key as a term. */
const metaTerm = (key: string, value: Scalar): string => `${keyTerm(key)}\0${kindOf(value)}\0${valueTerm(value)}`

/** The value that `metaTerm` made a term of, and its key; of a long text, its beginning. */
export const readTerm = (made: string): Scalar => {
  const at = made.indexOf("\0")
  const [kind, value] = [made[at + 1], made.slice(at + 3)]
  if (kind === "s") return value
  return kind === "b" ? value === "true" : unsortable(value)
}

const special = /[.?+*|{}[\]()"\\#@&<>~^$-]/g

/** A pattern of Lucene for terms that begin so. */
export const beginning = (text: string): string => `${text.replace(special, "\\$&")}(.|\n)*`

/** The terms of a metadata key's values begin so. */
export const keyPattern = (key: string): string => beginning(`${keyTerm(key)}\0`)

/** By what documents with these metadata are found: their keys, and each scalar or each scalar of a list. */
export const metadataTerms = (metadata: Readonly<Record<string, unknown>>) => ({
  keys: Object.keys(metadata).map(term),
  meta: [
    ...new Set(
      Object.entries(metadata).flatMap(([key, value]) =>
        [value]
          .flat()
          .filter(isScalar)
          .map((scalar) => metaTerm(key, scalar))
      )
    )
  ]
})

/** Whether a term comes after another, by code points. */
const isAfter = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0

/** All bounds hold for the same value of a list, which one query over its terms is; it takes one bound a side. */
const metaRange = (key: string, range: Range): Query => {
  const bounds = boundsOf(range)
  const [kind, ...others] = new Set(bounds.map(({ bound }) => kindOf(bound)))
  if (kind === undefined || others.length > 0) return none
  const begin = `${keyTerm(key)}\0${kind}`
  let [low, high] = [
    { operator: "gte", value: `${begin}\0` },
    { operator: "lt", value: `${begin}\u0001` }
  ]
  for (const { bound, operator } of bounds) {
    const value = metaTerm(key, bound)
    const isStrict = operator.length === 2
    if (operator[0] === "g") {
      if (isAfter(value, low.value) || (value === low.value && isStrict)) low = { operator, value }
    } else if (isAfter(high.value, value) || (value === high.value && isStrict)) high = { operator, value }
  }
  return { range: { meta: { [low.operator]: low.value, [high.operator]: high.value } } }
}

const onMetadata = (key: string, comparison: Comparison): Query =>
  isScalar(comparison) || Array.isArray(comparison)
    ? { terms: { meta: [comparison].flat().map((value) => metaTerm(key, value as Scalar)) } }
    : metaRange(key, comparison as Range)

/** `*` and `?` mean the same to Lucene, which escapes by a backslash. Stars in a row would multiply its automaton's states. */
const wildcard = (field: string, pattern: string): Query => ({
  wildcard: { [field]: { value: pattern.replaceAll("\\", "\\\\").replace(/\*+/g, "*") } }
})

/** Names that contain a text, whatever the case. */
export const containing = (text: string): Query => ({
  wildcard: { name_lower: { value: `*${text.toLowerCase().replace(/[*?\\]/g, "\\$&")}*` } }
})

const onText = (field: string, comparison: Comparison, glob: boolean): Query => {
  if (isScalar(comparison) || Array.isArray(comparison)) {
    const texts = [comparison].flat().filter((value): value is string => typeof value === "string")
    const globs = glob ? texts.filter(isGlob) : []
    return any([
      ...(texts.length === 0 ? [] : [{ terms: { [field]: texts.map(term) } }]),
      ...globs.map((pattern) => wildcard(field, pattern))
    ])
  }
  const bounds = boundsOf(comparison as Range)
  return all(
    bounds.map(({ bound, operator }) =>
      typeof bound === "string" ? { range: { [field]: { [operator]: term(bound) } } } : none
    )
  )
}

const onTime = (comparison: Comparison): Query =>
  isScalar(comparison) || Array.isArray(comparison)
    ? { terms: { indexed_at: timesOf(comparison) } }
    : all(
        boundsOf(comparison as Range).map(({ bound, operator }) => ({
          range: { indexed_at: { [operator]: timeBound(operator, bound) } }
        }))
      )

const clauseQuery = (key: string, { comparison }: Clause): Query => {
  if (comparison === undefined) {
    if (key === "source") return { term: { has_source: true } }
    if (key === "doc_id" || key === "indexed_at") return every
    return key === "title" ? { exists: { field: "title" } } : { term: { keys: term(key) } }
  }
  if (key === "indexed_at") return onTime(comparison)
  if (key === "source") return onText("name", comparison, true)
  if (key === "doc_id" || key === "title") return onText(key, comparison, false)
  return onMetadata(key, comparison)
}

/** The query for what a filter leaves; documents and passages have the fields that it asks. */
export const filterQuery = (filter: Filter): Query => compiled(filter, { all, any, not, clause: clauseQuery })
