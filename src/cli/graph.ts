import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { resolve } from "node:path"
import { Graph } from "../Graph.ts"
import { defaultCollection } from "../model/Collection.ts"
import { GraphEntity, GraphPath, placeOf, Relation } from "../model/Graph.ts"
import { largest, toDot, toGraphMl, toNodeLink } from "../entities/network.ts"
import { define, group } from "./command.ts"
import { Engine } from "./engine.ts"
import { build } from "./graphBuild.ts"
import * as Flag from "./flag.ts"
import { oneLine } from "../citations/prompt.ts"
import * as options from "./options.ts"
import { count, printResult } from "./output.ts"
import { Place, shown } from "./place.ts"
import { Terminal } from "./terminal.ts"

/** What `graph top --json` prints. */
export const GraphTopReport = Schema.Struct({
  nodes: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      kind: Schema.Literal("document", "entity"),
      source: Schema.optional(Schema.String),
      rank: Schema.Finite.annotations({ description: "PageRank; the sum of all is 1" })
    })
  )
}).annotations({ identifier: "GraphTopReport" })

const limit = (most: number, fallback: number) =>
  Flag.number("limit", { value: "N", summary: `How many (default ${fallback})`, min: 1, max: most, whole: true })

const out = Flag.file("output", { value: "FILE", summary: "Write to this file instead of standard output" })

const write = Effect.fnUntraced(function* (file: string | undefined, text: string) {
  const { note, print } = yield* Terminal
  if (file === undefined) return yield* print(text)
  const { cwd } = yield* Place
  yield* (yield* FileSystem.FileSystem).writeFileString(resolve(cwd, file), text)
  yield* note(`clew: wrote ${file}`)
})

const query = define(
  {
    name: "query",
    summary: "Show what the graph knows about a name",
    positional: { name: "ENTITY", summary: "A name, a title, a symbol", min: 1, max: Infinity },
    flags: {
      collection: options.collection,
      hops: Flag.number("hops", {
        value: "N",
        summary: "Neighbours up to so many steps away (default 1)",
        min: 1,
        max: 3,
        whole: true
      }),
      kind: Flag.choice("kind", { choices: Relation.literals, summary: "Only neighbours by this relation" }),
      limit: limit(200, 20)
    },
    examples: ["clew graph query Ada Lovelace", "clew graph query git-rebase --hops 2 --kind links"]
  },
  (flags, words) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const { cwd } = yield* Place
      const { colors } = (yield* Terminal).out
      yield* Effect.gen(function* () {
        const found = yield* (yield* Graph).entity(flags.collection ?? defaultCollection, words.join(" "), {
          ...(flags.hops === undefined ? {} : { hops: flags.hops }),
          ...(flags.limit === undefined ? {} : { limit: flags.limit }),
          kinds: flags.kind === undefined ? undefined : new Set([flags.kind])
        })
        const at = (place: Parameters<typeof placeOf>[0] & { readonly source: string }) =>
          colors.cyan(oneLine(`${shown(cwd, place.source)}${placeOf(place)}`))
        const text = [
          `${colors.bold(oneLine(found.name))}  in ${count(found.documents, "document")}`,
          ...(found.description === undefined ? [] : [oneLine(found.description)]),
          "",
          ...found.mentions.map((mention) => `${mention.relation.padEnd(8)}  ${at(mention)}  ${oneLine(mention.name)}`),
          ...(found.neighbours.length === 0 ? [] : ["", colors.bold("Neighbours")]),
          ...found.neighbours.map(
            ({ documents, hops, name, relation, says, ...place }) =>
              `${relation.padEnd(8)}  ${oneLine(name)} (${count(documents, "document")}${hops > 1 ? `, ${hops} steps away` : ""})  ` +
              `${at(place)}${says === undefined ? "" : `  ${colors.dim(oneLine(says))}`}`
          )
        ]
        yield* printResult(GraphEntity, found, Effect.succeed(text.join("\n")))
      }).pipe(Effect.provide(engine.open("read")))
    })
)

const path = define(
  {
    name: "path",
    summary: "Show a shortest path between two names",
    positional: { name: "ENTITY", summary: "Two names, each quoted if it has several words", min: 2, max: 2 },
    flags: { collection: options.collection },
    examples: ['clew graph path "Hello Love" Tennessee']
  },
  (flags, [from = "", to = ""]) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const { cwd } = yield* Place
      const { colors } = (yield* Terminal).out
      yield* Effect.gen(function* () {
        const found = yield* (yield* Graph).path(flags.collection ?? defaultCollection, from, to)
        const text = found.steps.map(
          (step) =>
            `${colors.bold(oneLine(step.from))} → ${colors.bold(oneLine(step.to))}  ` +
            `${colors.cyan(oneLine(`${shown(cwd, step.source)}${placeOf(step)}`))}` +
            `${step.says === undefined ? "" : `  ${colors.dim(oneLine(step.says))}`}\n    ${oneLine(step.text.slice(0, 300))}`
        )
        yield* printResult(
          GraphPath,
          found,
          Effect.succeed(text.length === 0 ? "No path of up to six steps" : text.join("\n"))
        )
      }).pipe(Effect.provide(engine.open("read")))
    })
)

const top = define(
  {
    name: "top",
    summary: "List the most central documents and names (PageRank)",
    flags: { collection: options.collection, limit: limit(1000, 20) }
  },
  (flags) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const { cwd } = yield* Place
      yield* Effect.gen(function* () {
        const { nodes } = yield* (yield* Graph).whole(flags.collection ?? defaultCollection)
        const best = nodes.slice(0, flags.limit ?? 20)
        yield* printResult(
          GraphTopReport,
          {
            nodes: best.map(({ kind, label, rank, source }) => ({
              name: label,
              kind,
              rank,
              ...(source === undefined ? {} : { source })
            }))
          },
          Effect.succeed(
            best
              .map(
                ({ kind, label, rank, source }) =>
                  `${rank.toFixed(5)}  ${kind.padEnd(8)}  ${oneLine(label)}${source === undefined || source === label ? "" : `  ${oneLine(shown(cwd, source))}`}`
              )
              .join("\n") || "The graph is empty"
          )
        )
      }).pipe(Effect.provide(engine.open("read")))
    })
)

const formats = { graphml: toGraphMl, json: toNodeLink, dot: toDot } as const

const exported = define(
  {
    name: "export",
    summary: "Write the graph for other programs",
    flags: {
      collection: options.collection,
      format: Flag.choice("format", {
        choices: ["graphml", "json", "dot"],
        summary: "GraphML (default; Gephi opens it), JSON (node-link) or DOT (Graphviz)"
      }),
      output: out
    },
    examples: ["clew graph export --output graph.graphml", "clew graph export --format json | jq .nodes"]
  },
  (flags) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      yield* Effect.gen(function* () {
        const network = yield* (yield* Graph).whole(flags.collection ?? defaultCollection)
        yield* write(flags.output, formats[flags.format ?? "graphml"](network))
      }).pipe(Effect.provide(engine.open("read")))
    })
)

const show = define(
  {
    name: "show",
    summary: "Write the graph as an HTML page for a browser",
    flags: { collection: options.collection, limit: limit(20_000, 5000), output: out },
    details: ["The page needs no network and no server. It shows the nodes with the highest PageRank."],
    examples: ["clew graph show --output graph.html"]
  },
  (flags) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const collection = flags.collection ?? defaultCollection
      yield* Effect.gen(function* () {
        const graph = yield* Graph
        const network = largest(yield* graph.whole(collection), flags.limit ?? 5000)
        const { toPage } = yield* Effect.promise(() => import("../entities/page.ts"))
        yield* write(flags.output, toPage(yield* graph.placed(network), `Clew: ${collection}`))
      }).pipe(Effect.provide(engine.open("read")))
    })
)

export const graph = group(
  define({ name: "graph", summary: "Build, query and show the knowledge graph", flags: {} }, () =>
    Effect.flatMap(Terminal, ({ print }) =>
      print("Use clew graph build, query, path, top, export or show; --help says more")
    )
  ),
  [build, query, path, top, exported, show]
)
