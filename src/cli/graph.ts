import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { resolve } from "node:path"
import { Graph } from "../Graph.ts"
import { oneLine } from "../citations/line.ts"
import { largest, toDot, toGraphMl, toNodeLink } from "../entities/network.ts"
import type { CollectionName } from "../model/Collection.ts"
import { type Asked, GraphBuilt, GraphEntity, GraphPath, Relation, placeOf } from "../model/Graph.ts"
import { meant } from "./collections.ts"
import * as Cli from "./command.ts"
import { Place, inIndex, reading, displayPath } from "./engine.ts"
import { usage } from "./exit.ts"
import * as options from "./flags.ts"
import { count, durationText, printResult } from "./output.ts"
import { Terminal } from "./terminal.ts"
import { beginningOf, unlessTaken, writeWhole } from "./writing.ts"

/** The linkage, for people. */
export const linkageText = (linkage: number): string =>
  `${Math.round(linkage * 100)} % of the documents name or link another`

const documentsOf = ({ at_least, documents }: Pick<GraphEntity, "at_least" | "documents">): string =>
  `${at_least === true ? "at least " : ""}${count(documents, "document")}`

/** Asks the model about the passages that it has not read yet, after announcing how many calls that takes. */
const ask = Effect.fnUntraced(function* (collection: CollectionName, quiet: boolean, named: string | undefined) {
  const graph = yield* Graph
  const { err, note, noteInPlace } = yield* Terminal
  const plan = yield* graph.asking.plan(collection, named)
  if (!quiet) {
    const known = plan.passages - plan.calls
    yield* note(
      `clew: ${plan.model} will be called at most ${count(plan.calls, "time")}, once per passage` +
        (known === 0 ? "" : `; the answers for ${known} more are known`)
    )
  }
  return yield* graph.ask(
    collection,
    named,
    (done, total, { entities, relations }) =>
      quiet || !err.isTerminal
        ? Effect.void
        : noteInPlace(`clew: asked ${done} of ${total}: ${count(entities, "name")}, ${count(relations, "relation")}`),
    plan
  )
})

const askedText = ({ calls, entities, model, relations, unusable }: Asked): string =>
  `\nAsked ${model} ${count(calls, "time")}: ${count(entities, "name")}, ${count(relations, "relation")}.` +
  (unusable === 0 ? "" : ` ${count(unusable, "answer")} could not be used; the next run with --llm asks again.`)

const model = Cli.text("model", {
  alias: "m",
  value: "NAME",
  summary: "With --llm: model that reads the passages, instead of the configured one"
})

const build = Cli.define(
  {
    name: "build",
    summary: "Add documents indexed without the graph, or relations that a language model reads",
    flags: {
      collection: options.collection,
      llm: Cli.toggle("llm", {
        summary: "Let the language model of [llm] read every passage for more names and relations"
      }),
      model,
      quiet: options.quiet
    },
    examples: ["clew graph build", "clew graph build --llm -m gemma3"],
    details: [
      "Indexing adds documents to the graph; this command adds those indexed before there was a graph, or with graph.enabled = false. If it is interrupted, the next run resumes.",
      "With --llm it first says how often it will call the model. It drops names and relations that the passage does not support. The model reads a passage once, and again when its words change."
    ]
  },
  function* (flags) {
    if (flags.model !== undefined && !flags.llm) {
      return yield* usage("--model requires --llm")
    }
    if (flags.model === "") return yield* usage("--model must not be empty")
    const { err, noteInPlace } = yield* Terminal
    yield* inIndex("change", function* () {
      const collection = yield* meant(flags.collection)
      const graph = yield* Graph
      const isShown = !flags.quiet && err.isTerminal
      const show = (text: string) => (isShown ? noteInPlace(text) : Effect.void)
      const built = yield* graph.build(
        collection,
        (seen) => show(`clew: ${count(seen, "passage")} checked`),
        flags.llm ? Effect.zipRight(show(""), ask(collection, flags.quiet, flags.model)) : undefined
      )
      yield* show("")
      yield* printResult(
        GraphBuilt,
        built,

        `Added ${count(built.added_chunks, "passage")} of ${count(built.chunks, "passage")} in ${durationText(built.build_time_ms)}. ` +
          `${linkageText(built.linkage)}.` +
          (built.llm === undefined ? "" : askedText(built.llm))
      )
    })
  }
)

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

const limit = (max: number, fallback: number) =>
  Cli.integer("limit", { value: "N", summary: `How many (default ${fallback})`, min: 1, max })

const out = Cli.file("output", { value: "FILE", summary: "Write to this file instead of standard output" })

/** What `graph export` and `graph show` print with `--json` if they write to a file. */
export const GraphFile = Schema.Struct({ file: Schema.String }).annotations({ identifier: "GraphFile" })

/** How the files begin that `graph export` and `graph show` write. */
const begun =
  /^(?:<\?xml [^>]*>\n<graphml |\{"directed":false,"multigraph":false,"nodes":|graph clew \{\n|<!doctype html>[^]*<title>Clew: )/

const isGraph = (file: string): boolean => begun.test(beginningOf(file))

/** Writes what is made of the graph to standard output, or to a file of which it is known first that it is free. */
const written = Effect.fnUntraced(function* <E, R>(output: string | undefined, made: Effect.Effect<string, E, R>) {
  const { print } = yield* Terminal
  const { cwd } = yield* Place
  if (output === undefined) return yield* print(yield* made)
  const file = resolve(cwd, output)
  yield* unlessTaken(file, "a graph", isGraph)
  yield* writeWhole(file, yield* made)
  yield* printResult(GraphFile, { file }, `Wrote ${displayPath(cwd, file)}`)
})

const query = Cli.define(
  {
    name: "query",
    summary: "Show what the graph knows about a name",
    positional: { name: "ENTITY", summary: "A name, a title, a symbol", min: 1, max: Infinity },
    flags: {
      collection: options.collection,
      hops: Cli.integer("hops", {
        value: "N",
        summary: "How many steps away neighbours may be (default: 1)",
        min: 1,
        max: 3
      }),
      kind: Cli.choice("kind", { choices: Relation.literals, summary: "Only neighbours by this relation" }),
      limit: limit(200, 20)
    },
    examples: ["clew graph query Ada Lovelace", "clew graph query git-rebase --hops 2 --kind links"]
  },
  function* (flags, words) {
    const { cwd } = yield* Place
    const { colors } = (yield* Terminal).out
    yield* reading(function* () {
      const found = yield* (yield* Graph).entity(yield* meant(flags.collection), words.join(" "), {
        hops: flags.hops,
        limit: flags.limit,
        kinds: flags.kind === undefined ? undefined : new Set([flags.kind])
      })
      const at = (place: Parameters<typeof placeOf>[0] & { readonly source: string }) =>
        colors.cyan(`${displayPath(cwd, place.source)}${oneLine(placeOf(place))}`)
      const text = [
        `${colors.bold(oneLine(found.name))}  in ${documentsOf(found)}`,
        ...(found.description === undefined ? [] : [oneLine(found.description)]),
        "",
        ...found.mentions.map((mention) => `${mention.relation.padEnd(8)}  ${at(mention)}  ${oneLine(mention.name)}`),
        ...(found.neighbours.length === 0 ? [] : ["", colors.bold("Neighbours")]),
        ...found.neighbours.map(
          ({ hops, name, relation, says, ...place }) =>
            `${relation.padEnd(8)}  ${oneLine(name)} (${documentsOf(place)}${hops > 1 ? `, ${hops} steps away` : ""})  ` +
            `${at(place)}${says === undefined ? "" : `  ${colors.dim(oneLine(says))}`}`
        )
      ]
      yield* printResult(GraphEntity, found, text.join("\n"))
    })
  }
)

const path = Cli.define(
  {
    name: "path",
    summary: "Show a shortest path between two names",
    positional: { name: "ENTITY", summary: "Two names, each quoted if it has several words", min: 2, max: 2 },
    flags: { collection: options.collection },
    examples: ['clew graph path "Hello Love" Tennessee']
  },
  function* (flags, [from = "", to = ""]) {
    const { cwd } = yield* Place
    const { colors } = (yield* Terminal).out
    yield* reading(function* () {
      const found = yield* (yield* Graph).path(yield* meant(flags.collection), from, to)
      const text = found.steps.map(
        (step) =>
          `${colors.bold(oneLine(step.from))} → ${colors.bold(oneLine(step.to))}  ` +
          `${colors.cyan(`${displayPath(cwd, step.source)}${oneLine(placeOf(step))}`)}` +
          `${step.says === undefined ? "" : `  ${colors.dim(oneLine(step.says))}`}\n    ${oneLine(step.text.slice(0, 300))}`
      )
      yield* printResult(GraphPath, found, text.length === 0 ? "No path of up to six steps" : text.join("\n"))
    })
  }
)

const top = Cli.define(
  {
    name: "top",
    summary: "List the most central documents and names (PageRank)",
    flags: { collection: options.collection, limit: limit(1000, 20) }
  },
  function* (flags) {
    const { cwd } = yield* Place
    yield* reading(function* () {
      const { nodes } = yield* (yield* Graph).whole(yield* meant(flags.collection))
      const best = nodes.slice(0, flags.limit ?? 20)
      yield* printResult(
        GraphTopReport,
        {
          nodes: best.map(({ kind, label, rank, source }) => ({
            name: label,
            kind,
            rank,
            source
          }))
        },

        best
          .map(
            ({ kind, label, rank, source }) =>
              `${rank.toFixed(5)}  ${kind.padEnd(8)}  ${oneLine(label)}${source === undefined || source === label ? "" : `  ${displayPath(cwd, source)}`}`
          )
          .join("\n") || "The graph is empty"
      )
    })
  }
)

const formats = { graphml: toGraphMl, json: toNodeLink, dot: toDot } as const

const exported = Cli.define(
  {
    name: "export",
    summary: "Write the graph for other programs",
    flags: {
      collection: options.collection,
      format: Cli.choice("format", {
        choices: Struct.keys(formats),
        summary: "GraphML (default; Gephi opens it), JSON (node-link) or DOT (Graphviz)"
      }),
      output: out
    },
    examples: ["clew graph export --output graph.graphml", "clew graph export --format json | jq .nodes"]
  },
  function* (flags) {
    const made = reading(function* () {
      const network = yield* (yield* Graph).whole(yield* meant(flags.collection))
      return formats[flags.format ?? "graphml"](network)
    })
    yield* written(flags.output, made)
  }
)

const show = Cli.define(
  {
    name: "show",
    summary: "Write the graph as an HTML page for a browser",
    flags: { collection: options.collection, limit: limit(20_000, 5000), output: out },
    details: ["The page needs no network and no server. It shows the nodes with the highest PageRank."],
    examples: ["clew graph show --output graph.html"]
  },
  function* (flags) {
    const made = reading(function* () {
      const collection = yield* meant(flags.collection)
      const graph = yield* Graph
      const network = largest(yield* graph.whole(collection), flags.limit ?? 5000)
      const { toPage } = yield* Effect.promise(() => import("../entities/page.ts"))
      return toPage(yield* graph.placed(network), `Clew: ${collection}`)
    })
    yield* written(flags.output, made)
  }
)

export const graph = Cli.group(
  Cli.define({ name: "graph", summary: "Build, query and show the knowledge graph", flags: {} }, function* () {
    yield* usage("name what to do: clew graph build, query, path, top, export or show")
  }),
  [build, query, path, top, exported, show]
)
