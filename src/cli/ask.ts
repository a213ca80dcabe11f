import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { Answer } from "../Answer.ts"
import type { LlmIdentity } from "../Llm.ts"
import { provenance, toProvenance } from "../model/Provenance.ts"
import { SearchResult, toSearchResult } from "../model/SearchResult.ts"
import { Verdict } from "../model/Verdict.ts"
import * as asking from "./asking.ts"
import { renderDoubts, renderSources } from "./citations.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { harmless } from "./harmless.ts"
import * as options from "./options.ts"
import { count, printJson } from "./output.ts"
import { Place } from "./place.ts"
import { remarksOn } from "./remarks.ts"
import { Terminal } from "./terminal.ts"
import { wrapped } from "./wrap.ts"
import { UsageError } from "./UsageError.ts"
import { wrapStream } from "./wrapStream.ts"

/** What `ask --json` prints. */
export const AskReport = Schema.Struct({
  answer: Schema.String,
  llm: Schema.Struct({ backend: Schema.String, model: Schema.optional(Schema.String) }),
  /** Passage n of the answer is at index n - 1. */
  sources: Schema.Array(SearchResult),
  citations: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      start: Schema.Int,
      end: Schema.Int,
      sentence: Schema.String,
      exists: Schema.Boolean,
      support: Schema.Finite,
      verdict: Verdict
    })
  ),
  /** The answer was cut at llm.max_tokens. */
  cut: Schema.optional(Schema.Boolean),
  /** The model's server cut the prompt to its window. */
  prompt_cut: Schema.optional(Schema.Boolean),
  omitted: Schema.optional(Schema.Int),
  ...Struct.omit(provenance, "mode", "fusion")
}).annotations({ identifier: "AskReport" })

/** What answers, as announced before the answer. */
const named = ({ backend, model, why }: LlmIdentity): string =>
  model === undefined
    ? `quoting the passages, without a language model${why === undefined ? "" : ` (${why})`}`
    : `${backend} ${model}`

export const ask = define(
  {
    name: "ask",
    summary: "Answer a question from the index, with its sources",
    positional: { ...asking.positional, summary: "The question; several words need no quotes" },
    flags: { ...asking.flags, model: options.model, temperature: options.temperature },
    examples: ["clew ask how are passages ranked", "clew ask -m gemma3 --filter 'source=docs/*' \"What is a clew?\""],
    details: [
      "Each [n] of the answer is checked against passage n; what the passage does not say is marked. Ctrl-C stops at once.",
      "Exits with 3 if no passage is found."
    ]
  },
  ({ model, temperature, ...flags }, words) =>
    Effect.gen(function* () {
      const { cwd, globals } = yield* Place
      const { err, note, out, print, write } = yield* Terminal
      if (model === "") return yield* new UsageError({ command: "clew ask", detail: "--model must not be empty" })
      const request = { ...(yield* asking.requestOf("clew ask", flags, words)), model, temperature }
      const engine = yield* Engine

      yield* Effect.gen(function* () {
        const answer = yield* Answer
        const answering = yield* answer.ask(request)
        const { generation, hint, hits, omitted } = answering
        if (hits.length + omitted === 0 && !globals.json) {
          yield* note(`clew: nothing found${hint === undefined ? "" : `: ${hint}`}`)
          return yield* stop(exitCode.nothingFound)
        }
        if (!globals.json) for (const remark of remarksOn(answering)) yield* note(`clew: ${remark}`)
        const { fragments, isCut, llm, usage } = yield* generation
        if (!globals.json) yield* note(err.colors.dim(`clew: answered by ${named(llm)}`))

        const lines = out.isTerminal ? wrapStream(out.columns) : { push: (text: string) => text, end: () => "" }
        const shown = (text: string) => (globals.json ? Effect.void : write(lines.push(harmless(text))))
        const rest = Effect.suspend(() => (globals.json ? Effect.void : write(lines.end())))
        const text = yield* Stream.runFoldEffect(fragments, "", (before, text) =>
          Effect.as(shown(text), before + text)
        ).pipe(
          // End a started line, even if the answer was cut short.
          Effect.onError(() => (globals.json ? Effect.void : Effect.zipRight(rest, write("\n"))))
        )
        yield* rest
        const cut = yield* isCut
        const { isPromptCut } = yield* usage
        const verdicts = yield* answer.verify(text, hits)

        if (globals.json) {
          yield* printJson(AskReport, {
            answer: text,
            llm: { backend: llm.backend, ...(llm.model === undefined ? {} : { model: llm.model }) },
            sources: hits.map(toSearchResult),
            citations: verdicts.map(({ n, ...rest }) => ({ index: n, ...rest })),
            ...(cut ? { cut } : {}),
            ...(isPromptCut ? { prompt_cut: true } : {}),
            ...(omitted === 0 ? {} : { omitted }),
            ...Struct.omit(toProvenance(answering), "mode", "fusion")
          })
          return hits.length === 0 ? yield* stop(exitCode.nothingFound) : undefined
        }
        yield* print(`\n\n${wrapped(out, renderSources(hits, verdicts, cwd, out.colors))}`)
        for (const doubt of renderDoubts(verdicts, out.colors)) yield* print(wrapped(out, doubt))
        if (verdicts.length === 0 && llm.backend !== "extractive") {
          yield* note("clew: the answer cites no passage, so nothing in it was checked")
        }
        if (cut) yield* note("clew: the answer was cut at llm.max_tokens")
        if (isPromptCut) {
          yield* note(
            "clew: the model's server cut the prompt to its window: the model may not have seen its instruction or all passages; set llm.context_tokens"
          )
        }
        if (omitted > 0) {
          yield* note(
            `clew: ${count(omitted, "more passage")} did not fit into the model's window (llm.context_tokens)`
          )
        }
      }).pipe(Effect.provide(engine.open("read")))
    })
)
