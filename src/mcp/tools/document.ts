import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { orEmpty } from "../../Collections.ts"
import { Indexer } from "../../Indexer.ts"
import { type CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentId } from "../../model/Document.ts"
import { Store } from "../../Store.ts"
import { nearest } from "../../terms/nearest.ts"
import { bounded, sourceCharacters } from "../../citations/prompt.ts"
import { invalidParams, type Problem, RpcError } from "../RpcError.ts"

const candidates = 5

/** How many collections are searched for a document without a named collection. */
const mostCollections = 50

const isDocumentId = (text: string): text is DocumentId => text.trim() === text && text !== "" && text.length <= 1000

/** Escapes a path for a glob, as far as possible: special characters match any one character. */
const literal = (text: string): string => text.replace(/[*?[\]\\]/g, "?")

const refuse = (path: string, message: string) => invalidParams([{ path, message } satisfies Problem])

const shownSource = (source: string): string => JSON.stringify(bounded(source, 200))

/** A found document and its collection. */
interface Found {
  readonly collection: CollectionName
  readonly docId: DocumentId
}

/** The collections to search: the named one, else the default one and then the others. */
const collectionsFor = Effect.fnUntraced(function* (name: CollectionName | undefined) {
  if (name !== undefined) return [name]
  const all = (yield* (yield* Store).collections).map((collection) => collection.name)
  return [defaultCollection, ...all.filter((each) => each !== defaultCollection)].slice(0, mostCollections)
})

/**
 * Finds a document by source, or by a doc_id given as source, since a result without a source shows its doc_id there.
 */
const exactly = Effect.fnUntraced(function* (collection: CollectionName, source: string) {
  const refs = [
    (yield* Indexer).draft({ content: "", source, metadata: {} }),
    ...(isDocumentId(source) ? [{ docId: source, derivedId: source }] : [])
  ]
  for (const ref of refs) {
    const [found = Option.none()] = yield* orEmpty(collection, [])((yield* Store).lookup(collection, [ref]))
    if (Option.isSome(found)) return [{ collection, docId: found.value.docId } satisfies Found]
  }
  return []
})

const matching = Effect.fnUntraced(function* (collection: CollectionName, glob: string, limit: number) {
  const found = yield* orEmpty(collection, [])((yield* Store).list(collection, { limit, filter: { source: glob } }))
  return found.map(({ docId, source }) => ({ collection, docId, source: source ?? docId }))
})

/** Sources with file names similar to the given one, among those that begin or end alike. */
const similar = Effect.fnUntraced(function* (collections: ReadonlyArray<CollectionName>, source: string) {
  const name = nameOf(source)
  const globs = [`*${literal(name.slice(0, 3))}*`, `*${literal(name.slice(-6))}`]
  const found = (yield* Effect.forEach(collections, (collection) =>
    Effect.forEach(globs, (glob) => matching(collection, glob, 500))
  )).flat(2)
  const each = [...new Map(found.map((one) => [`${one.collection}/${one.docId}`, one])).values()]
  const near = nearest(name, [...new Set(each.map(({ source }) => nameOf(source)))])
  return each.filter(({ source }) => near.includes(nameOf(source))).slice(0, 3)
})

const nameOf = (source: string): string => bounded(source.slice(source.lastIndexOf("/") + 1), 100)

const named = (found: ReadonlyArray<{ readonly collection: CollectionName; readonly source: string }>): string =>
  found
    .map(({ collection, source }) =>
      collection === defaultCollection
        ? bounded(source, sourceCharacters)
        : `${bounded(source, sourceCharacters)} (collection ${collection})`
    )
    .join(", ")

/**
 * The document of a source, or the only one whose source ends like it. Fails with -32602, naming similar sources and
 * the collections that have it.
 */
const findSource = Effect.fn("mcp.findSource")(function* (name: CollectionName | undefined, source: string) {
  const collections = yield* collectionsFor(name)
  const exact = (yield* Effect.forEach(collections, (collection) => exactly(collection, source))).flat()
  const first = exact.find(({ collection }) => collection === defaultCollection) ?? exact[0]
  if (first !== undefined && (exact.length === 1 || first.collection === defaultCollection)) return first
  const given = shownSource(source)
  if (first !== undefined) {
    return yield* refuse(
      "collection",
      `source: ${given} is in collections ${exact.map(({ collection }) => collection).join(", ")}; name one as collection`
    )
  }
  const ending = (yield* Effect.forEach(collections, (collection) =>
    matching(collection, `*${literal(source)}`, candidates + 1)
  )).flat()
  if (ending.length === 1) return ending[0]!
  if (ending.length > 1) {
    const more = ending.length > candidates ? ", …" : ""
    return yield* refuse(
      "source",
      `source: several documents end in ${given}: ${named(ending.slice(0, candidates))}${more}; give the full source of one`
    )
  }
  if (name !== undefined) {
    const others = (yield* collectionsFor(undefined)).filter((collection) => collection !== name)
    const there = (yield* Effect.forEach(others, (collection) => exactly(collection, source))).flat()
    if (there.length > 0) {
      return yield* refuse(
        "collection",
        `source: ${given} is not in collection ${name} but in ${there.map(({ collection }) => collection).join(", ")}`
      )
    }
  }
  const near = yield* similar(collections, source)
  return yield* refuse(
    "source",
    `source: no document has the source ${given}${near.length === 0 ? "" : `; similar: ${named(near)}`}; give it as search or list_sources shows it`
  )
})

/** The document that has an id, in the named collection or in the first that has it. */
const findId = Effect.fnUntraced(function* (name: CollectionName | undefined, docId: DocumentId) {
  const having = Effect.fnUntraced(function* (collections: ReadonlyArray<CollectionName>) {
    for (const collection of collections) {
      const [found = Option.none()] = yield* orEmpty(
        collection,
        []
      )((yield* Store).lookup(collection, [{ docId, derivedId: docId }]))
      if (Option.isSome(found)) return { collection, docId } satisfies Found
    }
    return undefined
  })
  const found = yield* having(yield* collectionsFor(name))
  if (found !== undefined) return found
  const other = name === undefined ? undefined : yield* having(yield* collectionsFor(undefined))
  return yield* refuse(
    other === undefined ? "doc_id" : "collection",
    other === undefined
      ? `doc_id: no document has the id ${shownSource(docId)}; search and list_sources show ids`
      : `doc_id: ${shownSource(docId)} is not in collection ${name} but in ${other.collection}`
  )
})

/** The document that a caller names by doc_id or source, and its collection. */
export const findDocument = Effect.fn("mcp.findDocument")(function* (by: {
  readonly docId?: DocumentId | undefined
  readonly source?: string | undefined
  readonly collection?: CollectionName | undefined
}) {
  if ((by.docId === undefined) === (by.source === undefined)) {
    return yield* refuse(by.docId === undefined ? "source" : "doc_id", "give either source or doc_id")
  }
  const { collection, docId } =
    by.docId === undefined
      ? yield* findSource(by.collection, by.source as string)
      : yield* findId(by.collection, by.docId)
  const document = yield* (yield* Store)
    .get(collection, docId)
    .pipe(
      Effect.catchTag("DocumentNotFound", () =>
        refuse("doc_id", `doc_id: the document ${shownSource(docId)} has just been deleted`)
      )
    )
  return { collection, document }
})

const cited = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/s

/** As `findDocument`, but also accepts a citation as search shows it, `source:12-30`, and returns those lines too. */
export const findCited = (by: Parameters<typeof findDocument>[0]) =>
  findDocument(by).pipe(
    Effect.map((found) => ({ ...found, lines: undefined })),
    Effect.catchIf(
      (error) => error instanceof RpcError,
      (refusal) => {
        const [, source, first, last = first] = cited.exec(by.source ?? "") ?? []
        return source === undefined
          ? Effect.fail(refusal)
          : findDocument({ ...by, source }).pipe(
              Effect.map((found) => ({ ...found, lines: { startLine: Number(first), endLine: Number(last) } })),
              Effect.catchIf(
                (error) => error instanceof RpcError,
                () => Effect.fail(refusal)
              )
            )
      }
    )
  )
