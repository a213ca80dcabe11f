import * as Effect from "effect/Effect"
import type { RejectedRecord } from "../Loader.ts"
import type { Metadata } from "../../model/Document.ts"
import type { FrontMatter } from "../../chunking/frontMatter.ts"
import { lazily } from "./lazily.ts"
import { metadataFault } from "../../model/metadataFault.ts"
import { toMetadata } from "./metadata.ts"

export interface ReadFrontMatter {
  readonly title?: string | undefined
  readonly metadata: Metadata
  /** The problem, with its line in the file. */
  readonly problem?: RejectedRecord | undefined
}

interface Problem {
  /** Counted from 1 within the body. */
  readonly line: number
  readonly reason: string
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

const yaml = lazily(() => import("yaml"))
const toml = lazily(() => import("smol-toml"))

const parseYaml = (body: string): Effect.Effect<Parsed> =>
  Effect.map(yaml, ({ parseDocument }): Parsed => {
    const timestamp = { tag: "tag:yaml.org,2002:timestamp", default: true, test: dateTime, resolve: toIso } as const
    const document = parseDocument(body, {
      customTags: [timestamp],
      uniqueKeys: false,
      merge: true,
      logLevel: "error"
    })
    const [error] = document.errors
    return error === undefined
      ? { value: document.toJS() }
      : { value: plainLines(body), problem: { line: error.linePos?.[0].line ?? 1, reason: error.message } }
  })

const parseToml = (body: string): Effect.Effect<Parsed> =>
  Effect.map(toml, ({ parse, TomlError }): Parsed => {
    try {
      return { value: parse(body, { integersAsBigInt: "asNeeded" }) }
    } catch (error) {
      if (!(error instanceof TomlError)) throw error
      return { value: {}, problem: { line: error.line, reason: error.message } }
    }
  })

/** The `key: value` lines of YAML that does not parse, most often because of a colon in a title. */
const plainLines = (body: string): Record<string, string> =>
  Object.fromEntries(
    [...body.matchAll(/^([A-Za-z_][\w-]*):[ \t]+([^\s[{|>&*!#][^\r\n]*)$/gm)].map(([, key, value]) => [
      key!,
      value!.trim().replace(/^(["'])(.*)\1$/, "$2")
    ])
  )

const read = ({ problem, value }: Parsed): Omit<ReadFrontMatter, "problem"> & { problem?: Problem | undefined } => {
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

/** Parsers of untrusted text throw at endless aliases and endless nesting. */
const broken = (defect: unknown): Effect.Effect<Parsed> =>
  Effect.succeed({
    value: {},
    problem: { line: 1, reason: defect instanceof Error ? defect.message : String(defect) }
  })

/**
 * Front matter as a title and metadata. If it cannot be parsed, `problem` says why, and YAML's plain `key: value` lines
 * are kept as text.
 */
export const readFrontMatter = (front: FrontMatter): Effect.Effect<ReadFrontMatter> =>
  (front.kind === "yaml" ? parseYaml : parseToml)(front.body).pipe(
    Effect.map(read),
    Effect.catchAllDefect((defect) => Effect.map(broken(defect), read)),
    Effect.map(({ problem, ...rest }) =>
      problem === undefined ? rest : { ...rest, problem: rejected(front.kind, problem) }
    )
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
