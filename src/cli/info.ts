import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Struct from "effect/Struct"
import { Collections } from "../Collections.ts"
import { StoreConfig, indexName } from "../Config.ts"
import { Embedders } from "../Embedders.ts"
import { defaultCollection, describeEmbedder } from "../model/Collection.ts"
import { Stats, type StoreInfo, toEmbedding, toStats } from "../model/Stats.ts"
import { Store } from "../Store.ts"
import { define } from "./command.ts"
import { Engine, Place, displayPath, reading } from "./engine.ts"
import { foreignTexts } from "./indexing.ts"
import * as options from "./flags.ts"
import { bytesText, count, numberText, printResult } from "./output.ts"
import { shareText } from "./progress.ts"
import { Terminal } from "./terminal.ts"
import { Graph } from "../Graph.ts"
import { linkageText } from "./graph.ts"
import { version } from "../version.ts"
import { wrapLine } from "./wrap.ts"

/** Columns before a value. */
const labelled = 13

const products = { sqlite: "SQLite", postgres: "PostgreSQL", opensearch: "OpenSearch" } as const

/** The store in words, and what it can. */
const storeText = ({ backend, capabilities, version }: StoreInfo): string => {
  const can = Struct.keys(capabilities).filter((name) => capabilities[name])
  return `${products[backend]} ${version}: ${can.join(", ").replaceAll("_", " ")}`
}

export const info = define(
  {
    name: "info",
    summary: "Show what is in the index",
    flags: { collection: options.onlyCollection },
    examples: ["clew info", "clew info --json"]
  },
  function* (flags) {
    const engine = yield* Engine
    yield* reading(function* () {
      const store = yield* Store
      const { cwd } = yield* Place
      const { note, out } = yield* Terminal
      const index = indexName(yield* StoreConfig)
      const stats = yield* store.stats(flags.collection)
      const sizes = yield* store.sizes()
      const about = yield* store.about()
      const collections = yield* store.collections
      const shownFirst =
        collections.find(({ name }) => name === (flags.collection ?? defaultCollection)) ?? collections[0]
      const joined = yield* (yield* Graph).linkageIn(flags.collection)
      const embedding = shownFirst?.embedder ?? (yield* (yield* Embedders).configured.identity)

      const languages = yield* (yield* Collections).languages(shownFirst)

      const foreign = shownFirst === undefined ? undefined : yield* foreignTexts(shownFirst.name, embedding)

      const text = Effect.gen(function* () {
        const file = yield* engine.configFile
        const row = (name: string, value: string) => {
          const lines = out.isTerminal ? wrapLine(value, Math.max(20, out.columns - labelled)) : [value]
          return `${out.colors.bold(name.padEnd(labelled - 1))} ${lines.join(`\n${" ".repeat(labelled)}`)}`
        }
        return [
          row("Index", displayPath(cwd, index)),
          row(
            "Size",
            `${bytesText(stats.databaseBytes)} (${sizes.map(({ value, what }) => `${what} ${bytesText(value)}`).join(", ")})`
          ),
          row("Store", storeText(about)),
          row("Documents", numberText(stats.documents)),
          row("Passages", numberText(stats.passages)),
          row("Collections", collections.map(({ name }) => name).join(", ") || "none"),
          ...(joined.linkage === undefined ? [] : [row("Graph", linkageText(joined.linkage))]),
          row("Embedder", describeEmbedder(embedding)),
          ...(languages === undefined ? [] : [row("Languages", languages.join(", "))]),
          ...(shownFirst?.next === undefined
            ? []
            : [
                row(
                  "Changing to",
                  `${describeEmbedder(shownFirst.next.embedder)}: ${numberText(shownFirst.next.done)} of ${count(shownFirst.passages, "passage")} (${shareText(shownFirst.next.done, shownFirst.passages)}); \`clew reindex -c ${shownFirst.name}\` goes on with it`
                )
              ]),
          row(
            "Config",
            Option.match(file, { onNone: () => "defaults, no file", onSome: (name) => displayPath(cwd, name) })
          ),
          row("Version", version)
        ].join("\n")
      })
      if (foreign !== undefined) yield* note(`clew: ${foreign}`)
      yield* printResult(
        Stats,
        toStats(
          stats,
          sizes,
          {
            ...joined,
            store: about,
            embedding: toEmbedding(embedding),
            read_only: false,
            version,
            uptime_seconds: Math.floor(process.uptime()),
            languages
          },
          shownFirst
        ),
        text
      )
    })
  }
)
