import * as Clock from "effect/Clock"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as path from "node:path"
import { Collections } from "../Collections.ts"
import { filterHint } from "../filterHint.ts"
import type { CollectionName } from "../model/Collection.ts"
import { indexedSince } from "../model/Since.ts"
import type { ListedDocument } from "../model/Stored.ts"
import { Store } from "../Store.ts"
import { extension } from "../chunking/format.ts"
import { nothingFound } from "./asking.ts"
import { Place, displayPath, reading } from "./engine.ts"
import * as Cli from "./command.ts"
import * as options from "./flags.ts"
import { count, numberText, printJson } from "./output.ts"
import { type Face, Terminal } from "./terminal.ts"
import { widthOf, wrapLine } from "./wrap.ts"

/** What `list --json` prints. */
export const ListReport = Schema.Struct({
  documents: Schema.Array(
    Schema.Struct({
      source: Schema.String.annotations({ description: "The document's source, or its doc_id if it has none" }),
      doc_id: Schema.String,
      title: Schema.optional(Schema.String),
      collection: Schema.String,
      chunks: Schema.Int,
      characters: Schema.Int.annotations({ description: "UTF-16 units up to the end of the last passage" }),
      format: Schema.String.annotations({ description: "Its file name extension; text if it has none" }),
      indexed_at: Schema.Int.annotations({ description: "Milliseconds since 1970" })
    })
  )
}).annotations({ identifier: "ListReport" })

const pageSize = 1000

interface Row extends Omit<ListedDocument, "place"> {
  readonly collection: CollectionName
}

const nameOf = ({ docId, source }: Row): string => source ?? docId

const orders = {
  source: () => 0,
  passages: (a: Row, b: Row) => b.passages - a.passages,
  size: (a: Row, b: Row) => b.characters - a.characters,
  indexed: (a: Row, b: Row) => b.indexedAt - a.indexedAt
} as const

/** A glob, or a file or folder of that name, as stored or relative to the working directory. */
const globs = (cwd: string, glob: string): ReadonlyArray<string> =>
  [...new Set([glob, path.resolve(cwd, glob)])].flatMap((each) =>
    /[*?]/.test(glob) ? [each] : [each, `${each.replace(/\/$/, "")}/*`, `${each}#*`]
  )

const formatOf = (row: Row): string => extension(row.origin ?? nameOf(row)) ?? "text"

const dayAndTime = (ms: number): string => {
  const date = new Date(ms)
  const two = (value: number) => String(value).padStart(2, "0")
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** One row per document under column names; if the terminal is too narrow, the source with the rest below. */
export const tableOf = (
  rows: ReadonlyArray<Row>,
  { cwd, out, several }: { readonly several: boolean; readonly out: Face; readonly cwd: string }
): string => {
  const cells = rows.map((row) => [
    numberText(row.passages),
    numberText(row.characters),
    formatOf(row),
    dayAndTime(row.indexedAt),
    ...(several ? [row.collection as string] : [])
  ])
  const sources = rows.map((row) => displayPath(cwd, nameOf(row)))
  const head = ["passages", "characters", "format", "indexed", ...(several ? ["collection"] : [])]
  const widths = head.map((name, at) => cells.reduce((most, row) => Math.max(most, row[at]!.length), name.length))
  const line = (row: ReadonlyArray<string>, last: string) =>
    [...row.map((cell, at) => (at < 2 ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))), last].join("  ")
  const table = [line(head, "source"), ...sources.map((source, at) => line(cells[at]!, source))]
  if (!out.isTerminal || table.every((text) => widthOf(text) <= out.columns)) {
    return [out.colors.dim(table[0]!), ...table.slice(1)].join("\n")
  }
  return rows
    .map((row, at) => {
      const [, , ...rest] = cells[at]!
      const about = [count(row.passages, "passage"), count(row.characters, "character"), ...rest].join(", ")
      const below = wrapLine(about, Math.max(20, out.columns - 2)).map((text) => `  ${text.trimEnd()}`)
      return [sources[at]!, ...below.map(out.colors.dim)].join("\n")
    })
    .join("\n")
}

export const list = Cli.define(
  {
    name: "list",
    summary: "List the documents of the index",
    positional: { name: "GLOB", summary: "List only sources that match, or a folder", min: 0, max: 1, paths: true },
    flags: {
      collection: options.searchedCollection,
      since: options.since,
      sort: Cli.choice("sort", {
        summary: "Order: by source (default), most passages, longest or newest first",
        choices: Struct.keys(orders)
      })
    },
    examples: [
      "clew list",
      "clew list 'docs/*.md' --sort size",
      "clew list --since 2d --sort indexed",
      "clew list --json | jq -r '.documents[].source'"
    ],
    details: [
      "Shows each document's passages, characters, format, time of indexing and source. Exits with 3 if there is none."
    ]
  },
  function* ({ collection, since, sort = "source" }, [glob]) {
    const { cwd, globals } = yield* Place
    const { out, print } = yield* Terminal
    yield* reading(function* () {
      const store = yield* Store
      const named = glob === undefined ? undefined : { source: globs(cwd, glob) }
      const filter = indexedSince(since, yield* Clock.currentTimeMillis, named)
      const rows: Array<Row> = []
      const chosen = yield* (yield* Collections).among(collection)
      for (const { name } of chosen) {
        for (let after: ListedDocument | undefined; ;) {
          const page: ReadonlyArray<ListedDocument> = yield* store.list(name, { limit: pageSize, after, filter })
          for (const each of page) rows.push({ ...each, collection: name })
          if (page.length < pageSize) break
          after = page.at(-1)
        }
      }
      rows.sort(orders[sort])
      if (globals.json) {
        yield* printJson(ListReport, {
          documents: rows.map((row) => ({
            source: nameOf(row),
            doc_id: row.docId,
            title: row.title,
            collection: row.collection,
            chunks: row.passages,
            characters: row.characters,
            format: formatOf(row),
            indexed_at: row.indexedAt
          }))
        })
      } else if (rows.length > 0) {
        const several = new Set(rows.map((row) => row.collection)).size > 1
        yield* print(tableOf(rows, { several, out, cwd }))
      }
      if (rows.length === 0) {
        const names = chosen.map(({ name }) => name)
        const hint = filter === undefined ? undefined : yield* filterHint(filter, names)
        return yield* nothingFound(hint, "no documents")
      }
    })
  }
)
