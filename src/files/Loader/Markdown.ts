import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { extension, formatOfName } from "../../chunking/format.ts"
import { type FrontMatter, frontMatterSpan } from "../../chunking/frontMatter.ts"
import { type Metadata, metadataFault } from "../../model/Document.ts"
import type { FileFormat, Loaded, RejectedRecord, SourceFile } from "../Loader.ts"
import { decode } from "./decode.ts"
import { content } from "./read.ts"
import { toMetadata } from "./record.ts"

interface Problem {
  /** Counted from 1 within the body. */
  readonly line: number
  readonly reason: string
}

interface ReadFrontMatter {
  readonly title?: string | undefined
  readonly metadata: Metadata
  readonly problem?: Problem | undefined
}

interface Parsed {
  readonly value: unknown
  readonly problem?: Problem | undefined
}

const dateTime = /^\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d(?::\d\d(?:\.\d+)?)?[ \t]*(Z|[-+]\d\d?(?::?\d\d)?)?$/

/** YAML's timestamp as ISO 8601: in UTC if it has a zone, else unchanged. */
const toIso = (text: string): string => {
  if (dateTime.exec(text)?.[1] === undefined) return text.replace(/[ \t]+|t/, "T")
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? text : time.toISOString()
}

const parseYaml = (body: string): Effect.Effect<Parsed> =>
  Effect.map(
    Effect.promise(() => import("yaml")),
    ({ parseDocument }): Parsed => {
      const timestamp = { tag: "tag:yaml.org,2002:timestamp", default: true, test: dateTime, resolve: toIso } as const
      const document = parseDocument(body, {
        customTags: [timestamp],
        intAsBigInt: true,
        uniqueKeys: false,
        merge: true,
        logLevel: "error"
      })
      const [error] = document.errors
      return error === undefined
        ? { value: document.toJS() }
        : { value: plainLines(body), problem: { line: error.linePos?.[0].line ?? 1, reason: error.message } }
    }
  )

const parseToml = (body: string): Effect.Effect<Parsed> =>
  Effect.map(
    Effect.promise(() => import("smol-toml")),
    ({ parse, TomlError }): Parsed => {
      try {
        return { value: parse(body, { integersAsBigInt: "asNeeded" }) }
      } catch (error) {
        if (!(error instanceof TomlError)) throw error
        return { value: {}, problem: { line: error.line, reason: error.message } }
      }
    }
  )

/** The `key: value` lines of YAML that does not parse, most often because of a colon in a title. */
const plainLines = (body: string): Record<string, string> =>
  Object.fromEntries(
    [...body.matchAll(/^([A-Za-z_][\w-]*):[ \t]+([^\s[{|>&*!#][^\r\n]*)$/gm)].map(([, key, value]) => [
      key!,
      value!.trim().replace(/^(["'])(.*)\1$/, "$2")
    ])
  )

const read = ({ problem, value }: Parsed): ReadFrontMatter => {
  if (typeof value !== "object" || Array.isArray(value)) {
    return { metadata: {}, problem: { line: 1, reason: "it holds no keys" } }
  }
  const { title, ...metadata } = toMetadata({ ...value })
  const fault = metadataFault(metadata)
  if (fault !== undefined) return { metadata: {}, problem: { line: 1, reason: fault.message } }
  if (title !== null && typeof title === "object") {
    return { metadata, problem: problem ?? { line: 1, reason: "title is not a text" } }
  }
  const text = title === undefined || title === null ? "" : String(title).trim()
  return { metadata, problem, ...(text === "" ? {} : { title: text }) }
}

/** Front matter as a title and metadata; if it cannot be parsed, a problem, and YAML's plain `key: value` lines. */
const readFrontMatter = ({ indented: body, kind }: FrontMatter): Effect.Effect<ReadFrontMatter> =>
  (kind === "yaml" ? parseYaml : parseToml)(body).pipe(
    Effect.map(read),
    // Parsers of untrusted text throw at endless aliases and endless nesting, and at aliases of nothing.
    Effect.catchAllDefect((defect) => {
      const reason = defect instanceof Error ? defect.message : String(defect)
      // "Unresolved alias (the anchor must be set before the alias): NAME"
      const alias = reason.startsWith("Unresolved alias ") ? reason.slice(reason.lastIndexOf(": ") + 2) : undefined
      const before = alias === undefined ? "" : body.slice(0, body.indexOf(`*${alias}`))
      const problem = { line: before.split("\n").length, reason }
      return Effect.succeed(read({ value: kind === "yaml" ? plainLines(body) : {}, problem }))
    })
  )

const rejected = (kind: FrontMatter["kind"], { line, reason }: Problem): RejectedRecord => {
  const [what = reason] = reason.split("\n", 1)
  return {
    _tag: "Rejected",
    // The opening fence is the file's first line.
    line: line + 1,
    reason: `front matter (${kind}): ${what.replace(/ at line \d+, column \d+:?$/, "")}`
  }
}

const heading = /^#{1,6}[ \t]+\S/m

/** Notes in .txt files or without an extension that open with front matter and have headings. */
const looksLikeMarkdown = (file: SourceFile): boolean => {
  const ending = extension(file.path)
  if (file.kind._tag === "Other" || !(ending === undefined || ending === "txt" || ending === "text")) return false
  const head = decode(file.head, file.kind.encoding)
  const front = frontMatterSpan(head)
  return front !== undefined && heading.test(head.slice(front.end))
}

/**
 * Markdown as one document: the whole text, with front matter also as metadata. Front matter that cannot be parsed is
 * rejected with its line, and the document is still read.
 */
export const format: FileFormat = {
  name: "markdown",
  version: 2,
  accepts: (file) => file.kind._tag === "Text" && (formatOfName(file.path) === "markdown" || looksLikeMarkdown(file)),
  load: (file) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const text = yield* content(file)
        const front = frontMatterSpan(text)
        const { metadata, problem, title }: ReadFrontMatter =
          front === undefined ? { metadata: {} } : yield* readFrontMatter(front)
        const document: Loaded = { _tag: "Loaded", content: text, format: "markdown", title, metadata }
        return Stream.fromIterable(
          front === undefined || problem === undefined ? [document] : [rejected(front.kind, problem), document]
        )
      })
    )
}
