import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type Llm, LlmUnavailable, type Usage } from "../Llm.ts"
import {
  type OllamaServer,
  type Client,
  client,
  OllamaError,
  toKeepAlive,
  toOllamaError,
  type Windows,
  windowsOf
} from "../vendors/Ollama.ts"
import { type ModelOptions, generation, isTooLong, reasonOf, whileBusy, messagesOf } from "./generation.ts"
import { usualWindow, makeCalibration, windowOf } from "./window.ts"

/** A model's window, and the `num_ctx` to send for it: undefined if Ollama uses it anyway. */
export interface Wanted {
  readonly contextTokens: number
  readonly numCtx?: number | undefined
}

/** Requesting another window than the loaded one makes Ollama reload the model, which takes seconds. */
const wantedOf = (configured: number | undefined, { loaded, longest = Infinity, own }: Windows): Wanted => {
  if (configured !== undefined) {
    const contextTokens = Math.min(configured, longest)
    return contextTokens === own ? { contextTokens } : { contextTokens, numCtx: contextTokens }
  }
  if (own !== undefined) return { contextTokens: Math.min(own, longest) }
  if (loaded !== undefined && loaded > usualWindow) return { contextTokens: loaded, numCtx: loaded }
  return { contextTokens: Math.min(usualWindow, longest) }
}

/** How long a reported window is cached, in milliseconds. */
const believed = 60_000

interface OllamaWindows {
  /** The current window; asks Ollama, for at most a second, unless cached. */
  readonly of: (model: string) => Effect.Effect<Wanted>
  /** The same from the cache. */
  readonly known: (model: string) => Wanted
  /** The server gave this model a smaller window than assumed: send `num_ctx` from now on. */
  readonly insist: (model: string) => void
}

const makeWindows = (options: ModelOptions & OllamaServer): OllamaWindows => {
  const reported = new Map<string, { readonly windows: Windows; readonly at: number }>()
  const insisted = new Set<string>()
  const known = (model: string): Wanted => {
    const wanted = wantedOf(options.contextTokens, reported.get(model)?.windows ?? {})
    return insisted.has(model) ? { ...wanted, numCtx: wanted.contextTokens } : wanted
  }
  return {
    known,
    insist: (model) => void insisted.add(model),
    of: Effect.fnUntraced(function* (model: string) {
      const now = yield* Clock.currentTimeMillis
      const before = reported.get(model)
      if (before === undefined || now - before.at > believed) {
        const windows = yield* windowsOf(options, model)
        // Fall back to an older report. A caller may name any model, so only a few are remembered.
        if (reported.size > 32) reported.clear()
        reported.set(model, { windows: { ...before?.windows, ...windows }, at: now })
      }
      return known(model)
    })
  }
}

export interface OllamaOptions extends ModelOptions, OllamaServer {
  /** How long the model stays loaded, in Ollama's notation; a number is seconds. */
  readonly keepAlive?: string | undefined
  /** Whether, or how much, a model thinks before it answers. */
  readonly think?: boolean | "low" | "medium" | "high" | undefined
}

const silent = ({ timeoutMs, url }: ModelOptions, model: string) =>
  new OllamaError({
    reason: `Ollama at ${url} sent nothing for ${timeoutMs} ms; ${model} may be too large for this machine, or llm.timeout_ms too short`,
    silent: true
  })

/**
 * The fragments, with a timeout for silence; a thinking model sends fragments without text, which is not silence.
 * Without `return`, which would wait for the pending fragment, although closing the connection ends it.
 */
const watched = <A>(fragments: AsyncIterable<A>, timeoutMs: number, silence: () => Error): AsyncIterable<A> => {
  const iterator = fragments[Symbol.asyncIterator]()
  const next = () =>
    new Promise<IteratorResult<A>>((resolve, reject) => {
      const timer = setTimeout(() => reject(silence()), timeoutMs)
      iterator
        .next()
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
  return { [Symbol.asyncIterator]: () => ({ next }) }
}

const given = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { readonly [k in K]?: V }

/** A token count equal to the whole window means that the prompt was cut. */
const looksCut = (tokens: number, expected: number, numCtx: number | undefined): boolean =>
  numCtx === undefined ? tokens % 512 === 0 && expected > 0.9 * tokens : tokens >= numCtx

/** Chat by Ollama's `/api/chat`, streamed. */
export const make = (options: OllamaOptions): typeof Llm.Service => {
  const { keepAlive, maxTokens, seed, stop, systemPrompt, think, timeoutMs, url } = options
  const identity = (model = options.model) => ({ backend: "ollama" as const, model })
  const calibration = makeCalibration()
  const windows = makeWindows(options)
  return {
    identity: (model) => Effect.succeed(identity(model)),
    window: (model = options.model) =>
      Effect.map(windows.of(model), ({ contextTokens }) => windowOf(options, calibration, model, contextTokens)),
    answer: (question) => {
      const { model = options.model, schema, temperature = options.temperature } = question
      const messages = messagesOf(question, systemPrompt)
      const wrong = toOllamaError(url, model)
      const silence = () => silent(options, model)
      const { contextTokens, numCtx: known } = windows.known(model)
      let numCtx = known
      // With these, newer servers report that the window is too small; otherwise they drop the beginning, which is the
      // instruction.
      const unbroken = { truncate: false, shift: false }
      const begin = (ollama: Client) =>
        Effect.tryPromise({
          try: () =>
            ollama.chat({
              model,
              messages: [...messages],
              stream: true,
              ...given("format", schema),
              ...given("keep_alive", keepAlive === undefined ? undefined : toKeepAlive(keepAlive)),
              ...given("think", think),
              ...unbroken,
              options: {
                temperature,
                num_predict: maxTokens,
                ...given("num_ctx", numCtx),
                ...given("seed", seed),
                ...given("stop", stop === undefined || schema !== undefined ? undefined : [...stop])
              }
            }),
          catch: wrong
        }).pipe(Effect.timeoutFail({ duration: Duration.millis(timeoutMs), onTimeout: silence }), whileBusy(timeoutMs))

      const usageOf = (said: number | null | undefined, answerTokens: number | undefined): Usage => {
        // Other servers of this protocol say 0, null or less where they do not count.
        const promptTokens = Number.isInteger(said) && said! > 0 ? said! : undefined
        const counts = { ...given("promptTokens", promptTokens), ...given("answerTokens", answerTokens) }
        if (promptTokens === undefined) return { ...counts, isPromptCut: false }
        const isPromptCut = looksCut(promptTokens, calibration.countMessages(model, messages), numCtx)
        if (isPromptCut) windows.insist(model)
        else calibration.learn(model, messages, promptTokens)
        return { ...counts, isPromptCut }
      }
      // The model may be loaded with a smaller window than it is used with here.
      const begun = (ollama: Client) =>
        Effect.catchIf(
          begin(ollama),
          (error) => numCtx === undefined && isTooLong(error),
          () => {
            windows.insist(model)
            numCtx = contextTokens
            return begin(ollama)
          }
        )
      const parts = Stream.unwrapScoped(
        Effect.gen(function* () {
          const answer = yield* begun(yield* client(options))
          return Stream.fromAsyncIterable(watched(answer, timeoutMs, silence), wrong)
        })
      ).pipe(
        Stream.map(({ done, done_reason, eval_count, message, prompt_eval_count }) => ({
          text: message?.content ?? "",
          isCut: done_reason === "length",
          ...(done === true ? { usage: usageOf(prompt_eval_count, eval_count) } : {})
        })),
        Stream.mapError((error) => new LlmUnavailable({ reason: reasonOf(error), silent: error.silent }))
      )
      return generation({ llm: identity(model), configured: options.model, maxTokens, contextTokens }, parts)
    }
  }
}
