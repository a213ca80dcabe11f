import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Examiner, type Finding, StoreUnavailable, type Told } from "../Store.ts"
import { ok } from "../model/Check.ts"
import type { Embedded, Unembedded } from "../model/Stored.ts"
import { fail, mending, orFailed, orOk, someOf, warn, wrongly } from "./examine/findings.ts"
import { type Answer, Failed } from "./opensearch/client.ts"
import { type Cluster, type Counters, type IndexOptions, type Write, mostHits, open } from "./opensearch/Cluster.ts"
import { headsByKey, headsWhere } from "./opensearch/documents.ts"
import { reasonOf, typed } from "./opensearch/errors.ts"
import * as files from "./opensearch/files.ts"
import type { Query } from "./opensearch/filter.ts"
import { format, passagesIndex, template } from "./opensearch/mapping.ts"
import * as records from "./opensearch/records.ts"
import { rowsAfter, rowsWhere } from "./opensearch/rows.ts"
import {
  type Head,
  type StoredHead,
  fromBytes,
  headAsRead,
  headPlace,
  rewriting,
  rewritten,
  textOf
} from "./opensearch/sources.ts"

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

/** What a process that still runs may have stored without a head or a record of it yet. */
const youngMs = 600_000

/**
 * Indexes of no collection: those that have documents, whose record is lost, and those that a drop has left; without young
 * ones, whose record a process may be about to write.
 */
const unowned = Effect.fnUntraced(function* (
  { names, send }: Cluster,
  known: ReadonlyArray<records.CollectionRecord>,
  there: Readonly<Record<string, Answer>>
) {
  const owned = new Set([names.records, ...known.flatMap(records.indexesOf)])
  const strangers = Object.keys(there).filter((name) => names.collectionOf(name) > 0 && !owned.has(name))
  const { indices } = yield* send("GET", `/${names.pattern}/_stats/docs`)
  const withDocuments = strangers.filter(
    (name) => name.endsWith("-documents") && indices[name]?.primaries.docs.count !== 0
  )
  const lost = new Set(withDocuments.map(names.collectionOf))
  const oldest = (yield* Clock.currentTimeMillis) - youngMs
  const [withLost, left] = Arr.partition(strangers, (name) => !lost.has(names.collectionOf(name)))
  return [withLost, left.filter((name) => Number(there[name].settings.index.creation_date) < oldest)] as const
})

/** Blocks of the whole cluster, as far as the user may see them. */
const clusterBlocks = ({ send }: Cluster) =>
  send("GET", "/_cluster/settings", { query: { flat_settings: true } }).pipe(
    Effect.catchIf(
      ({ status }) => status === 403,
      () => Effect.succeed({})
    ),
    Effect.map(({ persistent, transient }: Answer) =>
      Object.entries({ ...persistent, ...transient }).flatMap(([setting, is]) =>
        setting.startsWith("cluster.blocks.") && is === "true" ? [`the whole cluster (${setting})`] : []
      )
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
  const all = (Object.entries(found) as ReadonlyArray<[string, Answer]>).filter(
    ([name]) => name === names.records || names.collectionOf(name) > 0
  )
  const withVectors = new Set(known.map(({ passages }) => passages))
  const { vector: _, ...columns } = passagesIndex(1).mappings.properties
  const changed = all.filter(
    ([name, { mappings }]) =>
      differing(expected, mappings.properties).length > 0 ||
      (withVectors.has(name) &&
        (mappings.properties.vector?.type !== "knn_vector" || differing(columns, mappings.properties).length > 0))
  )
  const ofIndexes = all.flatMap(([name, { settings }]) =>
    Object.entries(settings.index.blocks ?? {}).flatMap(([block, is]) =>
      is === "true" ? [`${name} (index.blocks.${block})`] : []
    )
  )
  const blocks = [...(yield* clusterBlocks(cluster)), ...ofIndexes]
  const late = all.flatMap(([name, { settings }]) => {
    const interval = settings.index.refresh_interval ?? "1s"
    return interval === "1s" ? [] : [`${name} (${interval})`]
  })
  const missing = [...owned].filter((name) => found[name] === undefined)
  const [lost, left] = yield* unowned(cluster, known, found)
  return [
    current
      ? ok("template", `the template ${names.template} is of this version (${format})`)
      : warn("template", `the template ${names.template} is missing`, "the next `clew index` makes it again"),
    ...(missing.length === 0
      ? [ok("indexes", many(all.length, "index", "indexes"))]
      : [
          fail(
            "indexes",
            `these are gone: ${someOf(missing)}`,
            "restore a snapshot of the cluster; or `clew doctor --fix` makes them again, empty, and the next `clew index` reads the files again",
            mending
          )
        ]),
    ...wrongly(
      "indexes",
      "these have documents, but no record of their collection",
      lost,
      undefined,
      `restore a snapshot of ${names.records}; if the collection was being dropped, delete them`
    ),
    ...(changed.length === 0
      ? []
      : [
          fail(
            "mapping",
            `${someOf(changed.map(([name]) => name))} has other fields than Clew made`,
            "`clew export`, then `clew import` into another store.index_prefix"
          )
        ]),
    ...wrongly(
      "blocks",
      "these are blocked",
      blocks,
      undefined,
      `${blocks.some((block) => /(?:allow_delete|create_index)\)$/.test(block)) ? "free space on the nodes' disks, then " : ""}set these settings to null`
    ),
    ...(late.length === 0
      ? []
      : [
          warn(
            "refresh",
            `writes wait until searches find them, which the index.refresh_interval of these delays: ${someOf(late)}`,
            "set it to 1s"
          )
        ]),
    ...(left.length === 0
      ? []
      : [
          warn(
            "leftovers",
            `${someOf(left)} belongs to no collection: what was dropped while a process was killed`,
            "`clew doctor --fix` deletes it",
            mending
          )
        ])
  ]
})

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
  const broken: Array<{ readonly id: number; readonly name: string }> = []
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
      for (const [at, { docId, id, source = docId }] of lacking.entries()) {
        if (now[at]!._source?.gen === id) broken.push({ id, name: source })
      }
      yield* told(`documents of ${record.name}`, { done: (done += heads.length), total: Math.max(done, 1) })
    })
  )
  return broken
})

/**
 * Generations of passages that are no document, and are too old to become one; and the names of those of which nothing
 * else is left, whole: no put ended there, their head is lost, or what it names is.
 */
const orphansOf = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: records.CollectionRecord,
  broken: Effect.Effect.Success<ReturnType<typeof compared>>
) {
  const unsound = new Set(broken.map(({ id }) => id))
  const now = yield* Clock.currentTimeMillis
  const orphans: Array<{ readonly gen: number; readonly key: string }> = []
  const only = new Set<string>()
  for (let after: object | undefined; ;) {
    const { aggregations } = yield* cluster.search(record.passages, {
      size: 0,
      query: { range: { indexed_at: { lt: now - youngMs } } },
      aggs: {
        gens: {
          composite: {
            size: pageHeads,
            sources: ["gen", "key", "name"].map((field) => ({ [field]: { terms: { field } } })),
            ...(after === undefined ? {} : { after })
          }
        }
      }
    })
    const buckets = aggregations.gens.buckets as ReadonlyArray<{
      readonly key: { readonly gen: number; readonly key: string; readonly name: string }
    }>
    const heads = yield* cluster.get(
      buckets.map(({ key }) => headPlace(record, key.key)),
      ["gen"]
    )
    for (const [at, { key }] of buckets.entries()) {
      const head = heads[at]!._source
      if (head?.gen === key.gen) continue
      if (head === undefined || unsound.has(head.gen)) only.add(key.name)
      else orphans.push(key)
    }
    after = aggregations.gens.after_key
    if (after === undefined) return { orphans, only: [...only] }
  }
})

const documentsIn = Effect.fnUntraced(function* (cluster: Cluster, record: records.CollectionRecord, told: Told) {
  const broken = yield* compared(cluster, record, told)
  const lacking = yield* files.lacking(cluster, record)
  const { only, orphans } = yield* orphansOf(cluster, record, broken)
  const of = `collection ${record.name}`
  const again = "`clew doctor --fix`, then index their files again"
  return [
    ...(broken.length === 0
      ? [ok("documents", `${of}: every document has its passages`)]
      : [
          fail(
            "documents",
            `${of}: ${many(broken.length, "document")} without some or all of their passages: ${someOf(broken.map(({ name }) => name))}`,
            again,
            mending
          )
        ]),
    ...wrongly("records", `${of}: documents of these files are lost`, lacking, mending, again),
    ...(only.length === 0
      ? []
      : [
          warn(
            "orphans",
            `${of}: only passages are left of these, which no search returns: ${someOf(only)}`,
            "index them again, and `clew doctor --fix` deletes what was left"
          )
        ]),
    ...(orphans.length === 0
      ? []
      : [
          warn(
            "orphans",
            `${of}: passages of ${many(orphans.length, "version")} that no document has any more, which no search returns`,
            "`clew doctor --fix` deletes them",
            mending
          )
        ])
  ]
})

/** Numbers that the next write would give although something has them: it skips them by itself. */
const sequences = Effect.fnUntraced(function* (cluster: Cluster) {
  const highest = yield* cluster.highest(undefined)
  const given = (yield* records.counters(cluster))?.value
  const taken = (Object.keys(highest) as ReadonlyArray<keyof Counters>).filter(
    (name) => highest[name] > (given?.[name] ?? 0)
  )
  return orOk(
    wrongly("sequences", "the next number is taken, since the counters are older or lost", taken, mending),
    "sequences",
    "the next numbers are free"
  )
})

/** What a check finds, or why the cluster refused to tell. */
const orTold = (name: string, what: string, found: Effect.Effect<ReadonlyArray<Finding>, Failed>) =>
  Effect.catchIf(
    found,
    ({ status }) => status < 500,
    (error) =>
      Effect.succeed([
        fail(name, `${what} cannot be read: ${reasonOf(error) ?? error.message}`, "see docs/opensearch.md")
      ])
  )

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
  const putVectors = (collection: number, given: ReadonlyArray<Embedded>) =>
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

  /** Writes heads anew that are still as they were read, so that nobody else writes over what was read before. */
  const rewrite = (
    cluster: Cluster,
    record: records.CollectionRecord,
    heads: ReadonlyArray<StoredHead>,
    to = (head: Head): Head => head
  ) =>
    cluster.bulk(
      heads.map((stored): Write => ({ action: { index: headAsRead(record, stored) }, source: to(stored.head) })),
      { refresh: "true" }
    )

  /** Makes the next `index` replace documents, and read their files: what is stored has no fingerprint that a file has. */
  const replace = Effect.fnUntraced(function* (
    cluster: Cluster,
    record: records.CollectionRecord,
    broken: Effect.Effect.Success<ReturnType<typeof compared>>
  ) {
    const sourceless: Array<string> = []
    for (const some of Arr.chunksOf(broken, pageHeads)) {
      const gens = some.map(({ id }) => id)
      const heads = yield* headsWhere(cluster, record, { terms: { gen: gens } }, { size: pageHeads })
      yield* rewrite(cluster, record, heads, (head) => ({
        ...head,
        fingerprint: "",
        own: { ...head.own, fingerprint: "" }
      }))
      yield* files.doubt(cluster, record, [...new Set(heads.flatMap(({ head }) => head.own.origin ?? []))])
      sourceless.push(
        ...heads.flatMap(({ head: { own } }) => (own.origin === undefined ? [own.source ?? own.docId] : []))
      )
    }
    return sourceless
  })

  /**
   * Makes indexes again that are gone; has documents replaced of which something is lost; deletes what belongs to no
   * document and no collection, unless nothing else is left of it.
   */
  const repaired = Effect.fnUntraced(function* (cluster: Cluster) {
    const known = yield* records.all(cluster)
    let [passages, again] = [0, 0]
    const sourceless: Array<string> = []
    for (const record of known) {
      yield* records.makeIndexes(cluster, record)
      const broken = yield* compared(cluster, record, () => Effect.void)
      sourceless.push(...(yield* replace(cluster, record, broken)))
      const lacking = yield* files.lacking(cluster, record)
      yield* files.doubt(cluster, record, lacking)
      again += broken.length + lacking.length
      const { orphans } = yield* orphansOf(cluster, record, broken)
      for (const some of Arr.chunksOf(orphans, pageHeads)) {
        // A process that stood still before it wrote one of these heads finds it changed, and stores its passages again.
        yield* rewrite(
          cluster,
          record,
          yield* headsByKey(
            cluster,
            record,
            some.map(({ key }) => key)
          )
        )
        const answer = yield* cluster.send("POST", `/${record.passages}/_delete_by_query`, {
          body: { query: { terms: { gen: some.map(({ gen }) => gen) } } },
          query: { conflicts: "proceed", refresh: true }
        })
        passages += answer.deleted
      }
    }
    const there = yield* cluster.send("GET", `/${cluster.names.pattern}`)
    const [, left] = yield* unowned(cluster, known, there)
    for (const name of left) yield* cluster.send("DELETE", `/${name}`, { allow: [404] })
    yield* records.take(cluster, {})
    return [
      ...(again === 0 ? [] : ["the next `clew index` reads the files again of which documents or passages are lost"]),
      ...(sourceless.length === 0
        ? []
        : [`these came from no file, so index them again yourself: ${sourceless.join(", ")}`]),
      `${many(passages, "passage")} and ${many(left.length, "index", "indexes")} that belonged to nothing were deleted`
    ]
  })

  return Examiner.of({
    examine: Effect.fn("Examiner.examine")((told) =>
      orFailed(
        "cluster",
        "see docs/opensearch.md",
        opened((cluster) =>
          Effect.gen(function* () {
            const known = yield* records.all(cluster)
            const findings: Array<Finding> = [
              ...(yield* health(cluster)),
              ...(yield* indexes(cluster, known)),
              ...(yield* orTold("sequences", "the highest numbers", sequences(cluster)))
            ]
            for (const record of known) {
              const own = documentsIn(cluster, record, told)
              findings.push(...(yield* orTold("documents", `collection ${record.name}`, own)))
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
          if (cures.some(({ _tag }) => _tag === "Rows")) done.push(...(yield* repaired(cluster)))
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
          const body = {
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
          }
          const [{ aggregations }] = yield* cluster.searches([{ index: known.map(({ documents }) => documents), body }])
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
