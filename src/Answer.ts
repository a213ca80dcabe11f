import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Collections } from "./Collections.ts"
import { LlmConfig } from "./Config.ts"
import { type Generation, Llm, type LlmIdentity, LlmUnavailable, noUsage, type Turn, type Window } from "./Llm.ts"
import type { CollectionName } from "./model/Collection.ts"
import type { DoorRequest } from "./model/Query.ts"
import type { Hit, Verdict as Judgement } from "./model/SearchResult.ts"
import { Prompt } from "./Prompt.ts"
import type { SearchOutcome } from "./Search.ts"
import { type CitationMark, citationMarks, hasContent, lexicalSupport, stretchesOf } from "./citations/citations.ts"
import { embeddedText } from "./chunking/embedded.ts"
import { quoting } from "./citations/extractive.ts"
import { verdictOf } from "./citations/verdict.ts"
import { dot } from "./model/numbers.ts"

export interface AskRequest extends DoorRequest {
  readonly model?: string | undefined
  readonly temperature?: number | undefined
  /** The messages before the question, in order. */
  readonly history?: ReadonlyArray<Turn> | undefined
}

/** The passages found, and the answer to come. */
export interface Answering extends Omit<SearchOutcome, "queryTimeMs"> {
  /** The passages behind the answer: passage n is cited as `[n]`. */
  readonly hits: ReadonlyArray<Hit>
  /** How many lower-ranked passages did not fit into the model's window. */
  readonly omitted: number
  /** The model that will answer. */
  readonly llm: LlmIdentity
  /** Starts nothing yet; fails if no passage fits into the window. */
  readonly generation: Effect.Effect<Generation, LlmUnavailable>
}

/** Whether a citation holds. */
export interface Verdict extends CitationMark {
  /** There is a passage n, and the answer was given it. */
  readonly exists: boolean
  /** 0 to 1: how far passage and sentence are about the same, by their words and vectors. */
  readonly support: number
  readonly verdict: Judgement
}

/** The mean of the share of a sentence's terms in a passage and of their cosine; without a cosine, the share. */
export const supportOf = (lexical: number, cosine: Option.Option<number>): number =>
  Option.match(cosine, { onNone: () => lexical, onSome: (value) => (lexical + Math.max(0, value)) / 2 })

/** Hits beyond those asked for, among which an answer without a model looks for what to quote. */
const furtherRead = 15

/** How long an answer that is there waits for the vectors of its sentences. */
const patience = "10 seconds"

/** The answer if nothing was found: a model would answer from memory. */
const unanswered = (hint: string | undefined): Generation => ({
  llm: { backend: "extractive" },
  fragments: Stream.make(
    `Nothing in the index answers this: no passage was found.${hint === undefined ? "" : ` Why: ${hint}.`}`
  ),
  isCut: Effect.succeed(false),
  usage: Effect.succeed(noUsage)
})

/** The history that fits into half of the window: system messages, then the newest others, in order. */
const remembered = (history: ReadonlyArray<Turn>, { countTokens, room }: Window) => {
  const isSystem = ({ role }: Turn) => role === "system"
  const kept = new Set<Turn>()
  let tokens = 0
  for (const turn of [...history.filter(isSystem), ...history.filter((it) => !isSystem(it)).toReversed()]) {
    const more = tokens + countTokens(turn.content)
    if (more > room / 2) break
    tokens = more
    kept.add(turn)
  }
  return { history: history.filter((turn) => kept.has(turn)), tokens }
}

/** Answers a question from the index, and checks what the answer cites. */
export class Answer extends Effect.Service<Answer>()("clew/Answer", {
  effect: Effect.gen(function* () {
    const prompt = yield* Prompt
    const llm = yield* Llm
    const collections = yield* Collections
    const { backend, maxTokens, model: configured } = yield* LlmConfig

    const crowded = (omitted: number, contextTokens: number) =>
      new LlmUnavailable({
        reason:
          `The model's window has no room for ${omitted > 0 ? "a passage beside the question" : "the question"}: ` +
          `raise llm.context_tokens (${contextTokens}) as far as the model allows, lower llm.max_tokens (${maxTokens}), or ask a shorter question`
      })

    const ask = Effect.fn("Answer.ask")(function* (request: AskRequest) {
      const { history = [], model, queries = [], query, temperature } = request
      const room = yield* Effect.cached(
        Effect.map(llm.window(model), (window) => {
          if (window === undefined) return { history }
          const kept = remembered(history, window)
          const { contextTokens, countTokens, room } = window
          return { contextTokens, history: kept.history, budget: { maxTokens: room - kept.tokens, countTokens } }
        })
      )
      const [outcome, identity, remembering] = yield* Effect.all(
        [
          prompt.forModel(
            { ...request, ...((backend === "auto" || backend === "extractive") && { further: furtherRead }) },
            Effect.map(room, ({ budget }) => budget)
          ),
          llm.identity(model),
          room
        ],
        { concurrency: 3 }
      )
      const { alsoSearched, degraded, fits, found, further = [], fusion, hint, mode, omitted, readAs } = outcome
      const { system, user, weak } = outcome
      const { hits, quotes } =
        identity.backend === "extractive"
          ? quoting([query, ...queries], outcome.hits, further)
          : { ...outcome, quotes: undefined }
      return {
        hits,
        mode,
        fusion,
        omitted,
        degraded,
        alsoSearched,
        readAs,
        weak,
        hint,
        llm: found.length === 0 ? unanswered(hint).llm : identity,
        generation: !fits
          ? crowded(omitted, remembering.contextTokens ?? 0)
          : found.length === 0
            ? Effect.succeed(unanswered(hint))
            : llm.answer({
                query,
                hits,
                quotes,
                system,
                prompt: user,
                history: remembering.history,
                model,
                temperature
              })
      } satisfies Answering
    })

    type Pair = { readonly sentence: string; readonly hit: Hit }

    /** Cosines of each sentence with its passage, by the embedder of a collection; none if it does not answer. */
    const similaritiesIn = Effect.fn("Answer.similarities")(
      function* (name: CollectionName, pairs: ReadonlyArray<Pair>) {
        const embedder = yield* collections.embedder(name, "urgent")
        const texts = pairs.flatMap(({ hit, sentence }) => [sentence, embeddedText(hit.document.title, hit.passage)])
        const vectors = yield* Effect.timeout(embedder.embedPassages(texts), patience)
        return pairs.map((_, index) => Option.zipWith(vectors[2 * index]!, vectors[2 * index + 1]!, dot))
      },
      Effect.orElseSucceed(() => [])
    )

    /** In the pairs' order; each passage and sentence are compared by the embedder of the passage's collection. */
    const similarities = Effect.fnUntraced(function* (pairs: ReadonlyArray<Pair>) {
      const found = new Map<Pair, Option.Option<number>>()
      for (const name of new Set(pairs.map(({ hit }) => hit.collection))) {
        const own = pairs.filter(({ hit }) => hit.collection === name)
        const cosines = yield* similaritiesIn(name, own)
        for (const [index, pair] of own.entries()) found.set(pair, cosines[index] ?? Option.none())
      }
      return pairs.map((pair) => found.get(pair)!)
    })

    /** What a passage has of a sentence. */
    const judged = ({ hit, sentence }: Pair, cosine: Option.Option<number>) => {
      const support = hasContent(sentence) ? supportOf(lexicalSupport(sentence, hit), cosine) : 0
      const { document, passage } = hit
      const text = [document.title ?? "", ...passage.heading, passage.text].join("\n\n")
      return { support, verdict: verdictOf({ sentence, passage: text, tableHeader: passage.tableHeader, support }) }
    }

    /**
     * Checks every `[n]` of an answer: that `hits` has a passage n, and what this passage has of the mark's sentence,
     * by `supportOf` and `verdictOf`, alone or with the following passages of the same prompt entry.
     */
    const verify = Effect.fn("Answer.verify")(function* (answer: string, hits: ReadonlyArray<Hit>) {
      const marks = citationMarks(answer)
      const stretches = new Map(
        stretchesOf(hits).flatMap(({ hit, ranks }) =>
          ranks.length > 1 ? ranks.map((rank) => [rank, hit] as const) : []
        )
      )
      // A model that repeats itself may cite a passage for one sentence thousands of times.
      const keyOf = ({ n, sentence }: CitationMark) => `${n} ${sentence}`
      const cited = new Map(
        marks.map((mark) => [
          keyOf(mark),
          [hits[mark.n - 1], stretches.get(mark.n - 1)].flatMap((hit) =>
            hit === undefined ? [] : [{ sentence: mark.sentence, hit }]
          )
        ])
      )
      const pairs = [...cited.values()].flat()
      const cosines = yield* similarities(pairs)
      const judgementOf = new Map(
        pairs.map((pair, at) => [pair, judged(pair, Option.flatten(Option.fromNullable(cosines[at])))])
      )
      return marks.map((mark): Verdict => {
        const judgements = cited.get(keyOf(mark))!.map((pair) => judgementOf.get(pair)!)
        const [own] = judgements
        if (own === undefined) return { ...mark, exists: false, support: 0, verdict: "not_found" }
        const best = judgements.find(({ verdict }) => verdict === "mentioned") ?? own
        return { ...mark, exists: true, ...best }
      })
    })

    /** The model that answers now, if any, and the configured one. */
    const models = Effect.map(llm.identity(), (used) => ({
      used,
      configured: backend === "extractive" ? undefined : configured
    }))

    return { ask, models, verify }
  }),
  dependencies: [Collections.Default]
}) {}
