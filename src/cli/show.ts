import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { spawn } from "node:child_process"
import { Search } from "../Search.ts"
import { Store } from "../Store.ts"
import { type Lines, linesOf } from "../chunking/located.ts"
import { fragment, locatorOf, passagesAt } from "../model/Locator.ts"
import { freshness, toFreshness } from "../model/SearchResult.ts"
import { state } from "../citations/prompt.ts"
import type { StoredDocument } from "../model/Stored.ts"
import * as Cli from "./command.ts"
import { theCited } from "./document.ts"
import { Place, reading, displayPath } from "./engine.ts"
import { notFound } from "./exit.ts"
import * as options from "./flags.ts"
import { count, printJson } from "./output.ts"
import { Terminal, forTerminal, printable, printableLine } from "./terminal.ts"
import { wrapLine } from "./wrap.ts"

/** Prints a long text through $PAGER in a terminal; elsewhere, or if that fails, directly. */
const page = Effect.fnUntraced(function* (text: string) {
  const { env } = yield* Place
  const { out, print } = yield* Terminal
  const pager = env["PAGER"] ?? "less -R"
  if (!out.isTerminal || pager.trim() === "" || text.split("\n").length < (process.stdout.rows ?? 24))
    return yield* print(text)
  const shown = yield* Effect.async<boolean>((resume) => {
    const child = spawn(pager, { shell: true, stdio: ["pipe", "inherit", "inherit"] })
    child.on("error", () => resume(Effect.succeed(false)))
    // Exit code 127: the shell knows no such program.
    child.on("close", (code) => resume(Effect.succeed(code !== 127)))
    // The user may quit the pager early.
    child.stdin.on("error", () => {})
    child.stdin.end(`${forTerminal(text, out.colors.isColorSupported)}\n`)
    return Effect.sync(() => child.kill())
  })
  if (!shown) yield* print(text)
})

/** What `show --json` prints. */
export const ShowReport = Schema.Struct({
  source: Schema.String,
  doc_id: Schema.String,
  collection: Schema.String,
  title: Schema.optional(Schema.String),
  start_line: Schema.Int,
  end_line: Schema.Int,
  ...freshness,
  text: Schema.String.annotations({ description: "The requested lines, exactly as they were indexed" }),
  passage: Schema.optional(
    Schema.Struct({ chunk_index: Schema.Int, start_line: Schema.Int, end_line: Schema.Int }).annotations({
      description: "The passage that contains the line"
    })
  )
}).annotations({ identifier: "ShowReport" })

/** What is shown: a passage, several passages of one page, or lines outside all passages. */
interface Shown {
  readonly ordinal: number | undefined
  readonly startLine: number
  readonly endLine: number
}

/** The passage that contains a line, or the lines; if there is no such line, fails with those that exist. */
const lined = Effect.fnUntraced(function* (
  { docId, passages, source }: StoredDocument,
  lines: Lines,
  first: number,
  to: number
) {
  if (first < lines.first || first > lines.last) {
    const { cwd } = yield* Place
    const name = displayPath(cwd, source ?? docId)
    return yield* notFound(
      lines.first === lines.last
        ? `${name} has no line ${first}, only line ${lines.first}`
        : `${name} has no line ${first}; it has lines ${lines.first} to ${lines.last}`
    )
  }
  const found: Shown = passages.find(({ endLine, startLine }) => startLine <= first && first <= endLine) ?? {
    ordinal: undefined,
    startLine: first,
    endLine: Math.max(first, Math.min(to, lines.last))
  }
  return found
})

/** The passages of a page, a slide, a row; if there is no such place, fails with those that exist. */
const placed = Effect.fnUntraced(function* ({ docId, metadata, passages, source }: StoredDocument, text: string) {
  const { cwd } = yield* Place
  const { note } = yield* Terminal
  const wanted = locatorOf(text)
  const { pages } = metadata
  if (wanted?._tag === "Page" && typeof pages === "number" && (wanted.page < 1 || wanted.page > pages)) {
    return yield* notFound(
      `${displayPath(cwd, source ?? docId)} has no page ${wanted.page}; it has ${count(pages, "page")}`
    )
  }
  const there = wanted === undefined ? [] : passagesAt(passages, wanted)
  const [first, last] = [there[0], there.at(-1)]
  if (first !== undefined && last !== undefined) {
    // Nothing says how far the last passage reaches.
    if (wanted?._tag !== "Page" && first === passages.at(-1) && `#${text}` !== fragment(first.locator!)) {
      yield* note(printable(`clew: no passage begins at #${text}; the last begins at ${fragment(first.locator!)}`))
    }
    return { ordinal: first.ordinal, startLine: first.startLine, endLine: last.endLine } satisfies Shown
  }
  const places = [...new Set(passages.flatMap(({ locator }) => (locator === undefined ? [] : [fragment(locator)])))]
  return yield* notFound(
    places.length === 0
      ? `${displayPath(cwd, source ?? docId)} has no such places; give a line: SOURCE:LINE`
      : `no place ${JSON.stringify(`#${text}`)} in ${displayPath(cwd, source ?? docId)}; its passages begin at ${places[0]} to ${places.at(-1)}`
  )
})

/** Lines around a passage. */
const defaultContext = 5

export const show = Cli.define(
  {
    name: "show",
    summary: "Show a document, or a passage with the lines around it",
    positional: {
      name: "SOURCE[:LINE|#PLACE]",
      summary:
        "A document as shown by list or query, with an optional line or place: page=3, slide=4, Sheet1!A12, t=00:12:31",
      min: 1,
      max: 1,
      paths: true
    },
    flags: {
      collection: options.searchedCollection,
      context: Cli.integer("context", {
        value: "LINES",
        summary: `Lines around the passage (default: ${defaultContext})`,
        min: 0,
        max: 1_000_000
      })
    },
    examples: ["clew show docs/tides.md", "clew show docs/tides.md:12 --context 20", "clew show paper.pdf#page=3"],
    details: [
      "Shows the indexed text, even if the file has changed since. In a terminal, a text longer than the screen goes through $PAGER. Exits with 3 if there is no such document."
    ]
  },
  function* ({ collection, context = defaultContext }, [given = ""]) {
    const { cwd, globals } = yield* Place
    const { out } = yield* Terminal
    yield* reading(function* () {
      const { cited, ...found } = yield* theCited(given, collection)
      const document = yield* (yield* Store).get(found.collection, found.docId)
      const lines = linesOf(document)
      const passage =
        cited === undefined
          ? undefined
          : typeof cited.at === "string"
            ? yield* placed(document, cited.at)
            : yield* lined(document, lines, cited.at.startLine, cited.at.endLine)
      const start = Math.max(lines.first, (passage?.startLine ?? lines.first) - (passage ? context : 0))
      const end = Math.min(lines.last, (passage?.endLine ?? lines.last) + (passage ? context : 0))
      const text = document.content.slice(lines.startOf(start), lines.endOf(end))
      const source = document.source ?? document.docId
      const dated = yield* (yield* Search).dated(found.collection, document)
      if (globals.json) {
        return yield* printJson(ShowReport, {
          source,
          doc_id: document.docId,
          collection: found.collection,
          title: document.title,
          start_line: start,
          end_line: end,
          ...toFreshness(dated),
          text,
          passage:
            passage?.ordinal === undefined
              ? undefined
              : { chunk_index: passage.ordinal, start_line: passage.startLine, end_line: passage.endLine }
        })
      }
      const { bold, cyan, dim } = out.colors
      const width = String(end).length
      const gutter = " ".repeat(width + 4)
      const fit = (row: string) => (out.isTerminal ? wrapLine(row, Math.max(20, out.columns - gutter.length)) : [row])
      const rows = text.replace(/\n$/, "").split("\n")
      let at = lines.startOf(start)
      const body = rows.flatMap((row) => {
        const line = lines.knownAt(at)
        const about = line ?? lines.lineAt(at)
        at += row.length + 1
        const within = passage !== undefined && passage.startLine <= about && about <= passage.endLine
        const mark = within ? bold(">") : " "
        const [first = "", ...rest] = fit(printable(row))
        return [`${mark} ${dim(String(line ?? "").padStart(width))}  ${first}`, ...rest.map((part) => gutter + part)]
      })
      const head = `${cyan(displayPath(cwd, source))}${document.title === undefined ? "" : `  ${bold(printableLine(document.title))}`}`
      const stale = state(dated, "clew: the ")
      if (stale !== "") yield* (yield* Terminal).note(`${stale}; what is shown is what was indexed`)
      yield* page([head, "", ...body].join("\n"))
    })
  }
)
