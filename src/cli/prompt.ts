import { limits } from "../model/Limits.ts"
import * as Cli from "./command.ts"
import * as Effect from "effect/Effect"
import { toProvenance, PromptResponse } from "../model/SearchResult.ts"
import { Prompt } from "../Prompt.ts"
import { flags, noteRemarks, nothingFound, positional, requestOf } from "./asking.ts"
import { Engine, Place } from "./engine.ts"
import { exitCode, stop, usage } from "./exit.ts"
import { count, printJson } from "./output.ts"
import { Terminal } from "./terminal.ts"

export const prompt = Cli.define(
  {
    name: "prompt",
    summary: "Build a prompt from the passages found, ready to pipe into a model",
    positional: positional,
    flags: {
      ...flags,
      maxTokens: Cli.integer("max-tokens", {
        value: "N",
        summary: "Longest prompt; the lowest ranks are left out to fit",
        ...limits.maxTokens
      })
    },
    examples: [
      "clew prompt how are passages ranked | ollama run llama3.2",
      "clew prompt -k 20 --max-tokens 3000 tides"
    ],
    details: ["Exits with 3 if nothing is found, or only weak matches: a model would have nothing to answer from."]
  },
  function* ({ maxTokens, ...flags }, words) {
    const { globals } = yield* Place
    const { note, print } = yield* Terminal
    const request = yield* requestOf(flags, words)
    const engine = yield* Engine
    const outcome = yield* Effect.flatMap(Prompt, (prompt) => prompt.run({ ...request, maxTokens })).pipe(
      Effect.catchTag("BudgetTooSmall", ({ message }) => usage(message.replace(/^max_tokens/, "--max-tokens"))),
      Effect.provide(engine.read)
    )
    const { found, hint, hits, omitted, prompt, queryTimeMs } = outcome

    if (globals.json) {
      yield* printJson(PromptResponse, {
        prompt,
        sources: hits.map(({ document }) => document.source),
        query_time_ms: queryTimeMs,
        ...toProvenance(outcome),
        ...(omitted === 0 ? {} : { omitted })
      })
    } else {
      yield* print(prompt)
      yield* noteRemarks(outcome)
      if (omitted > 0) yield* note(`clew: ${count(omitted, "passage")} left out to fit --max-tokens`)
    }
    if (found.length === 0) yield* nothingFound(hint)
    if (outcome.weak === true) yield* stop(exitCode.nothingFound)
  }
)
