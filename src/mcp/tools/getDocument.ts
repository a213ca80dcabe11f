import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentId, Source } from "../../model/Document.ts"
import type { StoredDocument } from "../../model/Stored.ts"
import { bounded, fence, sourceCharacters } from "../../citations/prompt.ts"
import { Tokenizer } from "../../packaged/Tokenizer.ts"
import { invalidParams } from "../RpcError.ts"
import { make } from "../Tool.ts"
import { defaultMaxTokens } from "./budget.ts"
import { findCited } from "./document.ts"
import { type Lines, linesOf } from "../../chunking/documentLines.ts"
import { boundedMetadata, guard, Notice, quote } from "./quoted.ts"
import { described, maxTokens, optional } from "./request.ts"

const natural = (from: number, description: string) =>
  Schema.Int.pipe(Schema.between(from, Number.MAX_SAFE_INTEGER)).annotations({
    description,
    jsonSchema: { type: "integer", minimum: from, description }
  })

const DocumentArguments = Schema.Struct({
  source: Schema.optional(described(Source, "As search shows it; :lines may follow")),
  docId: Schema.optional(described(DocumentId, "Instead of source")).pipe(Schema.fromKey("doc_id")),
  startLine: Schema.optional(natural(1, "First line wanted, from 1")).pipe(Schema.fromKey("start_line")),
  endLine: Schema.optional(natural(1, "Last line wanted; default: the end")).pipe(Schema.fromKey("end_line")),
  chunkIndex: Schema.optional(natural(0, "Passage to read around, from 0")).pipe(Schema.fromKey("chunk_index")),
  context: Schema.optional(natural(0, "Passages around chunk_index")),
  offset: Schema.optional(natural(0, "next_offset of the last answer")),
  collection: Schema.optional(described(CollectionName, "Its collection, if several have it")),
  maxTokens
})
type DocumentArguments = typeof DocumentArguments.Type

const DocumentAnswer = Schema.Struct({
  notice: Notice,
  doc_id: Schema.String,
  source: Schema.String.annotations({ description: "The document's source, or its doc_id if it has none" }),
  title: Schema.optional(Schema.String),
  collection: Schema.optional(Schema.String),
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
    description: "The document's own keys"
  }),
  text: Schema.String.annotations({ description: "The requested part, exactly as in the original" }),
  start: Schema.Int.annotations({ description: "UTF-16 offset of the text in the document" }),
  end: Schema.Int.annotations({ description: "UTF-16 offset after the text" }),
  start_line: Schema.Int,
  end_line: Schema.Int,
  lines: Schema.Int.annotations({ description: "Last line of the document" }),
  chunks: Schema.Int.annotations({ description: "Passages of the document" }),
  next_offset: Schema.optional(Schema.Int.annotations({ description: "Continue here: the start of what was left out" }))
})

const refuse = (path: string, message: string) => invalidParams([{ path, message }])

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
      return { start: offset, end: content.length }
    }
    const first = startLine ?? lines.first
    const last = endLine ?? lines.last
    if (first > lines.last || first > last || last < lines.first) {
      return yield* refuse(
        first > last ? "end_line" : "start_line",
        `start_line and end_line must be lines from ${lines.first} to ${lines.last} of this document, in order, got ${first} and ${last}`
      )
    }
    return { start: lines.startOf(first), end: lines.startOf(last + 1) }
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

export const getDocument = make({
  name: "get_document",
  title: "Read a document",
  description: () =>
    "Read an indexed document, or part of it, exactly as it was indexed: to read around a passage, or to quote more. " +
    "Name it by source as search shows it (source:12-30), or by doc_id; the part by lines, by chunk_index, or not at all. " +
    "A text over max_tokens is cut at a line, and the answer gives the offset to continue.",
  input: DocumentArguments,
  output: DocumentAnswer,
  defaults: () => ({ context: 1, max_tokens: defaultMaxTokens }),
  run: (args) =>
    Effect.gen(function* () {
      const { maxTokens = defaultMaxTokens } = args
      const { collection, document, lines: cited } = yield* findCited(args)
      const { content, docId, metadata, passages, title } = document
      const source = document.source ?? docId
      const lines = linesOf(document)
      const { end: wantedEnd, start } = yield* range(isPart(args) ? args : { ...args, ...cited }, document, lines)
      const { count } = yield* (yield* Tokenizer).load
      const answerWith = (text: string) => {
        const end = start + text.length
        const startLine = lines.lineAt(start)
        const endLine = lines.lineAt(Math.max(start, end - 1))
        const next = end < wantedEnd ? end : undefined
        const where = startLine === endLine ? `Line ${startLine}` : `Lines ${startLine}-${endLine}`
        const opening = `${where} of ${lines.last}. ${guard}`
        const closing =
          next === undefined
            ? []
            : [
                `Cut to fit max_tokens=${maxTokens}: ${wantedEnd - next} more characters follow. Continue with offset=${next}${args.endLine === undefined ? "" : " (to the end), or with start_line and end_line"}.`
              ]
        const marks = fence(text)
        return {
          structured: {
            notice: [opening, ...closing].join(" "),
            doc_id: docId,
            source: bounded(source, sourceCharacters),
            ...optional("title", title === undefined ? undefined : bounded(title)),
            ...optional("collection", collection === defaultCollection ? undefined : collection),
            metadata: boundedMetadata(metadata),
            text,
            start,
            end,
            start_line: startLine,
            end_line: endLine,
            lines: lines.last,
            chunks: passages.length,
            ...optional("next_offset", next)
          },
          text: [
            [
              opening,
              quote([
                `source: ${bounded(source, sourceCharacters)}`,
                ...(title === undefined ? [] : [`title: ${bounded(title)}`])
              ]),
              `${marks}\n${text}${text.endsWith("\n") ? "" : "\n"}${marks}`,
              ...closing
            ].join("\n")
          ]
        }
      }
      const { structured, text: bare } = answerWith("")
      const frame = Math.max(count(JSON.stringify(structured)), count(bare.join("\n")))
      const longer = (text: string) => Math.max(count(text), count(JSON.stringify(text)))
      return answerWith(head(content.slice(start, wantedEnd), Math.max(1, maxTokens - frame), longer))
    })
})
