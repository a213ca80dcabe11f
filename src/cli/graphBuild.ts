import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Graph } from "../Graph.ts"
import { type CollectionName, defaultCollection } from "../model/Collection.ts"
import { linkageWanted } from "../entities/measure.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import * as Flag from "./flag.ts"
import * as options from "./options.ts"
import { count, durationText, printResult } from "./output.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

const Asked = Schema.Struct({
  model: Schema.String,
  calls: Schema.Int.annotations({ description: "Number of passages that the model was asked about" }),
  unusable: Schema.Int.annotations({ description: "Number of answers that could not be used" }),
  entities: Schema.Int.annotations({ description: "Number of names that it found in them" }),
  relations: Schema.Int.annotations({ description: "Number of relations between two names" })
})

/** What `graph build --json` prints. */
export const GraphBuildReport = Schema.Struct({
  collection: Schema.String,
  added_chunks: Schema.Int.annotations({ description: "Number of passages that were not in the graph before" }),
  chunks: Schema.Int,
  linkage: Schema.Finite.annotations({ description: "Share of the documents that name or link another" }),
  llm: Schema.optional(Asked.annotations({ description: "With --llm" })),
  build_time_ms: Schema.Int
}).annotations({ identifier: "GraphBuildReport" })

/** The linkage, and its effect on searches. */
export const linkageText = (linkage: number): string =>
  `${Math.round(linkage * 100)} % of the documents name or link another: by default a search ` +
  (linkage < linkageWanted
    ? `does not use the graph (below ${linkageWanted * 100} %)`
    : "uses the graph if the query names something in it")

/** Asks the model about the passages that it has not read yet, after announcing how many calls that takes. */
const ask = Effect.fnUntraced(function* (collection: CollectionName, quiet: boolean, named: string | undefined) {
  const { asking } = yield* Graph
  const { err, note, noteInPlace } = yield* Terminal
  const plan = yield* asking.plan(collection, named)
  if (!quiet) {
    const known = plan.passages - plan.calls
    yield* note(
      `clew: ${plan.model} will be called at most ${count(plan.calls, "time")}, once per passage` +
        (known === 0 ? "" : `; the answers for ${known} more are known`)
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
  (unusable === 0 ? "" : ` ${count(unusable, "answer")} could not be used; the next run with --llm asks again.`)

const model = Flag.text("model", {
  alias: "m",
  value: "NAME",
  summary: "With --llm: model that reads the passages, instead of the configured one"
})

export const build = define(
  {
    name: "build",
    summary: "Add documents indexed without the graph, or relations that a language model reads",
    flags: {
      collection: options.collection,
      llm: Flag.toggle("llm", {
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
  (flags) =>
    Effect.gen(function* () {
      const command = "clew graph build"
      if (flags.model !== undefined && !flags.llm) {
        return yield* new UsageError({ command, detail: "--model requires --llm" })
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
            if (isShown) yield* noteInPlace(`clew: ${count(next.seen, "passage")} checked`)
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
