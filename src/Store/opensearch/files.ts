import * as Effect from "effect/Effect"
import * as Struct from "effect/Struct"
import type { FileChange, IndexedRoot, KnownFile } from "../../model/File.ts"
import { type TextRange, ranges } from "../core/identity.ts"
import type { Answer } from "./client.ts"
import { type Cluster, type Write, mostHits } from "./Cluster.ts"
import { all, isHead, term } from "./filter.ts"
import type { CollectionRecord } from "./records.ts"
import { keyOf } from "./sources.ts"

type At = Pick<CollectionRecord, "documents">

interface FileSource extends Omit<KnownFile, "id" | "stamp"> {
  readonly kind: "file"
  readonly stamp?: KnownFile["stamp"]
  /** The beginning of a long path; `own` has all of it. */
  readonly path: string
  readonly own: string
  readonly indexed_at: number
}

interface RootSource {
  readonly kind: "root"
  readonly path: string
  readonly own: IndexedRoot
}

const fileId = (path: string): string => `f:${keyOf(path)}`
const rootId = (path: string): string => `r:${keyOf(path)}`

/** A number of 48 bits for a file, which stays. */
const numberOf = (path: string): number => Buffer.from(keyOf(path), "base64url").readUIntBE(0, 6)

const toFile = (file: FileSource): KnownFile => ({
  ...Struct.omit(file, "kind", "own", "indexed_at"),
  id: numberOf(file.own),
  path: file.own,
  stamp: file.stamp
})

interface Stored {
  readonly file: FileSource
  readonly seq: number
  readonly term: number
}

const stored = Effect.fnUntraced(function* ({ get }: Cluster, { documents: index }: At, paths: ReadonlyArray<string>) {
  const found = yield* get(paths.map((path) => ({ index, id: fileId(path) })))
  return new Map(
    found.flatMap((answer): ReadonlyArray<readonly [string, Stored]> =>
      answer.found === true
        ? [[answer._source.own, { file: answer._source, seq: answer._seq_no, term: answer._primary_term }]]
        : []
    )
  )
})

/** The records of some files, in no order. */
export const known = (cluster: Cluster, at: At, paths: ReadonlyArray<string>) =>
  Effect.map(stored(cluster, at, paths), (found) => Array.from(found.values(), ({ file }) => toFile(file)))

/** The files below a folder, or the file at that path, by path. */
export const below = Effect.fnUntraced(function* (
  { refreshed, search }: Cluster,
  { documents }: At,
  root: string,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number }
) {
  yield* refreshed(documents)
  const [, [folder, end]] = ranges(root)
  const within = { range: { path: { gte: term(folder), lt: term(end) } } }
  const { hits } = yield* search(documents, {
    size: Math.min(limit, mostHits),
    query: all([
      { term: { kind: "file" } },
      { bool: { should: [{ term: { path: term(root) } }, within], minimum_should_match: 1 } }
    ]),
    sort: [{ path: "asc" }],
    ...(after === undefined ? {} : { search_after: [term(after)] })
  })
  return (hits.hits as ReadonlyArray<{ readonly _source: FileSource }>).map(({ _source: { own } }) => ({
    id: numberOf(own),
    path: own
  }))
})

const pageFiles = 1000

/** Files that brought more documents than there are now. */
export const lacking = Effect.fnUntraced(function* ({ search }: Cluster, { documents }: At) {
  const found: Array<string> = []
  for (let after: ReadonlyArray<string> | undefined; ;) {
    const { hits } = yield* search(documents, {
      size: pageFiles,
      query: { term: { kind: "file" } },
      sort: [{ path: "asc" }],
      ...(after === undefined ? {} : { search_after: after })
    })
    const files = (hits.hits as ReadonlyArray<Answer>).map(({ _source }) => _source as FileSource)
    if (files.length === 0) return found
    const { aggregations } = yield* search(documents, {
      size: 0,
      query: all([isHead, { terms: { origin: files.map(({ path }) => path) } }]),
      aggs: { of: { terms: { field: "origin", size: pageFiles } } }
    })
    const counts = new Map(
      (aggregations.of.buckets as ReadonlyArray<Answer>).map(({ doc_count, key }) => [key, doc_count])
    )
    for (const { documents, outcome, own, path } of files) {
      if (outcome === "indexed" && (counts.get(path) ?? 0) < documents) found.push(own)
    }
    after = hits.hits.at(-1).sort
  }
})

const mostAttempts = 20

/** Writes files' records as they follow from the present ones; undefined leaves one as it is, null removes it. */
const update = Effect.fnUntraced(function* (
  cluster: Cluster,
  at: At,
  paths: ReadonlyArray<string>,
  to: (path: string, before: FileSource | undefined) => FileSource | null | undefined
) {
  let left = [...new Set(paths)]
  for (let attempt = 0; left.length > 0 && attempt < mostAttempts; attempt++) {
    const before = yield* stored(cluster, at, left)
    const asked: Array<string> = []
    const writes = left.flatMap((path): ReadonlyArray<Write> => {
      const one = before.get(path)
      const next = to(path, one?.file)
      if (next === undefined || (next === null && one === undefined)) return []
      asked.push(path)
      const where = { _index: at.documents, _id: fileId(path) }
      const version = one && { if_seq_no: one.seq, if_primary_term: one.term }
      if (next === null) return [{ action: { delete: { ...where, ...version } } }]
      return [{ action: version ? { index: { ...where, ...version } } : { create: where }, source: next }]
    })
    const answers: ReadonlyArray<Answer> = yield* cluster.bulk(writes)
    left = asked.filter((_, place) => answers[place]!.status === 409)
  }
})

/**
 * Writes what a run has found. If another run or a deletion changed the file in between, the file is left unfinished:
 * its documents may come from both.
 */
export const record = (
  cluster: Cluster,
  at: At,
  changes: ReadonlyArray<FileChange>,
  { now, run }: { readonly run: number; readonly now: number }
) => {
  const byPath = new Map(changes.map((change) => [change.path, change]))
  return update(cluster, at, [...byPath.keys()], (path, before) => {
    const { expected, stamp, ...change } = byPath.get(path)!
    const isOurs = before?.run === expected || before?.run === run
    return {
      kind: "file",
      ...change,
      path: term(path),
      own: path,
      ...(isOurs && change.outcome !== "unfinished" && stamp !== undefined ? { stamp } : {}),
      outcome: isOurs ? change.outcome : "unfinished",
      run: isOurs ? run : 0,
      indexed_at: now
    }
  })
}

/** Those of the paths from which no document came. */
const without = Effect.fnUntraced(function* (cluster: Cluster, at: At, paths: ReadonlyArray<string>) {
  const found = yield* cluster.searches(
    paths.map((path) => ({
      index: at.documents,
      body: {
        size: 1,
        _source: ["own.origin"],
        query: all([isHead, { term: { origin: term(path) } }])
      }
    }))
  )
  return new Set(paths.filter((_, place) => found[place]!.hits.hits.length === 0))
})

/**
 * Files without any documents are forgotten, others become what `to` makes of them (undefined: stay as they are), unless a
 * run has read them since.
 */
const revise =
  (to: (file: FileSource) => FileSource | undefined) =>
  (cluster: Cluster, at: At, paths: ReadonlyArray<string>, since = Number.MAX_SAFE_INTEGER) =>
    Effect.gen(function* () {
      if (paths.length === 0) return
      yield* cluster.refreshed(at.documents)
      const empty = yield* without(cluster, at, paths)
      yield* update(cluster, at, paths, (path, before) => {
        if (before === undefined || before.run >= since) return undefined
        return empty.has(path) ? null : to(before)
      })
    })

/**
 * Marks the files of deleted documents to be read again, except those that a run has read since. Forgets files without
 * any documents.
 */
export const doubt = revise((file) => ({ ...Struct.omit(file, "stamp"), outcome: "unfinished", run: 0 }))

/** Forgets files without documents, unless a run has recorded them since. */
export const forget = revise(() => undefined)

/** Marks files to be read again whose documents were stored without a record of the file. */
export const unfinished = (cluster: Cluster, at: At, paths: ReadonlyArray<string>, now: number) =>
  update(cluster, at, paths, (path, before) => ({
    kind: "file",
    path: term(path),
    own: path,
    settings: "",
    documents: 1,
    many: false,
    indexed_at: now,
    reader: undefined,
    ...(before && Struct.omit(before, "stamp")),
    outcome: "unfinished",
    run: 0
  }))

/** Stores the paths that were given to a run. */
export const recordRoots = ({ bulk }: Cluster, { documents }: At, roots: ReadonlyArray<IndexedRoot>) =>
  bulk(
    roots.map((own): Write => ({
      action: { index: { _index: documents, _id: rootId(own.path) } },
      source: { kind: "root", path: term(own.path), own } satisfies RootSource
    }))
  )

export const roots = Effect.fnUntraced(function* ({ refreshed, search }: Cluster, { documents }: At) {
  yield* refreshed(documents)
  const { hits } = yield* search(documents, { size: mostHits, query: { term: { kind: "root" } } })
  return (hits.hits as ReadonlyArray<{ readonly _source: RootSource }>)
    .map(({ _source }) => _source.own)
    .sort((a, b) => (a.path < b.path ? -1 : 1))
})

const isBefore = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0

/** Forgets the roots within ranges of paths. */
export const forgetRoots = Effect.fnUntraced(function* (cluster: Cluster, at: At, within: ReadonlyArray<TextRange>) {
  const gone = (yield* roots(cluster, at)).filter(({ path }) =>
    within.some(([from, to]) => !isBefore(path, from) && isBefore(path, to))
  )
  yield* cluster.bulk(
    gone.map(({ path }): Write => ({ action: { delete: { _index: at.documents, _id: rootId(path) } } }))
  )
})
