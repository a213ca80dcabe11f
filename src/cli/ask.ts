import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { Answer, type Verdict as Checked } from "../Answer.ts"
import type { LlmIdentity } from "../Llm.ts"
import { citation, state } from "../citations/prompt.ts"
import { limits } from "../model/Limits.ts"
import {
  type Hit,
  CitationVerdict,
  SearchResult,
  provenance,
  toProvenance,
  toSearchResult
} from "../model/SearchResult.ts"
import { flags, noteRemarks, nothingFound, positional, requestOf } from "./asking.ts"
import * as Cli from "./command.ts"
import { Place, reading, displayPath } from "./engine.ts"
import { exitCode, stop, usage } from "./exit.ts"
import { count, printJson } from "./output.ts"
import { way } from "../citations/remarks.ts"
import { type Colors, Terminal, printable } from "./terminal.ts"
import { wrapStream, wrapped } from "./wrap.ts"

/** Numbers as they are cited: "[1] [3]". */
const numbers = (verdicts: ReadonlyArray<Checked>): string =>
  [...new Set(verdicts.map(({ n }) => n))]
    .sort((a, b) => a - b)
    .map((n) => `[${n}]`)
    .join(" ")

const shortened = (text: string): string => (text.length > 100 ? `${text.slice(0, 99)}…` : text)

const isMentioned = ({ verdict }: Checked): boolean => verdict === "mentioned"

/** The sources by number with `source:line`; a mark distinguishes those that the answer cites. */
const renderSources = (
  hits: ReadonlyArray<Hit>,
  verdicts: ReadonlyArray<Checked>,
  cwd: string,
  colors: Colors
): string =>
  hits
    .map((hit, index) => {
      const own = verdicts.filter(({ n }) => n === index + 1)
      const where = citation({ ...hit, document: { ...hit.document, source: displayPath(cwd, hit.document.source) } })
      const number = `[${index + 1}]`.padEnd(String(hits.length).length + 2)
      const verdict =
        own.length === 0
          ? colors.dim("not cited")
          : own.every(isMentioned)
            ? "mentioned"
            : own.some(({ verdict }) => verdict === "contradicted")
              ? colors.red("✗ contradicted")
              : own.some(isMentioned)
                ? colors.yellow("? mentioned in part")
                : own.every(({ verdict }) => verdict === "unclear")
                  ? colors.yellow("? unclear")
                  : colors.red("✗ not found in the source")
      const led = hit.via === undefined ? "" : colors.dim(`  ${shortened(`via ${printable(way(hit.via))}`)}`)
      return `${number} ${colors.cyan(printable(where))}  ${verdict}${led}${colors.yellow(state(hit, "  "))}`
    })
    .join("\n")

const doubts: Readonly<Record<Checked["verdict"], string>> = {
  mentioned: "mentions this",
  not_found: "does not say this",
  contradicted: "says otherwise",
  unclear: "may say this in other words; look there"
}

/** The citations that do not hold, a line each; empty if all are mentioned. */
const renderDoubts = (verdicts: ReadonlyArray<Checked>, colors: Colors): ReadonlyArray<string> => {
  const missing = verdicts.filter(({ exists }) => !exists)
  const weak = verdicts.filter((verdict) => verdict.exists && !isMentioned(verdict))
  return [
    ...(missing.length === 0 ? [] : [colors.red(`✗ There is no passage ${numbers(missing)}`)]),
    ...weak.map(({ n, sentence, verdict }) => {
      const said = `[${n}] ${doubts[verdict]}`
      return `${verdict === "unclear" ? colors.yellow(`? ${said}`) : colors.red(`✗ ${said}`)}: ${printable(shortened(sentence))}`
    })
  ]
}

/** What `ask --json` prints. */
export const AskReport = Schema.Struct({
  answer: Schema.String,
  llm: Schema.Struct({ backend: Schema.String, model: Schema.optional(Schema.String) }),
  /** Passage n of the answer is at index n - 1. */
  sources: Schema.Array(SearchResult),
  citations: Schema.Array(CitationVerdict),
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

export const ask = Cli.define(
  {
    name: "ask",
    summary: "Answer a question from the index, with its sources",
    positional: { ...positional, summary: "The question; several words need no quotes" },
    flags: {
      ...flags,
      model: Cli.text("model", {
        alias: "m",
        value: "NAME",
        summary: "Model that answers, instead of the configured one"
      }),
      temperature: Cli.number("temperature", {
        alias: "t",
        value: "X",
        summary: "Randomness of the answer; 0 gives nearly the same answer each time",
        ...limits.temperature
      })
    },
    examples: ["clew ask how are passages ranked", "clew ask -m gemma3 --filter 'source=docs/*' \"What is a clew?\""],
    details: [
      "Each [n] of the answer is checked against passage n; what the passage does not say is marked. Ctrl-C stops at once.",
      "Exits with 3 if nothing is found, or only weak matches."
    ]
  },
  function* ({ model, temperature, ...flags }, words) {
    const { cwd, globals } = yield* Place
    const { err, note, out, print, write } = yield* Terminal
    if (model === "") return yield* usage("--model must not be empty")
    const request = { ...(yield* requestOf(flags, words)), model, temperature }

    yield* reading(function* () {
      const answer = yield* Answer
      const answering = yield* answer.ask(request)
      const { generation, hint, hits, omitted, weak } = answering
      if (hits.length + omitted === 0 && !globals.json) return yield* nothingFound(hint)
      yield* noteRemarks(answering)
      const { fragments, isCut, llm, usage } = yield* generation
      if (!globals.json) yield* note(err.colors.dim(`clew: answered by ${named(llm)}`))

      const lines = out.isTerminal ? wrapStream(out.columns) : { push: (text: string) => text, end: () => "" }
      let isBegun = false
      const shown = (text: string) => {
        isBegun = !globals.json
        return isBegun ? write(lines.push(printable(text))) : Effect.void
      }
      const rest = Effect.suspend(() => (globals.json ? Effect.void : write(lines.end())))
      const text = yield* Stream.runFoldEffect(fragments, "", (before, text) =>
        Effect.as(shown(text), before + text)
      ).pipe(
        // End a started line, even if the answer was cut short.
        Effect.onError(() => (isBegun ? Effect.zipRight(rest, write("\n")) : Effect.void))
      )
      yield* rest
      const cut = yield* isCut
      const { isPromptCut } = yield* usage
      const verdicts = yield* answer.verify(text, hits)

      if (globals.json) {
        yield* printJson(AskReport, {
          answer: text,
          llm: { backend: llm.backend, model: llm.model },
          sources: hits.map(toSearchResult),
          citations: verdicts.map(({ n, ...rest }) => ({ index: n, ...rest })),
          cut: cut || undefined,
          prompt_cut: isPromptCut || undefined,
          omitted: omitted || undefined,
          ...Struct.omit(toProvenance(answering), "mode", "fusion")
        })
        return hits.length === 0 || weak === true ? yield* stop(exitCode.nothingFound) : undefined
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
        yield* note(`clew: ${count(omitted, "more passage")} did not fit into the model's window (llm.context_tokens)`)
      }
      if (weak === true) yield* stop(exitCode.nothingFound)
    })
  }
)
