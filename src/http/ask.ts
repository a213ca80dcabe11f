import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { Answer, type Answering, type Verdict } from "../Answer.ts"
import { Api } from "../api/Api.ts"
import type { AskRequest, CitationsEvent, ErrorEvent, SourceEvent } from "../api/Ask.ts"
import { defaultCollection } from "../model/Collection.ts"
import { type LlmIdentity, LlmUnavailable } from "../Llm.ts"
import type { Provenance } from "../model/Provenance.ts"
import type { Hit } from "../model/SearchResult.ts"
import { asRead, besides } from "../citations/remarks.ts"
import { Listener } from "./Listener.ts"
import { errorOf, idOf, render, withoutInside } from "./respond.ts"
import { byContract, outside } from "./search.ts"
import * as sse from "./sse.ts"

const source = ({ collection, document, passage, score, via }: Hit, position: number): string =>
  sse.event(
    "source",
    JSON.stringify({
      index: position + 1,
      source: document.source,
      score,
      text: passage.text,
      ...(collection === defaultCollection ? {} : { collection }),
      ...(via === undefined ? {} : { via })
    } satisfies SourceEvent)
  )

/** What the contract's events do not tell: how the passages were found, and what answers. */
interface Origin extends Omit<Provenance, "weak"> {
  readonly omitted?: number
  readonly llm: LlmIdentity
}

export const originOf = (answering: Answering): Origin => {
  const { mode, ...found } = Struct.omit(outside(answering), "weak")
  const {
    llm: { why, ...llm },
    omitted
  } = answering
  return {
    mode,
    llm: { ...llm, ...(why === undefined ? {} : { why: withoutInside(why) }) },
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
  (hint === undefined ? "" : sse.comment(`nothing found: ${hint}`)) +
  (alsoSearched === undefined ? "" : sse.comment(besides({ alsoSearched })!)) +
  (readAs === undefined ? "" : sse.comment(asRead({ readAs })!)) +
  (degraded === undefined ? "" : sse.comment(mode === "hybrid" ? degraded : `${mode} search only: ${degraded}`)) +
  (omitted === undefined ? "" : sse.comment(`${omitted} more found that do not fit into llm.context_tokens`))

const citations = (
  verdicts: ReadonlyArray<Verdict>,
  more: Origin & { readonly cut: boolean; readonly prompt_cut?: true }
): string =>
  sse.event(
    "citations",
    JSON.stringify({
      citations: verdicts.map(({ end, exists, n, sentence, start, support, verdict }) => ({
        index: n,
        start,
        end,
        sentence,
        exists,
        support,
        verdict
      })),
      ...more
    } satisfies CitationsEvent)
  )

const promptCut =
  "the model's server cut the prompt to its window: the model may not have seen its instruction or all passages"

const done = sse.event("done", "{}")

/** The failure as the event that ends the stream, logged once. */
const failed = (cause: Cause.Cause<unknown>, id: string): Effect.Effect<string> =>
  Option.match(errorOf(cause), {
    // Interrupted: the client has gone.
    onNone: () => Effect.failCause(cause) as Effect.Effect<never>,
    onSome: (error) => {
      const { body, defect, inside = body.detail } = render(error, id)
      const logged =
        defect === undefined
          ? Effect.logWarning(`POST /ask: ${inside}`)
          : Effect.annotateLogs(Effect.logError("defect", cause), "request_id", defect)
      return Effect.as(logged, sse.event("error", JSON.stringify({ message: body.detail } satisfies ErrorEvent)))
    }
  })

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
            if (request.verify) text += fragment
            return emit(sse.event("token", fragment))
          })
          yield* Effect.raceFirst(tokens, late)
          const cut = yield* isCut
          if (cut) yield* emit(sse.comment("cut at llm.max_tokens"))
          const { isPromptCut } = yield* usage
          if (isPromptCut) yield* emit(sse.comment(promptCut))
          const cuts = { cut, ...(isPromptCut ? { prompt_cut: true as const } : {}) }
          if (request.verify) yield* emit(citations(yield* answer.verify(text, hits), { ...cuts, ...found }))
          yield* emit(done)
        }).pipe(Effect.catchAllCause((cause) => Effect.flatMap(failed(cause, id), emit)))

    return handlers.handle("ask", ({ payload, request }) =>
      // A failure before the first event is answered like one of POST /query.
      Effect.map(answer.ask({ ...payload, ...byContract }), (answering) =>
        sse.respond(write(answering, payload, idOf(request)), headersOf(originOf(answering)))
      )
    )
  })
)
