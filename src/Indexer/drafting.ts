import { createHash } from "node:crypto"
import { judgingFormat, stretches } from "../chunking/format.ts"
import { DocumentId, type Format } from "../model/Document.ts"
import type { Draft } from "../model/Draft.ts"
import { wellFormed } from "../model/kinds.ts"
import type { Steps } from "../runtime/EventLoop.ts"

/** The input of a draft. */
export interface Input extends Omit<Draft, "derivedId" | "fingerprint" | "format"> {
  readonly format?: Format | undefined
}

/** The lines that its passages are cited by, where they are not those of the text. */
const linesOf = ({ marks = [] }: Input): ReadonlyArray<string> => {
  const lines = marks.flatMap(({ line, start }) => (line === undefined ? [] : [start, line]))
  return lines.length === 0 ? [] : [lines.join()]
}

/** Makes a draft, in steps; `settings` name what besides the text decides how it is cut. */
export function* drafting(input: Input, settings: string): Steps<Draft> {
  const content = wellFormed(input.content)
  const source = input.source === undefined ? undefined : wellFormed(input.source)
  const title = input.title === undefined ? undefined : wellFormed(input.title)
  const format = input.format ?? (yield* judgingFormat(source, content))
  return {
    ...input,
    content,
    source,
    title,
    format,
    derivedId: yield* derivingId({ source, content }),
    fingerprint: yield* fingerprinting([settings, format, title ?? "", input.metadata, ...linesOf(input)], content)
  }
}

/** The SHA-256 of a text in pieces, one piece per step. */
function* sha256(pieces: Iterable<string>): Generator<undefined, string> {
  const hash = createHash("sha256")
  for (const piece of pieces) {
    hash.update(piece)
    yield
  }
  return hash.digest("hex")
}

function* naming(kind: "content" | "source", text: string): Generator<string> {
  yield `${kind}:`
  yield* stretches(text)
}

/** The id of a document without one: 128 bits of the hash of its source, else of its content; in steps. */
export function* derivingId(input: {
  readonly source?: string | undefined
  readonly content: string
}): Generator<undefined, DocumentId> {
  const { content, source } = input
  const hash = yield* sha256(source === undefined ? naming("content", content) : naming("source", source))
  return DocumentId.make(hash.slice(0, 32))
}

/** JSON with every object's keys in order, so that equal values hash alike. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  )

/** The JSON of a list that ends with a text. */
function* listed(parts: ReadonlyArray<unknown>, content: string): Generator<string> {
  yield `${canonical(parts).slice(0, -1)},"`
  for (const piece of stretches(content)) yield JSON.stringify(piece).slice(1, -1)
  yield '"]'
}

/** A hash of everything that passages are made from, the content last; in steps. */
export const fingerprinting = (parts: ReadonlyArray<unknown>, content: string): Generator<undefined, string> =>
  sha256(listed(parts, content))
