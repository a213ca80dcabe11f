import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { StoreUnavailable } from "../../Store.ts"
import type { Mean } from "../core/direction.ts"
import {
  type Answer,
  type ClusterOptions,
  Failed,
  type Requests,
  isRepeated,
  make as connect,
  patience,
  refused
} from "./client.ts"
import { type Layout, format, names, recordsIndex, template, whole } from "./mapping.ts"

export interface IndexOptions extends ClusterOptions, Layout {
  /** The names of all its indexes begin so. */
  readonly prefix: string
  /** Whether a write ends when searches find it; `now` makes them find it, which costs the cluster more. */
  readonly refresh: "wait" | "interval" | "now"
  readonly mode: "create" | "existing" | "readonly"
  /** Whether what passages mention is kept for the graph. */
  readonly graph?: boolean | undefined
}

interface Asked {
  /** Many in a list: a path takes 4 KB. */
  readonly index: string | ReadonlyArray<string>
  readonly body: Readonly<Record<string, unknown>>
  /** Counts terms over all shards first, so that scores are those of one shard. */
  readonly dfs?: boolean | undefined
}

/** One line of a bulk request, and what it writes. */
export interface Write {
  readonly action: Readonly<Record<string, unknown>>
  readonly source?: object | undefined
}

interface Got {
  readonly index: string
  readonly id: string
  readonly routing?: string | undefined
}

/** Numbers that were given, and that nobody gets again. */
export type Counters = Record<"collections" | "documents" | "passages" | "runs", number>

/** What Clew asks of a cluster. */
export interface Cluster extends Requests {
  readonly options: IndexOptions
  readonly names: ReturnType<typeof names>
  /** The cluster's version. */
  readonly version: string
  /** What a write of records and passages asks for. */
  readonly refresh: "wait_for" | "true" | "false"
  /** What a write of heads asks for, of which searches must not find two generations for long. */
  readonly headRefresh: "true" | "false"
  /** The means of vectors that were taken, and of which state, by their index. */
  readonly means: Map<string, Mean & { readonly state: string }>
  /** The highest numbers of all that is stored; those of a few seconds ago, if the counters have not gone back since. */
  readonly highest: (given: Counters | undefined) => Effect.Effect<Counters, Failed>
  /** Makes what was written to indexes found by searches. */
  readonly refreshed: (indexes: string) => Effect.Effect<void, Failed>
  /** The same before it is only read: a user that may not do it reads what was found a second ago. */
  readonly latest: (indexes: string) => Effect.Effect<void, Failed>
  readonly search: (index: string, body: Asked["body"]) => Effect.Effect<Answer, Failed>
  /** Several searches in one request, each whole or a failure. */
  readonly searches: (asked: ReadonlyArray<Asked>) => Effect.Effect<ReadonlyArray<Answer>, Failed>
  /** Documents as they are now, in this order, also if no search finds them yet. */
  readonly get: (
    ids: ReadonlyArray<Got>,
    fields?: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<Answer>, Failed>
  /**
   * Writes lines; the answer of each, in their order, of which some may be refused by their conditions (409). Unless told
   * else it asks for no refresh, and may send lines again that may have been carried out.
   */
  readonly bulk: (
    writes: ReadonlyArray<Write>,
    options?: { readonly refresh?: Cluster["refresh"]; readonly repeatable?: boolean }
  ) => Effect.Effect<ReadonlyArray<Answer>, Failed>
}

/** Most hits of one search, by OpenSearch's own limit. */
export const mostHits = 10_000

/** Units of a bulk request, about; the cluster takes 100 MB. */
const bulkUnits = 4_000_000
const getAtOnce = 1000
/** Searches in one request: the cluster runs some of them at a time. */
const searchesAtOnce = 64

/** The version that has all that Clew uses (`delimited_term_freq`), and the last major one that it was written for. */
const oldest = [2, 10] as const
const newest = 3

const incomplete = ({ _shards, error, status, timed_out }: Answer): Failed | undefined =>
  error !== undefined
    ? refused(status, error)
    : _shards.failed === 0 && timed_out !== true
      ? undefined
      : refused(503, _shards.failures?.[0]?.reason ?? "a shard did not answer in time")

/** Each of many documents that are read has a fault of its own, without a status. */
const statusOf = (type: string): number =>
  type === "no_shard_available_action_exception"
    ? 503
    : /^(?:rejected_execution|circuit_breaking)_/.test(type)
      ? 429
      : 500

// An index that is gone has no documents.
const unread = ({ error }: Answer): Failed | undefined =>
  error === undefined || error.type === "index_not_found_exception" ? undefined : refused(statusOf(error.type), error)

/** The first fault of several answers. */
const among = (answers: ReadonlyArray<Answer>, fault: typeof unread) =>
  answers.flatMap((answer) => fault(answer) ?? [])[0]

const linesOf = ({ action, source }: Write): ReadonlyArray<string> => [
  JSON.stringify(action),
  ...(source === undefined ? [] : [JSON.stringify(source)])
]

const requests = ({ send }: Requests) => {
  const search: Cluster["search"] = (index, body) =>
    send("POST", `/${index}/_search`, { body, query: { allow_partial_search_results: false }, fault: incomplete })

  const searches: Cluster["searches"] = Effect.fnUntraced(function* (asked) {
    const found: Array<Answer> = []
    for (let from = 0; from < asked.length; from += searchesAtOnce) {
      const lines = asked.slice(from, from + searchesAtOnce).flatMap(({ body, dfs, index }) => [
        JSON.stringify({
          index,
          allow_partial_search_results: false,
          ...(dfs === true ? { search_type: "dfs_query_then_fetch" } : {})
        }),
        JSON.stringify(body)
      ])
      const fault = ({ responses }: Answer) => among(responses, incomplete)
      found.push(...(yield* send("POST", "/_msearch", { lines, fault })).responses)
    }
    return found
  })

  const get: Cluster["get"] = Effect.fnUntraced(function* (ids, fields) {
    const found: Array<Answer> = []
    for (let from = 0; from < ids.length; from += getAtOnce) {
      const docs = ids.slice(from, from + getAtOnce).map(({ id, index, routing }) => ({
        _index: index,
        _id: id,
        ...(routing === undefined ? {} : { routing }),
        ...(fields === undefined ? {} : { _source: fields })
      }))
      const fault = ({ docs }: Answer) => among(docs, unread)
      found.push(...(yield* send("POST", "/_mget", { body: { docs }, fault })).docs)
    }
    return found
  })

  /** Sends lines until the cluster has taken or refused each of them: what it has no room for now, again. */
  const sent = (writes: ReadonlyArray<Write>, refresh: string, repeatable: boolean) => {
    const answers: Array<Answer> = []
    let left = writes.map((_, at) => at)
    const once = Effect.gen(function* () {
      const lines = left.flatMap((at) => linesOf(writes[at]!))
      const { items } = yield* send("POST", "/_bulk", { lines, query: { refresh }, repeatable })
      for (const [place, at] of left.entries()) answers[at] = Object.values(items[place])[0]
      const failures = left.flatMap((at) => {
        const { error, status } = answers[at]
        return error === undefined || status === 409 ? [] : [{ at, failed: refused(status, error) }]
      })
      left = failures.map(({ at }) => at)
      const worst = failures.find(({ failed }) => !isRepeated(failed, repeatable)) ?? failures[0]
      if (worst !== undefined) return yield* worst.failed
      return answers as ReadonlyArray<Answer>
    })
    return Effect.retry(once, {
      schedule: patience,
      while: (failed) => left.length > 0 && isRepeated(failed, repeatable)
    })
  }

  const bulk: Cluster["bulk"] = Effect.fnUntraced(function* (writes, { refresh = "false", repeatable = true } = {}) {
    const answers: Array<Answer> = []
    for (let from = 0; from < writes.length;) {
      let units = 0
      let to = from
      while (to < writes.length && units < bulkUnits) {
        for (const line of linesOf(writes[to++]!)) units += line.length
      }
      answers.push(...(yield* sent(writes.slice(from, to), to === writes.length ? refresh : "false", repeatable)))
      from = to
    }
    return answers
  })

  const refreshed: Cluster["refreshed"] = (indexes) =>
    Effect.asVoid(send("POST", `/${indexes}/_refresh`, { query: { ignore_unavailable: true } }))

  const latest: Cluster["latest"] = (indexes) =>
    Effect.catchIf(
      refreshed(indexes),
      ({ status }) => status === 403,
      () => Effect.void
    )

  return { search, searches, get, bulk, refreshed, latest }
}

const elsewhere = (reason: string) => new StoreUnavailable({ reason })

/** The cluster's version; refuses what is no OpenSearch, or one that Clew cannot use. */
const greeted = ({ send }: Requests) =>
  Effect.flatMap(send("GET", "/"), (answer) => {
    const { version } = answer
    if (typeof version?.number !== "string") return elsewhere("What answers at store.urls is not OpenSearch")
    if (version.distribution !== "opensearch") {
      return elsewhere(
        `What answers at store.urls is Elasticsearch ${version.number}, which has another k-NN: Clew needs OpenSearch ${oldest.join(".")} or later`
      )
    }
    const [major = 0, minor = 0] = version.number.split(".").map(Number)
    if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
      return elsewhere(`This cluster has OpenSearch ${version.number}; Clew needs ${oldest.join(".")} or later`)
    }
    if (major > newest) {
      return elsewhere(
        `This cluster has OpenSearch ${version.number}, which this Clew was not written for (up to ${newest}): update Clew`
      )
    }
    return Effect.succeed<string>(version.number)
  })

const isThere = (error: Failed): boolean => error.kind === "resource_already_exists_exception"

/** Makes an index; one that another process made meanwhile will do. */
export const makeIndex = ({ options, send }: Pick<Cluster, "options" | "send">, name: string, body: object) =>
  Effect.catchIf(
    send("PUT", `/${name}`, { body: whole(options.prefix, options, body), query: { wait_for_active_shards: 1 } }),
    isThere,
    () => Effect.void
  )

/** The names of an index's indexes, open or closed; other programs may have some whose names begin so. */
const indexesThere = ({ send }: Requests, { collectionOf, pattern, records }: ReturnType<typeof names>) =>
  Effect.map(
    send("GET", `/${pattern}`, {
      allow: [404],
      query: { expand_wildcards: "all", filter_path: "*.settings.index.uuid" }
    }),
    (found) => Object.keys(found).filter((name) => name === records || collectionOf(name) > 0)
  )

/** For how long what was read of the highest numbers holds. */
const recentlyMs = 10_000

/**
 * Counters that were lost, or are older than what they counted, as in a snapshot that was taken while others wrote, would
 * give numbers twice: then a write would lie over another document's.
 */
const highestOf = ({ refreshed, ...client }: Omit<Cluster, "highest">): Cluster["highest"] => {
  let known: { readonly at: number; readonly found: Counters; given: number } | undefined
  const sumOf = (counters: Counters) => Object.values(counters).reduce((sum, count) => sum + count)
  return Effect.fnUntraced(function* (given) {
    const at = yield* Clock.currentTimeMillis
    const isSound = given !== undefined && !(known !== undefined && sumOf(given) < known.given)
    if (isSound && known !== undefined && at - known.at < recentlyMs) {
      known.given = sumOf(given)
      return known.found
    }
    const there = yield* indexesThere(client, client.names)
    yield* refreshed(client.names.pattern)
    const aggs = Object.fromEntries(["gen", "id", "run", "seen_run"].map((field) => [field, { max: { field } }]))
    // Where there are counters, a collection on a lost node does not keep others from being written to.
    const header = {
      index: [client.names.records, ...there],
      ignore_unavailable: true,
      allow_partial_search_results: isSound
    }
    const [{ aggregations }] = (yield* client.send("POST", "/_msearch", {
      lines: [JSON.stringify(header), JSON.stringify({ size: 0, aggs })],
      fault: ({ responses }) => among(responses, ({ error, status }) => error && refused(status, error))
    })).responses
    const most = (...fields: ReadonlyArray<string>) =>
      Math.max(0, ...fields.map((field) => aggregations?.[field].value ?? 0))
    const found: Counters = {
      collections: Math.max(0, ...there.map(client.names.collectionOf)),
      documents: most("gen"),
      passages: most("id"),
      runs: most("run", "seen_run")
    }
    known = { at, found, given: sumOf(given ?? found) }
    return found
  })
}

/** The template of an index of this prefix, and its records; refuses those of a newer form. */
const upToDate = Effect.fnUntraced(function* (requests: Requests, options: IndexOptions) {
  const { mode, prefix } = options
  const own = names(prefix)
  const found = yield* requests.send("GET", `/_index_template/${prefix}-v*`, { allow: [404] })
  const formats = ((found.index_templates ?? []) as ReadonlyArray<Answer>).flatMap(({ index_template, name }) =>
    name.slice(prefix.length).match(/^-v\d+$/) === null ? [] : [Number(index_template.version)]
  )
  const latest = Math.max(0, ...formats)
  if (latest > format) {
    return yield* elsewhere(
      `The index ${prefix} was made by a newer Clew (format ${latest}; this one knows ${format}): update Clew`
    )
  }
  const there = yield* indexesThere(requests, own)
  const hasRecords = there.includes(own.records)
  const other = there.find(own.collectionOf)
  if (!hasRecords && other !== undefined) {
    return yield* elsewhere(
      `Of the index ${prefix} the records of its collections are gone (${own.records}), though ${other} is there: restore a snapshot of all its indexes; to begin anew, delete ${own.pattern}`
    )
  }
  if (!hasRecords && mode !== "create") {
    return yield* elsewhere(`There is no index with the prefix ${prefix} in this cluster`)
  }
  if (mode === "create" && !formats.includes(format)) {
    yield* requests.send("PUT", `/_index_template/${own.template}`, { body: template(prefix, options) })
  }
  if (!hasRecords) yield* makeIndex({ ...requests, options }, own.records, recordsIndex)
})

/** Opens an index in a cluster, and makes it if the mode allows that. */
export const open = Effect.fnUntraced(function* (options: IndexOptions) {
  const client = yield* connect(options)
  const version = yield* greeted(client)
  yield* upToDate(client, options)
  const cluster = {
    ...client,
    ...requests(client),
    options,
    names: names(options.prefix),
    version,
    means: new Map(),
    refresh: options.refresh === "wait" ? "wait_for" : options.refresh === "now" ? "true" : "false",
    headRefresh: options.refresh === "interval" ? "false" : "true"
  } satisfies Omit<Cluster, "highest"> as Omit<Cluster, "highest">
  return { ...cluster, highest: highestOf(cluster) } satisfies Cluster as Cluster
})

/** Whether there is an index. */
export const exists = Effect.fnUntraced(function* (options: IndexOptions) {
  const client = yield* connect(options)
  return (yield* indexesThere(client, names(options.prefix))).length > 0
})
