import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Graph } from "../Graph.ts"
import { type CollectionName, defaultCollection } from "../model/Collection.ts"
import { linkageWanted } from "../text/graph/measure.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import * as Flag from "./flag.ts"
import * as options from "./options.ts"
import { count, durationText, printResult } from "./output.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

const Asked = Schema.Struct({
  model: Schema.String,
  calls: Schema.Int.annotations({ description: "Passages that the model was asked about" }),
  unusable: Schema.Int.annotations({ description: "Answers that were not what was asked for" }),
  entities: Schema.Int.annotations({ description: "Names that it found in them" }),
  relations: Schema.Int.annotations({ description: "What it read about two of them" })
})

/** What `graph build --json` prints. */
export const GraphBuildReport = Schema.Struct({
  collection: Schema.String,
  added_chunks: Schema.Int.annotations({ description: "Passages that were not in the graph before" }),
  chunks: Schema.Int,
  linkage: Schema.Finite.annotations({ description: "Share of the documents that name or link another" }),
  llm: Schema.optional(Asked.annotations({ description: "With --llm" })),
  build_time_ms: Schema.Int
}).annotations({ identifier: "GraphBuildReport" })

/** What the linkage is, and what follows from it. */
export const linkageText = (linkage: number): string =>
  `${Math.round(linkage * 100)} % of the documents name or link another: by itself a search ` +
  (linkage < linkageWanted
    ? `leaves the graph alone (below ${linkageWanted * 100} %)`
    : "goes along the graph where the query names something in it")

/** Asks the model about what it was not asked about yet, after saying how often that will be. */
const ask = Effect.fnUntraced(function* (collection: CollectionName, quiet: boolean, named: string | undefined) {
  const { asking } = yield* Graph
  const { err, note, noteInPlace } = yield* Terminal
  const plan = yield* asking.plan(collection, named)
  if (!quiet) {
    const known = plan.passages - plan.calls
    yield* note(
      `clew: ${plan.model} will be asked ${count(plan.calls, "time")} at most, once about a passage` +
        (known === 0 ? "" : `; of ${known} more it is known what it says`)
    )
  }
  const nothing = { calls: 0, unusable: 0, entities: 0, relations: 0 }
  const done = yield* Stream.runFoldEffect(asking.run(collection, plan, named), nothing, (sum, one) => {
    const next = {
      calls: sum.calls + 1,
      unusable: sum.unusable + (one.usable ? 0 : 1),
      entities: sum.entities + one.entities,
      relations: sum.relations + one.relations
    }
    const line = `clew: asked ${next.calls} of ${plan.calls}: ${count(next.entities, "name")}, ${count(next.relations, "relation")}`
    return Effect.as(quiet || !err.isTerminal ? Effect.void : noteInPlace(line), next)
  })
  return { model: plan.model, ...done } satisfies typeof Asked.Type
})

const askedText = ({ calls, entities, model, relations, unusable }: typeof Asked.Type): string =>
  `\nAsked ${model} ${count(calls, "time")}: ${count(entities, "name")}, ${count(relations, "relation")}.` +
  (unusable === 0 ? "" : ` ${count(unusable, "answer")} could not be used; the next --llm asks for them again.`)

const model = Flag.text("model", {
  alias: "m",
  value: "NAME",
  summary: "With --llm: model that reads, instead of the configured one"
})

export const build = define(
  {
    name: "build",
    summary: "Bring into the graph what was indexed without it, or what a language model reads",
    flags: {
      collection: options.collection,
      llm: Flag.toggle("llm", {
        summary: "Have the language model of [llm] read every passage for names and relations as well"
      }),
      model,
      quiet: options.quiet
    },
    examples: ["clew graph build", "clew graph build --llm -m gemma3"],
    details: [
      "Documents come into the graph as they are indexed; this is for those indexed before there was a graph, or with graph.enabled = false. Broken off, it goes on where it was the next time.",
      "With --llm it says first how often the model will be asked. Names and relations that the passage does not have are left out. A passage is asked about once, and again when its words change."
    ]
  },
  (flags) =>
    Effect.gen(function* () {
      const command = "clew graph build"
      if (flags.model !== undefined && !flags.llm) {
        return yield* new UsageError({ command, detail: "--model names the model of --llm: give --llm as well" })
      }
      if (flags.model === "") return yield* new UsageError({ command, detail: "--model must not be empty" })
      const engine = yield* Engine
      const { err, noteInPlace } = yield* Terminal
      const collection = flags.collection ?? defaultCollection
      yield* Effect.gen(function* () {
        const graph = yield* Graph
        const started = yield* Clock.currentTimeMillis
        const isShown = !flags.quiet && err.isTerminal
        const done = yield* Stream.runFoldEffect(graph.build(collection), { added: 0, seen: 0 }, (sum, step) =>
          Effect.gen(function* () {
            const next = { added: sum.added + step.added, seen: sum.seen + step.seen }
            if (isShown) yield* noteInPlace(`clew: ${count(next.seen, "passage")} looked at`)
            return next
          })
        )
        if (isShown) yield* noteInPlace("")
        const llm = flags.llm ? yield* ask(collection, flags.quiet, flags.model) : undefined
        if (isShown && llm !== undefined) yield* noteInPlace("")
        const linkage = yield* graph.linkage(collection)
        const took = (yield* Clock.currentTimeMillis) - started
        yield* printResult(
          GraphBuildReport,
          {
            collection,
            added_chunks: done.added,
            chunks: done.seen,
            linkage,
            ...(llm === undefined ? {} : { llm }),
            build_time_ms: took
          },
          Effect.succeed(
            `Added ${count(done.added, "passage")} of ${count(done.seen, "passage")} in ${durationText(took)}. ` +
              linkageText(linkage) +
              (llm === undefined ? "" : askedText(llm))
          )
        )
      }).pipe(Effect.provide(engine.open("change")))
    })
)
