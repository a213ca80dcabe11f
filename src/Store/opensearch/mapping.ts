import { b, k1 } from "../../postings/score.ts"

/** The form of the indexes that this program writes; it is in their names, so that another form lies beside it. */
export const format = 1

/** How long-lived parts of the cluster are named. */
export const names = (prefix: string) => {
  const versioned = `${prefix}-v${format}`
  return {
    template: versioned,
    pattern: `${versioned}-*`,
    records: `${versioned}-records`,
    documents: (collection: number) => `${versioned}-c${collection}-documents`,
    passages: (collection: number, generation: number) => `${versioned}-c${collection}-passages-${generation}`,
    /** The number of the collection of an index; 0: it is of none, as one of another program whose name only begins so. */
    collectionOf: (index: string) =>
      Number(/^c(\d+)-(?:documents|passages-\d+)$/.exec(index.slice(versioned.length + 1))?.[1] ?? 0),
    /** An alias of the passages that are searched, for people. */
    alias: (collection: number) => `${prefix}-c${collection}`
  }
}

export interface Layout {
  readonly shards: number
  readonly replicas: number
}

const keyword = { type: "keyword" }
const long = { type: "long" }
/** Bytes in base 64 that a search reads of hundreds of passages, which is quick where it need not read their sources. */
const column = { type: "binary", doc_values: true }
/** Only looked up, never sorted by or counted. */
const found = { type: "keyword", doc_values: false }

/**
 * All fields that any index has; whatever else a document has is only kept. Terms are Clew's own with their weighted
 * counts (`word|3`), so that every language and rule is the same as in a file; metadata are one field of texts in the
 * order of their values (`filter.ts`), so that no key adds to the mapping.
 */
const properties = {
  kind: keyword,
  key: keyword,
  gen: long,
  doc_id: keyword,
  name: keyword,
  name_lower: found,
  title: keyword,
  title_key: keyword,
  has_source: { type: "boolean" },
  indexed_at: long,
  meta: keyword,
  keys: keyword,
  folder: keyword,
  endings: keyword,
  month: keyword,
  origin: keyword,
  fingerprint: found,
  passages: long,
  first: long,
  seen_run: long,
  path: keyword,
  run: long,
  id: long,
  ordinal: long,
  terms: {
    type: "text",
    analyzer: "clew_frequencies",
    search_analyzer: "whitespace",
    index_options: "freqs",
    similarity: "clew"
  },
  title_terms: found,
  len: long,
  language: keyword,
  entities: found,
  defines: found,
  names: keyword
}

/** The template of all indexes of a prefix. */
export const template = (prefix: string, { replicas, shards }: Layout) => ({
  index_patterns: [names(prefix).pattern],
  priority: 500,
  version: format,
  _meta: { clew: { format } },
  template: {
    settings: {
      number_of_shards: shards,
      number_of_replicas: replicas,
      refresh_interval: "1s",
      // Its search narrows candidates, which Clew then scores by itself.
      similarity: { clew: { type: "BM25", k1, b } },
      analysis: {
        analyzer: { clew_frequencies: { tokenizer: "whitespace", filter: ["clew_frequency"] } },
        filter: { clew_frequency: { type: "delimited_term_freq", delimiter: "|" } }
      }
    },
    mappings: { dynamic: false, _meta: { clew: { format } }, properties }
  }
})

/** An index of passages with vectors of this width; the vectors themselves are kept beside, as bytes. */
export const passagesIndex = (dimensions: number) => ({
  settings: { "index.knn": true },
  mappings: {
    _source: { excludes: ["vector", "counts"] },
    properties: {
      of: long,
      counts: column,
      v: column,
      vector: {
        type: "knn_vector",
        dimension: dimensions,
        method: {
          name: "hnsw",
          engine: "lucene",
          space_type: "cosinesimil",
          parameters: { m: 16, ef_construction: 100 }
        }
      }
    }
  }
})

/** One shard is enough for the records of collections and counters. */
export const recordsIndex = { settings: { number_of_shards: 1 } }

/** An index with all that the template gives: where somebody deleted that, the cluster would guess a mapping. */
export const whole = (
  prefix: string,
  layout: Layout,
  { mappings, settings, ...more }: Readonly<Record<string, any>>
) => {
  const { template: common } = template(prefix, layout)
  const properties = { ...common.mappings.properties, ...mappings?.properties }
  return {
    ...more,
    settings: { ...common.settings, ...settings },
    mappings: { ...common.mappings, ...mappings, properties }
  }
}
