import * as Effect from "effect/Effect"
import { toProvenance } from "../model/Provenance.ts"
import { PromptResponse } from "../model/SearchResult.ts"
import { Prompt } from "../Prompt.ts"
import * as asking from "./asking.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as options from "./options.ts"
import { count, printJson } from "./output.ts"
import { Place } from "./place.ts"
import { remarksOn } from "./remarks.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

export const prompt = define(
  {
    name: "prompt",
    summary: "Build a prompt from the passages found, ready to pipe into a model",
    positional: asking.positional,
    flags: { ...asking.flags, maxTokens: options.maxTokens },
    examples: [
      "clew prompt how are passages ranked | ollama run llama3.2",
      "clew prompt -k 20 --max-tokens 3000 tides"
    ],
    details: ["Exits with 3 if nothing is found: a model would have nothing to answer from."]
  },
  ({ maxTokens, ...flags }, words) =>
    Effect.gen(function* () {
      const { globals } = yield* Place
      const { note, print } = yield* Terminal
      const request = yield* asking.requestOf("clew prompt", flags, words)
      const engine = yield* Engine
      const outcome = yield* Effect.flatMap(Prompt, (prompt) => prompt.run({ ...request, maxTokens })).pipe(
        Effect.catchTag(
          "BudgetTooSmall",
          ({ message }) =>
            new UsageError({ command: "clew prompt", detail: message.replace(/^max_tokens/, "--max-tokens") })
        ),
        Effect.provide(engine.open("read"))
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
        for (const remark of remarksOn(outcome)) yield* note(`clew: ${remark}`)
        if (omitted > 0) yield* note(`clew: ${count(omitted, "passage")} left out to fit --max-tokens`)
      }
      if (found.length === 0) {
        if (!globals.json) yield* note(`clew: nothing found${hint === undefined ? "" : `: ${hint}`}`)
        return yield* stop(exitCode.nothingFound)
      }
    })
)
