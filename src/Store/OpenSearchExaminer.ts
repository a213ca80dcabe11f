import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Examiner, type Finding, StoreUnavailable, type Told } from "../Store.ts"
import { ok } from "../model/Check.ts"
import type { Reindexed, Unembedded } from "../model/Stored.ts"
import { fail, orFailed, someOf, warn } from "./examine/findings.ts"
import { type Answer, Failed } from "./opensearch/client.ts"
import { type Cluster, type IndexOptions, type Write, mostHits, open } from "./opensearch/Cluster.ts"
import { headsWhere } from "./opensearch/documents.ts"
import { typed } from "./opensearch/errors.ts"
import type { Query } from "./opensearch/filter.ts"
import { format, template } from "./opensearch/mapping.ts"
import * as records from "./opensearch/records.ts"
import { rowsAfter, rowsWhere } from "./opensearch/rows.ts"
import { fromBytes, headAsRead, headPlace, rewriting, rewritten, textOf } from "./opensearch/sources.ts"

const many = (count: number, what: string, plural = `${what}s`): string => `${count} ${count === 1 ? what : plural}`

/** The cluster's state: its nodes, its shards and their copies. */
const health = Effect.fnUntraced(function* ({ names, send, version }: Cluster) {
  const state = yield* send("GET", `/_cluster/health/${names.pattern}`, { query: { timeout: "5s" } })
  const about = `OpenSearch ${version}, ${many(state.number_of_nodes, "node")}`
  const missing = many(state.unassigned_shards, "copy of shards", "copies of shards")
  return [
    state.status === "red"
      ? fail("cluster", `${about}: some shards are on no node (${missing} in all)`, "see _cluster/allocation/explain")
      : ok("cluster", about),
    state.status === "yellow"
      ? warn(
          "replicas",
          `${missing} are on no node: the loss of one more node may make the index unavailable`,
          "add a node, or set store.replicas lower for indexes to come and index.number_of_replicas for these"
        )
      : ok("replicas", "every shard has all its copies")
  ]
})

/** Fields of a mapping that are not as the template has them. */
const differing = (expected: Answer, found: Answer): ReadonlyArray<string> =>
  Object.keys(expected).filter((name) =>
    Object.entries(expected[name] as object).some(
      ([key, value]) => key !== "search_analyzer" && found?.[name]?.[key] !== value
    )
  )

/** The template and each index: its mapping, and whether it takes writes. */
const indexes = Effect.fnUntraced(function* (cluster: Cluster, known: ReadonlyArray<records.CollectionRecord>) {
  const { names, options, send } = cluster
  const made = yield* send("GET", `/_index_template/${names.template}`, { allow: [404] })
  const current = (made.index_templates ?? [])[0]?.index_template.version === format
  const found = yield* send("GET", `/${names.pattern}`, { query: { expand_wildcards: "all" } })
  const expected = template(options.prefix, options).template.mappings.properties
  const owned = new Set([names.records, ...known.flatMap(records.indexesOf)])
  const all = Object.entries(found) as ReadonlyArray<[string, Answer]>
  const changed = all.filter(([, { mappings }]) => differing(expected, mappings.properties).length > 0)
  const blocked = all.filter(([, { settings }]) => Object.values(settings.index.blocks ?? {}).includes("true"))
  const missing = [...owned].filter((name) => found[name] === undefined)
  const strangers = all.map(([name]) => name).filter((name) => !owned.has(name))
  return [
    current
      ? ok("template", `the template ${names.template} is of this version (${format})`)
      : warn("template", `the template ${names.template} is missing`, "opening the index for writing makes it again"),
    ...(missing.length === 0
      ? [ok("indexes", many(all.length, "index", "indexes"))]
      : [fail("indexes", `these are gone: ${someOf(missing)}`, "restore a snapshot of the cluster")]),
    ...(changed.length === 0
      ? []
      : [
          fail(
            "mapping",
            `${someOf(changed.map(([name]) => name))} has other fields than Clew made`,
            "`clew export`, then `clew import` into another store.index_prefix"
          )
        ]),
    ...(blocked.length === 0
      ? []
      : [
          fail(
            "blocks",
            `${someOf(blocked.map(([name]) => name))} refuses writes (index.blocks)`,
            "free space on the nodes' disks, then remove the block"
          )
        ]),
    ...(strangers.length === 0
      ? []
      : [
          warn(
            "leftovers",
            `${someOf(strangers)} belongs to no collection: what was dropped while a process was killed, or is being made`,
            "`clew doctor --fix` deletes it",
            { _tag: "Rows" }
          )
        ])
  ]
})

/** What a put that still runs may have stored without a head yet. */
const youngMs = 600_000

const pageHeads = 1000

/** Calls `use` with pages of a collection's heads, in the order of their generations. */
const eachPage = Effect.fnUntraced(function* <E>(
  cluster: Cluster,
  record: records.CollectionRecord,
  use: (heads: Effect.Effect.Success<ReturnType<typeof headsWhere>>) => Effect.Effect<void, E>
) {
  for (let after = 0; ;) {
    const heads = yield* headsWhere(
      cluster,
      record,
      { range: { gen: { gt: after } } },
      {
        size: pageHeads,
        sort: [{ gen: "asc" }]
      }
    )
    const last = heads.at(-1)
    if (last === undefined) return
    yield* use(heads)
    after = last.id
  }
})

/** Documents of which passages are missing, and generations of passages without a head. */
const compared = Effect.fnUntraced(function* (cluster: Cluster, record: records.CollectionRecord, told: Told) {
  yield* cluster.refreshed(`${record.documents},${record.passages}`)
  const broken: Array<number> = []
  let done = 0
  yield* eachPage(cluster, record, (heads) =>
    Effect.gen(function* () {
      const { aggregations } = yield* cluster.search(record.passages, {
        size: 0,
        query: { terms: { gen: heads.map(({ id }) => id) } },
        aggs: { gens: { terms: { field: "gen", size: pageHeads } } }
      })
      const counts = new Map(
        (aggregations.gens.buckets as ReadonlyArray<Answer>).map(({ doc_count, key }) => [key, doc_count])
      )
      // Those that were replaced since they were listed have no passages.
      const lacking = heads.filter(({ id, passages }) => (counts.get(id) ?? 0) < passages)
      const now = yield* cluster.get(
        lacking.map(({ head }) => headPlace(record, head.key)),
        ["gen"]
      )
      for (const [at, { id }] of lacking.entries()) if (now[at]!._source?.gen === id) broken.push(id)
      yield* told(`documents of ${record.name}`, { done: (done += heads.length), total: Math.max(done, 1) })
    })
  )
  return { broken, orphans: yield* orphansOf(cluster, record) }
})

/** Generations of passages that are no document, and are too old to become one. */
const orphansOf = Effect.fnUntraced(function* (cluster: Cluster, record: records.CollectionRecord) {
  const now = yield* Clock.currentTimeMillis
  const orphans: Array<number> = []
  for (let after: object | undefined; ;) {
    const { aggregations } = yield* cluster.search(record.passages, {
      size: 0,
      query: { range: { indexed_at: { lt: now - youngMs } } },
      aggs: {
        gens: {
          composite: {
            size: pageHeads,
            sources: [{ gen: { terms: { field: "gen" } } }, { key: { terms: { field: "key" } } }],
            ...(after === undefined ? {} : { after })
          }
        }
      }
    })
    const buckets = aggregations.gens.buckets as ReadonlyArray<{
      readonly key: { readonly gen: number; readonly key: string }
    }>
    const heads = yield* cluster.get(
      buckets.map(({ key }) => headPlace(record, key.key)),
      ["gen"]
    )
    for (const [at, { key }] of buckets.entries()) if (heads[at]!._source?.gen !== key.gen) orphans.push(key.gen)
    after = aggregations.gens.after_key
    if (after === undefined) return orphans
  }
})

const documentsIn = Effect.fnUntraced(function* (cluster: Cluster, record: records.CollectionRecord, told: Told) {
  const { broken, orphans } = yield* compared(cluster, record, told)
  const of = `collection ${record.name}`
  return [
    ...(broken.length === 0
      ? [ok("documents", `${of}: every document has its passages`)]
      : [
          fail(
            "documents",
            `${of}: ${many(broken.length, "document")} without some or all of their passages`,
            "`clew doctor --fix`, then index their files again",
            { _tag: "Replace", documents: broken }
          )
        ]),
    ...(orphans.length === 0
      ? []
      : [
          warn(
            "orphans",
            `${of}: passages of ${many(orphans.length, "document")} that no longer exist, which no search returns`,
            "`clew doctor --fix` deletes them",
            { _tag: "Rows" }
          )
        ])
  ]
})

const elsewhere = (what: string) =>
  Effect.fail(new StoreUnavailable({ reason: `${what}: OpenSearch has tools of its own, snapshots of the cluster` }))

const make = (options: IndexOptions) => {
  const opened = <A, E>(use: (cluster: Cluster) => Effect.Effect<A, E>) =>
    Effect.scoped(typed(options.prefix)(Effect.flatMap(open(options), use)))

  const recordOf = (cluster: Cluster, id: number) =>
    Effect.flatMap(records.all(cluster), (known) => {
      const found = known.find((one) => one.id === id)
      return found === undefined
        ? Effect.fail(new StoreUnavailable({ reason: "The collection was dropped meanwhile" }))
        : Effect.succeed(found)
    })

  /** Current passages after an id, by id, in the form in which they are embedded. */
  const rows = (collection: number, after: number, limit: number, query: Query) =>
    opened((cluster) =>
      Effect.map(
        Effect.flatMap(recordOf(cluster, collection), (record) => rowsAfter(cluster, record, after, limit, [query])),
        (found) => found.map(({ head, source }) => ({ ...textOf(source, head.own.title), id: source.id, v: source.v }))
      )
    )

  /** Writes passages' vectors anew. */
  const putVectors = (collection: number, given: ReadonlyArray<Reindexed>) =>
    opened((cluster) =>
      Effect.gen(function* () {
        const record = yield* recordOf(cluster, collection)
        const { rows } = yield* rowsWhere(cluster, record, { terms: { id: given.map(({ id }) => id) } })
        const vectors = new Map(given.map(({ id, vector }) => [id, vector]))
        yield* cluster.bulk(
          rows.map(({ seq, source, term }): Write => ({
            action: rewriting(record.passages, source, seq, term),
            source: rewritten(source, vectors.get(source.id) ?? Option.none())
          })),
          { refresh: "true" }
        )
      })
    )

  /** Makes the next `index` replace documents: what is stored has no fingerprint that a file has. */
  const replace = Effect.fnUntraced(function* (cluster: Cluster, gens: ReadonlyArray<number>) {
    let count = 0
    for (const record of yield* records.all(cluster)) {
      const heads = yield* headsWhere(cluster, record, { terms: { gen: gens } }, { size: mostHits })
      const answers = yield* cluster.bulk(
        heads.map((stored): Write => ({
          action: { index: headAsRead(record, stored) },
          source: { ...stored.head, fingerprint: "", own: { ...stored.head.own, fingerprint: "" } }
        })),
        { refresh: "true" }
      )
      count += answers.filter(({ status }) => status < 300).length
    }
    return `${many(count, "document")} will be replaced when their files are indexed again`
  })

  /** Deletes what belongs to no document and no collection. */
  const sweep = Effect.fnUntraced(function* (cluster: Cluster) {
    const known = yield* records.all(cluster)
    let passages = 0
    for (const record of known) {
      const orphans = yield* orphansOf(cluster, record)
      for (let from = 0; from < orphans.length; from += pageHeads) {
        const answer = yield* cluster.send("POST", `/${record.passages}/_delete_by_query`, {
          body: { query: { terms: { gen: orphans.slice(from, from + pageHeads) } } },
          query: { conflicts: "proceed", refresh: true }
        })
        passages += answer.deleted
      }
    }
    const owned = new Set([cluster.names.records, ...known.flatMap(records.indexesOf)])
    const found = Object.keys(yield* cluster.send("GET", `/${cluster.names.pattern}`)).filter(
      (name) => !owned.has(name)
    )
    for (const name of found) yield* cluster.send("DELETE", `/${name}`, { allow: [404] })
    return `${many(passages, "passage")} and ${many(found.length, "index", "indexes")} that belonged to nothing were deleted`
  })

  return Examiner.of({
    examine: Effect.fn("Examiner.examine")((told) =>
      orFailed(
        "cluster",
        "see docs/opensearch.md",
        opened((cluster) =>
          Effect.gen(function* () {
            const known = yield* records.all(cluster)
            const findings: Array<Finding> = [...(yield* health(cluster)), ...(yield* indexes(cluster, known))]
            for (const record of known) {
              const own = Effect.catchIf(
                documentsIn(cluster, record, told),
                (error): error is Failed => error instanceof Failed && error.status < 500,
                ({ reason }) =>
                  Effect.succeed([
                    fail(
                      "documents",
                      `collection ${record.name} cannot be read: ${reason}`,
                      "restore a snapshot of its indexes"
                    )
                  ])
              )
              findings.push(...(yield* own))
            }
            return findings
          })
        )
      )
    ),
    migrate: Effect.succeed(true),
    copy: Effect.succeed("none: a copy of the cluster is its snapshot"),
    salvage: elsewhere("Clew cannot salvage an index in OpenSearch"),
    mend: Effect.fn("Examiner.mend")((cures) =>
      opened((cluster) =>
        Effect.gen(function* () {
          const done: Array<string> = []
          const broken = cures.flatMap((cure) => (cure._tag === "Replace" ? cure.documents : []))
          if (broken.length > 0) done.push(yield* replace(cluster, broken))
          if (cures.some(({ _tag }) => _tag === "Rows")) done.push(yield* sweep(cluster))
          for (const cure of cures) {
            if (cure._tag !== "Vectors") continue
            yield* putVectors(
              cure.collection,
              cure.passages.map((id) => ({ id, vector: Option.none() }))
            )
            done.push(`${many(cure.passages.length, "vector")} dropped, to be made again`)
          }
          return done
        })
      )
    ),
    collections: opened(records.summaries),
    embedded: (collection, after, limit) =>
      Effect.map(rows(collection, after, limit, { exists: { field: "vector" } }), (found) =>
        found.map(({ v, ...text }) => ({ ...text, vector: fromBytes(v!) }))
      ),
    // A text without a direction is kept without a vector, and is not told from one that lost it.
    unembedded: (collection, after, limit) =>
      Effect.map(rows(collection, after, limit, { bool: { must_not: [{ exists: { field: "vector" } }] } }), (found) =>
        found.map((row): Unembedded & { readonly isKnown: boolean } => ({ ...row, isKnown: true }))
      ),
    putVectors,
    origins: (after, limit) =>
      opened((cluster) =>
        Effect.gen(function* () {
          const known = yield* records.all(cluster)
          if (known.length === 0) return []
          const { aggregations } = yield* cluster.search(known.map(({ documents }) => documents).join(","), {
            size: 0,
            query: { term: { kind: "document" } },
            aggs: {
              origins: {
                composite: {
                  size: Math.min(limit, mostHits),
                  sources: [{ origin: { terms: { field: "origin" } } }],
                  ...(after === "" ? {} : { after: { origin: after } })
                }
              }
            }
          })
          return (aggregations.origins.buckets as ReadonlyArray<Answer>).map(({ key }) => ({
            origin: key.origin as string,
            size: undefined,
            modified: undefined
          }))
        })
      )
  })
}

/** Examines an index in OpenSearch. */
export const layer = (options: IndexOptions): Layer.Layer<Examiner> => Layer.sync(Examiner, () => make(options))
