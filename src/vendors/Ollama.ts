import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type * as Scope from "effect/Scope"
import type { Ollama } from "ollama"
import { waitOf } from "../model/retryAfter.ts"
import { isStale } from "./again.ts"
import { Cut, isCut, parsed } from "./json.ts"
import { redirectOf, shown } from "./redirect.ts"

export type Client = Ollama

/** An Ollama's address, and the headers for every request. */
export interface OllamaServer {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Ollama accepts seconds only as a number. */
export const toKeepAlive = (text: string): string | number => (/^-?\d+$/.test(text) ? Number(text) : text)

/** Ollama did not answer correctly; the reason says what to do. */
export class OllamaError extends Schema.TaggedError<OllamaError>()("OllamaError", {
  reason: Schema.String,
  /** HTTP status; undefined without a response. */
  status: Schema.optional(Schema.Number),
  /** Nothing listens at the address: there is no Ollama. */
  absent: Schema.optional(Schema.Boolean),
  /** It sent nothing in time. */
  silent: Schema.optional(Schema.Boolean),
  /** The server's Retry-After, in milliseconds. */
  waitMs: Schema.optional(Schema.Number)
}) {
  override get message() {
    return this.reason
  }

  /** The same request may succeed later. */
  get retryable(): boolean {
    // Ollama also answers 500 if the model lacks a feature.
    if (this.reason.includes("does not support")) return false
    return this.status === undefined || this.status === 429 || this.status >= 500
  }
}

const codeOf = (error: unknown): unknown => {
  const cause = (error as { readonly cause?: { readonly code?: unknown } }).cause
  return cause?.code ?? (error as { readonly code?: unknown }).code
}

/** Explains an exception of the client, with advice. */
export const toOllamaError =
  (url: string, model?: string) =>
  (error: unknown): OllamaError => {
    if (error instanceof OllamaError) return error
    const text = error instanceof Error ? error.message : String(error)
    const status = (error as { readonly status_code?: unknown }).status_code
    if (typeof status === "number") {
      const advice = status === 404 && model !== undefined ? `; get it with \`ollama pull ${model}\`` : ""
      const { waitMs } = error as { readonly waitMs?: number }
      return new OllamaError({
        reason: `Ollama answered ${status}: ${text}${advice}`,
        status,
        ...(waitMs === undefined ? {} : { waitMs })
      })
    }
    if (error instanceof SyntaxError) {
      return new OllamaError({ reason: `Ollama at ${url} sent something that is not JSON: ${text}`, status: 200 })
    }
    const code = codeOf(error)
    if (code === "ECONNREFUSED") {
      return new OllamaError({
        reason: `Ollama does not answer at ${url}; start it with \`ollama serve\``,
        absent: true
      })
    }
    return new OllamaError({
      reason: `Ollama at ${url} stopped in the middle of the answer: ${text}${typeof code === "string" ? ` (${code})` : ""}`
    })
  }

/** Reads a refusal here, since the client would print a body that is not JSON to stdout. */
const refuse = async (response: Response): Promise<never> => {
  const { headers, status, url } = response
  const body = await response.text()
  const { pathname } = new URL(url)
  const redirect = redirectOf(status, headers.get("location"), url, pathname.slice(pathname.lastIndexOf("/api/")))
  let reason = redirect ?? body.slice(0, 300)
  try {
    const { error } = JSON.parse(body) as { readonly error?: unknown }
    if (typeof error === "string") reason = error
  } catch {
    // Not JSON: the text itself is the reason.
  }
  throw Object.assign(new Error(reason === "" ? response.statusText : reason), {
    status_code: status,
    waitMs: waitOf((name) => headers.get(name), Date.now())
  })
}

/** The parts of a chat's line that matter here. */
const ChatLine = Schema.parseJson(
  Schema.Struct({
    message: Schema.optional(Schema.Struct({ content: Schema.optional(Schema.String) })),
    done: Schema.optional(Schema.Boolean),
    error: Schema.optional(Schema.String)
  }).pipe(Schema.filter(({ done, error, message }) => message !== undefined || error !== undefined || done === true))
)

const isChatLine = (line: string): boolean => Either.isRight(Schema.decodeEither(ChatLine)(line))

/** A chat, one fragment a line. The client would skip an invalid line and leave a gap in the answer. */
const checked = (body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> => {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let open = ""
  const check = (line: string): string => {
    if (isChatLine(line)) return line
    throw new OllamaError({ reason: `Ollama sent something that is not an answer: ${line.slice(0, 200)}`, status: 200 })
  }
  const pass = (lines: ReadonlyArray<string>, out: TransformStreamDefaultController<Uint8Array>) => {
    for (const line of lines) if (line.trim() !== "") out.enqueue(encoder.encode(`${check(line)}\n`))
  }
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, out) => {
        const lines = (open + decoder.decode(chunk, { stream: true })).split("\n")
        open = lines.pop() ?? ""
        pass(lines, out)
      },
      // A line without an end was cut, unless it is complete.
      flush: (out) => {
        const rest = open + decoder.decode()
        if (isCut(rest)) throw new Cut()
        pass([rest], out)
      }
    })
  )
}

/** A client for one call: closing the scope closes its connection, whatever it waits for. */
export const client = ({ headers: given, url }: OllamaServer): Effect.Effect<Ollama, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { Ollama } = yield* Effect.promise(() => import("ollama"))
    const controller = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    )
    const request: typeof fetch = async (input, init) => {
      const signals = init?.signal ? [init.signal, controller.signal] : [controller.signal]
      // One connection per call: of those kept open, several may have been closed at the other end by the time they are used.
      const headers = { ...(init?.headers as Record<string, string> | undefined), ...given, connection: "close" }
      const ask = () => fetch(input, { ...init, headers, redirect: "manual", signal: AbortSignal.any(signals) })
      // Nothing was answered yet, so the request can be repeated.
      const response = await ask().catch((error: unknown) => (isStale(codeOf(error)) ? ask() : Promise.reject(error)))
      if (!response.ok) return refuse(response)
      // Only streams have a signal, and only chats are streamed.
      return init?.signal && response.body !== null
        ? new Response(checked(response.body))
        : Object.assign(response, { json: () => response.text().then(parsed) })
    }
    return new Ollama({ host: url, fetch: request })
  })

/** Makes one call; the answer must match the schema, whose title appears in errors. */
export const call = <A, I>(
  server: OllamaServer,
  model: string | undefined,
  schema: Schema.Schema<A, I>,
  use: (ollama: Ollama) => Promise<unknown>
): Effect.Effect<A, OllamaError> => {
  const decode = Schema.decodeUnknown(schema)
  const { url } = server
  const title = Option.getOrElse(SchemaAST.getTitleAnnotation(schema.ast), () => "answer")
  return Effect.scoped(
    Effect.flatMap(client(server), (ollama) =>
      Effect.tryPromise({ try: () => use(ollama), catch: toOllamaError(shown(url), model) })
    )
  ).pipe(
    Effect.flatMap((answer) =>
      Effect.mapError(decode(answer), () => {
        const reason = `Ollama at ${shown(url)} sent something that is not a ${title}: ${String(JSON.stringify(answer)).slice(0, 200)}`
        return new OllamaError({ reason, status: 200 })
      })
    )
  )
}

const Models = Schema.Struct({
  models: Schema.Array(Schema.Struct({ name: Schema.String, digest: Schema.optional(Schema.String) }))
}).annotations({
  title: "list of models"
})

/** A colon before the last slash precedes a port. */
const withTag = (name: string) => (name.lastIndexOf(":") > name.lastIndexOf("/") ? name : `${name}:latest`)

/** Modules that the first call loads, so that loading does not count as the server's time. */
const loaded = Effect.promise(async () => {
  await Promise.all([import("ollama"), fetch("data:,")])
})

/** Fails with the reason if no Ollama answers within `within` milliseconds, or if it does not have the model. */
const find = (server: OllamaServer, model: string, within: number) =>
  Effect.zipRight(
    loaded,
    call(server, undefined, Models, (ollama) => ollama.list()).pipe(
      Effect.filterOrFail(
        ({ models }) => models.some(({ name }) => name === withTag(model)),
        () =>
          new OllamaError({
            reason: `Ollama at ${shown(server.url)} has no ${model}; get it with \`ollama pull ${model}\``
          })
      ),
      Effect.timeout(within)
    )
  )

/** Whether there is no Ollama, or none with the model; a slow or failing one does not count. */
export const isAbsence = ({ absent, reason }: OllamaError): boolean =>
  absent === true || reason.includes("get it with `ollama pull")

/**
 * Fails with the reason if no Ollama answers within 300 ms, or if it does not have the model. A silent one gets a second
 * try of one second, since the machine may be busy.
 */
export const choose = (server: OllamaServer, model: string): Effect.Effect<void, OllamaError> =>
  find(server, model, 300).pipe(
    Effect.catchTag("TimeoutException", () => find(server, model, 1000)),
    Effect.catchTag(
      "TimeoutException",
      () => new OllamaError({ reason: `Ollama at ${shown(server.url)} did not answer within 1000 ms` })
    ),
    Effect.asVoid
  )

/** As long as a query waits for its vector. */
const digestMs = 5000

/** What a server answers that has no such list, or shows it to nobody. */
const listless: ReadonlySet<number | undefined> = new Set([200, 400, 401, 403, 404, 405, 501])

/** The digest of the weights behind a model's name, in two tries; undefined if the server tells none. */
export const digestOf = (server: OllamaServer, model: string): Effect.Effect<string | undefined, OllamaError> =>
  call(server, undefined, Models, (ollama) => ollama.list()).pipe(
    Effect.map(({ models }) => models.find(({ name }) => name === withTag(model))?.digest || undefined),
    Effect.timeoutFail({
      duration: digestMs,
      onTimeout: () => new OllamaError({ reason: `it did not list its models within ${digestMs} ms` })
    }),
    Effect.catchIf(
      ({ status }) => listless.has(status),
      () => Effect.succeed(undefined)
    ),
    Effect.retry({ times: 1 })
  )

/** What is known of a model's window, in tokens. */
export interface Windows {
  /** The longest window that the model supports. */
  readonly longest?: number | undefined
  /** The window from the model's own file, used if a request names none. */
  readonly own?: number | undefined
  /** The window with which it is currently loaded. */
  readonly loaded?: number | undefined
}

const Shown = Schema.Struct({
  model_info: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  parameters: Schema.optional(Schema.String)
}).annotations({ title: "description of a model" })

const Running = Schema.Struct({
  models: Schema.Array(Schema.Struct({ name: Schema.String, context_length: Schema.optional(Schema.Number) }))
}).annotations({ title: "list of running models" })

/** What Ollama reports of a model's window; empty if it does not answer within a second. */
export const windowsOf = (server: OllamaServer, model: string): Effect.Effect<Windows> => {
  const shown = call(server, model, Shown, (ollama) => ollama.show({ model })).pipe(
    Effect.map(({ model_info: info = {}, parameters = "" }): Windows => {
      const longest = Object.entries(info).find(([key]) => key.endsWith(".context_length"))?.[1]
      const own = /^num_ctx +(\d{1,9})/m.exec(parameters)?.[1]
      return {
        ...(typeof longest === "number" && longest > 0 ? { longest } : {}),
        ...(own === undefined ? {} : { own: Number(own) })
      }
    })
  )
  const running = call(server, undefined, Running, (ollama) => ollama.ps()).pipe(
    Effect.map(({ models }) => models.find(({ name }) => name === withTag(model))?.context_length || undefined)
  )
  const soon = <A>(asked: Effect.Effect<A, OllamaError>) => Effect.option(Effect.timeout(asked, 1000))
  return Effect.map(Effect.all([soon(shown), soon(running)], { concurrency: 2 }), ([shown, running]) => {
    const loaded = Option.getOrUndefined(running)
    return { ...Option.getOrUndefined(shown), ...(loaded === undefined ? {} : { loaded }) }
  })
}
