import { type Lines, linesOf } from "../../chunking/located.ts"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { orEmpty } from "../../Collections.ts"
import { documentsEnding, similarSources } from "../../filterHint.ts"
import { find } from "../../find.ts"
import { Search } from "../../Search.ts"
import { Store } from "../../Store.ts"
import { bounded, boundedSource } from "../../citations/line.ts"
import { fence, state } from "../../citations/prompt.ts"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentId, Source } from "../../model/Document.ts"
import { type Cited, linesCited, referencesIn } from "../../model/Locator.ts"
import { toFreshness } from "../../model/SearchResult.ts"
import type { StoredDocument } from "../../model/Stored.ts"
import { mustBe } from "../../model/kinds.ts"
import { Tokenizer } from "../../packaged/Tokenizer.ts"
import { RpcError, refuse } from "../RpcError.ts"
import { make } from "../Tool.ts"
import {
  boundedMetadata,
  defaultMaxTokens,
  described,
  guard,
  leastFor,
  maxTokens,
  quote,
  surelyFits,
  tokensOf,
  tooFewTokens
} from "./answers.ts"

const candidates = 5

/** How many collections are searched for a document without a named collection. */
const mostCollections = 50

const shownSource = (source: string): string => JSON.stringify(boundedSource(source))

/** The collections to search: the named one, else all, the default one first. */
export const collectionsFor = Effect.fnUntraced(function* (name: CollectionName | undefined) {
  if (name !== undefined) return [name]
  const all = (yield* (yield* Store).collections).map((collection) => collection.name)
  return all.sort((a, b) => Number(b === defaultCollection) - Number(a === defaultCollection)).slice(0, mostCollections)
})

/** The document with this source, or with it as doc_id, in each of the collections that has one. */
const exactly = (collections: ReadonlyArray<CollectionName>, source: string) =>
  Effect.map(
    Effect.forEach(collections, (name) => orEmpty(name, undefined)(find([name], { source }))),
    (found) => found.flatMap((one) => (one === undefined ? [] : [{ ...one, source }]))
  )

const named = (found: ReadonlyArray<{ readonly collection: CollectionName; readonly source: string }>): string =>
  found
    .map(({ collection, source }) =>
      collection === defaultCollection ? boundedSource(source) : `${boundedSource(source)} (collection ${collection})`
    )
    .join(", ")

/**
 * The document of a source, or the only one whose source ends like it. Fails with -32602, naming similar sources and
 * the collections that have it.
 */
const findSource = Effect.fn("mcp.findSource")(function* (name: CollectionName | undefined, source: string) {
  const collections = yield* collectionsFor(name)
  const given = shownSource(source)
  const exact = yield* exactly(collections, source)
  const ending = exact.length > 0 ? exact : yield* documentsEnding(collections, source, candidates + 1)
  const first = ending.find(({ collection }) => collection === defaultCollection) ?? ending[0]
  if (first !== undefined && ending.every((each) => each.source === first.source)) {
    if (ending.length === 1 || first.collection === defaultCollection) return first
    return yield* refuse(
      "collection",
      `source: ${given} is in collections ${ending.map(({ collection }) => collection).join(", ")}; name one as collection`
    )
  }
  if (ending.length > 1) {
    const more = ending.length > candidates ? ", …" : ""
    return yield* refuse(
      "source",
      `source: several documents end in ${given}: ${named(ending.slice(0, candidates))}${more}; give the full source of one`
    )
  }
  if (name !== undefined) {
    const others = (yield* collectionsFor(undefined)).filter((collection) => collection !== name)
    const there = yield* exactly(others, source)
    if (there.length > 0) {
      return yield* refuse(
        "collection",
        `source: ${given} is not in collection ${name} but in ${there.map(({ collection }) => collection).join(", ")}`
      )
    }
  }
  const near = yield* similarSources(collections, source)
  return yield* refuse(
    "source",
    `source: no document has the source ${given}${near.length === 0 ? "" : `; similar: ${named(near)}`}; give it as search or list_sources shows it`
  )
})

/** The document that has an id, in the named collection or in the first that has it. */
const findId = Effect.fnUntraced(function* (name: CollectionName | undefined, docId: DocumentId) {
  const having = (collections: ReadonlyArray<CollectionName>) =>
    orEmpty(name ?? defaultCollection, undefined)(find(collections, { docId }))
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

/** As `findDocument`, but also accepts a citation as search shows it, `a.md:12-30` or `a.pdf#page=3`, and returns it too. */
export const findCited = (by: Parameters<typeof findDocument>[0]) => {
  const at = (source: string | undefined, cited: Cited | undefined) =>
    Effect.map(findDocument({ ...by, source }), (found) => ({ ...found, cited }))
  if (by.source === undefined) return at(undefined, undefined)
  const [first, ...others] = referencesIn(by.source)
  return others.reduce(
    (before, { cited, source }) =>
      Effect.catchIf(
        before,
        (error) => error instanceof RpcError,
        () => at(source, cited)
      ),
    at(first.source, first.cited)
  )
}

export const natural = (name: string, from: number, description: string) =>
  Schema.Int.pipe(Schema.greaterThanOrEqualTo(from)).annotations({
    description,
    jsonSchema: { type: "integer", minimum: from, description },
    message: mustBe(name, `an integer of at least ${from}`)
  })

const DocumentArguments = Schema.Struct({
  source: Schema.optional(described(Source, "As search shows it, with or without :lines")),
  docId: Schema.optional(described(DocumentId, "Instead of source")).pipe(Schema.fromKey("doc_id")),
  startLine: Schema.optional(natural("start_line", 1, "First line, from 1")).pipe(Schema.fromKey("start_line")),
  endLine: Schema.optional(natural("end_line", 1, "Last line; default: the end")).pipe(Schema.fromKey("end_line")),
  chunkIndex: Schema.optional(natural("chunk_index", 0, "Passage to read around, from 0")).pipe(
    Schema.fromKey("chunk_index")
  ),
  context: Schema.optional(natural("context", 0, "Passages around chunk_index")),
  offset: Schema.optional(natural("offset", 0, "next_offset of the last answer")),
  collection: Schema.optional(described(CollectionName, "If several have it")),
  maxTokens
})
type DocumentArguments = typeof DocumentArguments.Type

const isPart = ({ chunkIndex, endLine, offset, startLine }: DocumentArguments): boolean =>
  [chunkIndex, endLine, offset, startLine].some((part) => part !== undefined)

/** The requested part, as offsets. */
const range = (args: DocumentArguments, { content, passages }: StoredDocument, lines: Lines) =>
  Effect.gen(function* () {
    const { chunkIndex, context = 1, endLine, offset, startLine } = args
    const ways = [startLine ?? endLine, chunkIndex, offset].filter((way) => way !== undefined)
    if (ways.length > 1) {
      return yield* refuse("chunk_index", "give only one of lines (start_line, end_line), chunk_index or offset")
    }
    if (chunkIndex !== undefined) {
      const wanted = passages.filter(({ ordinal }) => Math.abs(ordinal - chunkIndex) <= context)
      if (!passages.some(({ ordinal }) => ordinal === chunkIndex)) {
        return yield* refuse(
          "chunk_index",
          `chunk_index must be from 0 to ${passages.length - 1} in this document, got ${chunkIndex}`
        )
      }
      return { start: Math.min(...wanted.map(({ start }) => start)), end: Math.max(...wanted.map(({ end }) => end)) }
    }
    if (offset !== undefined) {
      if (offset > content.length) {
        return yield* refuse("offset", `offset must be from 0 to ${content.length} in this document, got ${offset}`)
      }
      return {
        start: /^[\ud800-\udbff][\udc00-\udfff]$/.test(content.slice(offset - 1, offset + 1)) ? offset - 1 : offset,
        end: content.length
      }
    }
    const first = startLine ?? lines.first
    const last = endLine ?? lines.last
    if (first > lines.last || first > last || last < lines.first) {
      return yield* refuse(
        first > last ? "end_line" : "start_line",
        `start_line and end_line must be lines from ${lines.first} to ${lines.last} of this document, in order, got ${first} and ${last}`
      )
    }
    const [start, end] = [lines.startOf(first), lines.endOf(last)]
    // On lines of the original between those of two passages, the one before may go on.
    return { start: start < end ? start : (passages.findLast((each) => each.start < start)?.start ?? start), end }
  })

/** The start of a text that fits into the budget, in whole lines if one fits; at least one character. */
const head = (text: string, maxTokens: number, count: (text: string) => number): string => {
  // A rough upper bound first, so that most texts need only one count.
  let high = Math.min(text.length, maxTokens * 16)
  if (high === text.length && count(text) <= maxTokens) return text
  let low = 0
  while (low + 1 < high) {
    const middle = (low + high) >> 1
    if (count(text.slice(0, middle)) <= maxTokens) low = middle
    else high = middle
  }
  const line = text.lastIndexOf("\n", low - 1) + 1
  const cut = Math.max(1, line > 0 ? line : low)
  return text.slice(0, /[\ud800-\udbff]$/.test(text.slice(0, cut)) ? cut + 1 : cut)
}

/** Tokens of text that an answer has room for at least, unless the text itself is shorter. */
const leastText = 32

/** The answer of `get_document`. `again` begins the sentence that says how to read what was cut. */
export const readDocument = (args: DocumentArguments, again = "Continue with") =>
  Effect.gen(function* () {
    const { maxTokens = defaultMaxTokens } = args
    const { cited, collection, document } = yield* findCited(args)
    const { content, docId, metadata, passages, title } = document
    const source = document.source ?? docId
    const lines = linesOf(document)
    const there = cited && linesCited(document, cited)
    if (cited !== undefined && there === undefined) {
      return yield* refuse("source", `source: ${shownSource(source)} has no such place; name the part by chunk_index`)
    }
    const { end: wantedEnd, start } = yield* range(isPart(args) ? args : { ...args, ...there }, document, lines)
    const { count } = yield* (yield* Tokenizer).load
    const dated = yield* (yield* Search).dated(collection, document)
    const answerWith = (text: string) => {
      const end = start + text.length
      const startLine = lines.lineAt(start)
      const endLine = lines.lineAt(Math.max(start, end - 1))
      const next = end < wantedEnd ? end : undefined
      const where = startLine === endLine ? `Line ${startLine}` : `Lines ${startLine}-${endLine}`
      const opening = `${where} of ${lines.last}${state(dated)}. ${guard}`
      const closing =
        next === undefined
          ? []
          : [
              `Cut to fit max_tokens=${maxTokens}: ${wantedEnd - next} more characters follow. ${again} offset=${next}${args.endLine === undefined ? "" : " (to the end), or with start_line and end_line"}.`
            ]
      const marks = fence(text)
      return {
        structured: {
          notice: [opening, ...closing].join(" "),
          doc_id: docId,
          source: boundedSource(source),
          title: title === undefined ? undefined : bounded(title),
          collection: collection === defaultCollection ? undefined : collection,
          metadata: boundedMetadata(metadata),
          text,
          start,
          end,
          start_line: startLine,
          end_line: endLine,
          lines: lines.last,
          chunks: passages.length,
          ...toFreshness(dated),
          next_offset: next
        },
        text: [
          [
            opening,
            quote([`source: ${boundedSource(source)}`, ...(title === undefined ? [] : [`title: ${bounded(title)}`])]),
            `${marks}\n${text}${text.endsWith("\n") ? "" : "\n"}${marks}`,
            ...closing
          ].join("\n")
        ]
      }
    }
    const wanted = content.slice(start, wantedEnd)
    const whole = answerWith(wanted)
    if (surelyFits(whole, maxTokens)) return whole
    const longer = (text: string) => Math.max(count(text), count(JSON.stringify(text)))
    const sizeOf = (text: string) => tokensOf(count, answerWith(text))
    const beginning = sizeOf(head(wanted, leastText, longer))
    if (maxTokens < beginning && maxTokens < sizeOf(wanted)) {
      const least = leastFor(Math.min(beginning, sizeOf(wanted)))
      return yield* tooFewTokens(maxTokens, "the answer with the beginning of the text", least)
    }
    let room = Math.max(leastText, maxTokens - sizeOf(""))
    let text = head(wanted, room, longer)
    for (let over = sizeOf(text) - maxTokens; over > 0 && room > leastText; over = sizeOf(text) - maxTokens) {
      text = head(wanted, (room = Math.max(leastText, room - over)), longer)
    }
    return answerWith(text)
  })

export const getDocument = make({
  name: "get_document",
  title: "Read a document",
  description: () =>
    "Read an indexed document or part of it, exactly as indexed: around a passage, or to quote more. " +
    "Name it by source as search shows it (source:12-30), the part by lines, chunk_index, or not at all.",
  input: DocumentArguments,
  defaults: () => ({ context: 1, max_tokens: defaultMaxTokens }),
  // A source may end in its lines, and be a doc_id.
  unlisted: ["start_line", "end_line", "doc_id"],
  long: true,
  run: (args) => readDocument(args)
})
