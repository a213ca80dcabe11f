import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { Answer, type Answering, type Verdict } from "../Answer.ts"
import { Api } from "../api/Api.ts"
import type { AskRequest, CitationsEvent, ErrorEvent, SourceEvent } from "../api/Ask.ts"
import { asRead, besides } from "../citations/remarks.ts"
import { type LlmIdentity, LlmUnavailable } from "../Llm.ts"
import { defaultCollection } from "../model/Collection.ts"
import { fragment } from "../model/Locator.ts"
import { type Provenance, type Hit, toFreshness } from "../model/SearchResult.ts"
import { comment, event, eventStream } from "./events.ts"
import { Listener } from "./Listener.ts"
import { failed, idOf, withoutInside } from "./respond.ts"
import { byContract, outside } from "./search.ts"

const source = (hit: Hit, position: number): string => {
  const { collection, document, passage, score, via } = hit
  return event(
    "source",
    JSON.stringify({
      index: position + 1,
      source: document.source,
      score,
      text: passage.text,
      doc_id: document.docId,
      chunk_index: passage.ordinal,
      start_line: passage.startLine,
      end_line: passage.endLine,
      ...(passage.locator === undefined ? {} : { locator: fragment(passage.locator) }),
      ...toFreshness(hit),
      ...(collection === defaultCollection ? {} : { collection }),
      via
    } satisfies SourceEvent)
  )
}

/** What the contract's events do not tell: how the passages were found, and what answers. */
interface Origin extends Omit<Provenance, "weak"> {
  readonly omitted?: number
  readonly llm: LlmIdentity
}

export const shownLlm = ({ why, ...llm }: LlmIdentity): LlmIdentity => ({
  ...llm,
  ...(why === undefined ? {} : { why: withoutInside(why) })
})

export const originOf = (answering: Answering): Origin => {
  const { mode, ...found } = Struct.omit(outside(answering), "weak")
  const { llm, omitted } = answering
  return {
    mode,
    llm: shownLlm(llm),
    ...found,
    ...(omitted === 0 ? {} : { omitted })
  }
}

/** A header holds printable ASCII. */
const inHeader = (text: string): string =>
  text
    .replace(/\s+/g, " ")
    .replace(/[^\x20-\x7e]+/g, "?")
    .slice(0, 500)

const answeredBy = ({ backend, model, why }: LlmIdentity): string =>
  `${backend}${model === undefined ? "" : ` ${model}`}${why === undefined ? "" : ` (${why})`}`

export const headersOf = ({ degraded, fusion, llm, mode, omitted }: Origin): Readonly<Record<string, string>> => ({
  "x-clew-mode": mode,
  "x-clew-llm": inHeader(answeredBy(llm)),
  ...(fusion === undefined ? {} : { "x-clew-fusion": fusion }),
  ...(degraded === undefined ? {} : { "x-clew-degraded": inHeader(degraded) }),
  ...(omitted === undefined ? {} : { "x-clew-omitted": String(omitted) })
})

/** The same as comments, if something is less than requested. */
const commentsOf = ({ also_searched: alsoSearched, degraded, hint, mode, omitted, read_as: readAs }: Origin): string =>
  (hint === undefined ? "" : comment(`nothing found: ${hint}`)) +
  (alsoSearched === undefined ? "" : comment(besides({ alsoSearched })!)) +
  (readAs === undefined ? "" : comment(asRead({ readAs })!)) +
  (degraded === undefined ? "" : comment(mode === "hybrid" ? degraded : `${mode} search only: ${degraded}`)) +
  (omitted === undefined ? "" : comment(`${omitted} more found that do not fit into llm.context_tokens`))

const citations = (
  verdicts: ReadonlyArray<Verdict>,
  more: Origin & { readonly cut: boolean; readonly prompt_cut?: true }
): string =>
  event(
    "citations",
    JSON.stringify({
      citations: verdicts.map(({ n, ...rest }) => ({ index: n, ...rest })),
      ...more
    } satisfies CitationsEvent)
  )

const promptCut =
  "the model's server cut the prompt to its window: the model may not have seen its instruction or all passages"

const done = event("done", "{}")

/** Fails shortly before connections are closed, so that the stream's end still gets through. */
export const endOf = Effect.map(Listener, ({ closing, grace }) =>
  Deferred.await(closing).pipe(
    Effect.zipRight(Effect.sleep(Duration.times(grace, 0.8))),
    Effect.zipRight(new LlmUnavailable({ reason: "The server is shutting down; the answer is incomplete" }))
  )
)

export const layer = HttpApiBuilder.group(Api, "ask", (handlers) =>
  Effect.gen(function* () {
    const answer = yield* Answer
    const late = yield* endOf

    const write =
      (answering: Answering, request: AskRequest, id: string) => (emit: (text: string) => Effect.Effect<void>) =>
        Effect.gen(function* () {
          const { generation, hits } = answering
          const found = originOf(answering)
          yield* emit(commentsOf(found) + hits.map(source).join(""))
          const { fragments, isCut, usage } = yield* generation
          let text = ""
          const tokens = Stream.runForEach(fragments, (fragment) => {
            // The stream has no carriage returns, and citations count in what it has.
            const shown = fragment.replaceAll("\r", "")
            if (request.verify) text += shown
            return emit(event("token", shown))
          })
          yield* Effect.raceFirst(tokens, late)
          const cut = yield* isCut
          if (cut) yield* emit(comment("cut at llm.max_tokens"))
          const { isPromptCut } = yield* usage
          if (isPromptCut) yield* emit(comment(promptCut))
          const cuts = { cut, ...(isPromptCut ? { prompt_cut: true as const } : {}) }
          if (request.verify) yield* emit(citations(yield* answer.verify(text, hits), { ...cuts, ...found }))
          yield* emit(done)
        }).pipe(
          Effect.catchAllCause((cause) =>
            Effect.flatMap(failed(cause, id, "POST /ask"), ({ body }) =>
              emit(event("error", JSON.stringify({ message: body.detail } satisfies ErrorEvent)))
            )
          )
        )

    return handlers.handle("ask", ({ payload, request }) =>
      Effect.gen(function* () {
        // A failure before the first event is answered like one of POST /query.
        const answering = yield* answer.ask({ ...payload, ...byContract })
        const generation = yield* Effect.either(answering.generation)
        // The model that answers is certain only now.
        const certain = Either.isRight(generation) ? { ...answering, llm: generation.right.llm } : answering
        return eventStream(write({ ...certain, generation }, payload, idOf(request)), headersOf(originOf(certain)))
      })
    )
  })
)
