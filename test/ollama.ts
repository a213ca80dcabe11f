import * as Effect from "effect/Effect"
import * as Http from "node:http"
import type { AddressInfo, Socket } from "node:net"

/** What is wrong with the server: none of it unless it is set. It can be changed while the server runs. */
export interface Faults {
  /** Takes requests and never answers. */
  silent?: boolean
  /** Answers every request to generate or embed with this status, for the first `times`, or always. */
  refuse?: { readonly status: number; readonly error: string; times?: number } | undefined
  /** Redirects every request to generate or embed to this host. */
  redirect?: string
  /** Closes the connection of so many requests instead of answering, as one that was idle for too long. */
  hangUp?: number
  /** Waits before each fragment, and before vectors. */
  slowMs?: number
  /** Waits for this before vectors. */
  until?: Promise<void>
  /** Breaks the connection after so many fragments. */
  cutAfter?: number
  /** Ends the stream in order in the middle of the line at that place. */
  endIn?: number
  /** Sends this line instead of the fragment at that place. */
  rubbishAt?: { readonly fragment: number; readonly line: string }
  /** Says this in the stream after so many fragments, as Ollama does when a runner dies. */
  errorAfter?: { readonly fragments: number; readonly error: string }
  /** Ends the stream in order after so many fragments, without the line that is done. */
  endAfter?: number
  /** What the last line says that the prompt had of tokens. */
  promptTokens?: number | null | undefined
  /** Never answers so many requests for the list of models. */
  silentLists?: number
  /** Answers so to a request for the list of models. */
  listStatus?: number | undefined
  /** Cannot write the vector of this text as JSON. */
  failsText?: string | undefined
  /** The vectors of these texts, as they stand in the answer. */
  vectors?: Readonly<Record<string, string>> | undefined
  /** Answers requests for vectors, or for the list of models, with this text and status 200. */
  says?: string | undefined
  /** Why an answer ended; "stop" unless set. */
  doneReason?: "stop" | "length"
  /** Refuses a prompt that is longer than the window. */
  refusesLong?: boolean
  /** Vectors of this width. */
  dimensions?: number
}

export interface Asked {
  readonly path: string
  readonly body: any
  readonly headers: Http.IncomingHttpHeaders
}

const maxWords = 64

/** A vector for a text by its words: texts that share words are near. */
const embed = (text: string, dimensions: number): ReadonlyArray<number> => {
  const vector = new Array<number>(dimensions).fill(0.001)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    let hash = 7
    for (const letter of word) hash = (hash * 31 + letter.codePointAt(0)!) % 65_521
    vector[hash % dimensions]! += 1
  }
  const norm = Math.hypot(...vector)
  return vector.map((value) => value / norm)
}

/** As many tokens as a model would make of it, about: four letters, a digit, a sign or a character of CJK each. */
export const tokensOf = (text: string): number => text.match(/[A-Za-z]{1,4}|[^\sA-Za-z]/g)?.length ?? 0

/** What 0.9.6 and later take; any other field is refused, which Ollama itself would pass over. */
const chatFields = new Set("model messages stream format options keep_alive think tools truncate shift".split(" "))
const chatOptions = new Set("temperature num_predict num_ctx seed stop top_p top_k".split(" "))

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/**
 * A server that speaks Ollama's protocol as 0.9.6 does: NDJSON, status codes and errors are copied from it. It has the
 * models "all-minilm:latest", which embeds and takes 64 words, and "small:latest", which says `answer`, a fragment each.
 */
export const startOllama = (answer: ReadonlyArray<string> = ["Hello", " world", "."]) =>
  Effect.gen(function* () {
    const faults: Faults = {}
    const asked: Array<Asked> = []
    const state = {
      inFlight: 0,
      mostInFlight: 0,
      closed: 0,
      open: 0,
      answer,
      models: ["all-minilm:latest", "small:latest"],
      /** Changes where a model is pulled again. */
      digest: "1b226e2802db",
      /** What a request that names no num_ctx gets. */
      window: 4096,
      /** The longest that the model can have; untold unless set. */
      longest: undefined as number | undefined,
      /** The `num_ctx` of the model's own file. */
      own: undefined as number | undefined,
      /** What the model is loaded with, where the server tells. */
      loaded: undefined as number | undefined
    }
    /** Requests for what is known of models. */
    const looked: Array<string> = []
    const sockets = new Set<Socket>()

    const json = (response: Http.ServerResponse, status: number, body: unknown) => {
      const text = JSON.stringify(body)
      response.writeHead(status, {
        "content-type": "application/json; charset=utf-8",
        "content-length": Buffer.byteLength(text)
      })
      response.end(text)
    }
    const raw = (response: Http.ServerResponse, text: string) => {
      response.writeHead(200, { "content-type": "application/json; charset=utf-8" })
      response.end(text)
    }
    const named = (model: string) => (model.includes(":") ? model : `${model}:latest`)

    const chat = async (body: any, response: Http.ServerResponse) => {
      if (named(body.model).startsWith("all-minilm")) {
        return json(response, 400, { error: `"${body.model}" does not support chat` })
      }
      const strange = [
        ...Object.keys(body).filter((key) => !chatFields.has(key)),
        ...Object.keys(body.options).filter((key) => !chatOptions.has(key))
      ]
      if (strange.length > 0) return json(response, 400, { error: `unknown field ${strange.join(", ")}` })
      const window = body.options.num_ctx ?? state.own ?? state.window
      const said: number = body.messages.reduce((sum: number, { content }: any) => sum + tokensOf(content) + 8, 0)
      if (faults.refusesLong === true && said > window) {
        return json(response, 400, { error: "the input length exceeds the context length" })
      }
      response.writeHead(200, { "content-type": "application/x-ndjson" })
      const base = { model: body.model, created_at: "2026-01-01T00:00:00.000000000Z" }
      const line = (value: unknown) => response.write(`${JSON.stringify(value)}\n`)
      for (const [at, content] of [...state.answer, undefined].entries()) {
        if (faults.slowMs !== undefined) await wait(faults.slowMs)
        if (response.destroyed) return
        // What was written before goes out first.
        if ([faults.cutAfter, faults.endIn, faults.rubbishAt?.fragment, faults.errorAfter?.fragments].includes(at))
          await wait(30)
        if (faults.cutAfter === at) return response.destroy()
        if (faults.endAfter === at) return response.end()
        if (faults.endIn === at) return response.end('{"message":{"rol')
        if (faults.errorAfter?.fragments === at) {
          line({ error: faults.errorAfter.error })
          return response.end()
        }
        if (faults.rubbishAt?.fragment === at) response.write(`${faults.rubbishAt.line}\n`)
        else if (content !== undefined) {
          if (!line({ ...base, message: { role: "assistant", content }, done: false })) {
            await new Promise<void>((resolve) => {
              response.once("drain", resolve)
              response.once("close", resolve)
            })
          }
        }
      }
      const last = { done_reason: faults.doneReason ?? "stop", done: true, total_duration: 1 }
      const prompt = faults.promptTokens === undefined ? Math.min(said, window) : faults.promptTokens
      const counts = { prompt_eval_count: prompt, eval_count: state.answer.length }
      line({ ...base, message: { role: "assistant", content: "" }, ...last, ...counts })
      response.end()
    }

    const vectors = async (body: any, response: Http.ServerResponse) => {
      if (named(body.model).startsWith("small"))
        return json(response, 500, { error: "this model does not support embeddings" })
      const input: ReadonlyArray<string> = typeof body.input === "string" ? [body.input] : body.input
      if (faults.slowMs !== undefined) await wait(faults.slowMs)
      await faults.until
      if (faults.says !== undefined) return raw(response, faults.says)
      const { vectors } = faults
      if (vectors !== undefined) {
        const own = input.map((text) => vectors[text] ?? JSON.stringify(Array(32).fill(1)))
        return raw(response, `{"embeddings":[${own.join()}]}`)
      }
      if (faults.failsText !== undefined && input.includes(faults.failsText)) {
        return json(response, 500, { error: "failed to encode response: json: unsupported value: NaN" })
      }
      const isLong = (text: string) => text.split(/\s+/).length > maxWords
      if (body.truncate === false && input.some(isLong)) {
        return json(response, 400, { error: "input length exceeds maximum context length" })
      }
      const dimensions = faults.dimensions ?? body.dimensions ?? 32
      const cut = (text: string) => text.split(/\s+/).slice(0, maxWords).join(" ")
      json(response, 200, {
        model: body.model,
        embeddings: input.map((text) => embed(isLong(text) ? cut(text) : text, dimensions)),
        total_duration: 1,
        load_duration: 1,
        prompt_eval_count: 1
      })
    }

    const server = Http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const path = request.url ?? ""
        if (path === "/api/tags") {
          if (faults.silent) return
          if (faults.silentLists !== undefined && faults.silentLists-- > 0) return
          if (faults.listStatus !== undefined) return json(response, faults.listStatus, { error: "no list" })
          if (faults.says !== undefined) return raw(response, faults.says)
          return json(response, 200, {
            models: state.models.map((name) => ({ name, model: name, digest: state.digest }))
          })
        }
        const body = JSON.parse(Buffer.concat(chunks).toString() || "null")
        if (path === "/api/ps") {
          looked.push(path)
          const loaded = state.loaded === undefined ? [] : [{ name: "small:latest", context_length: state.loaded }]
          return faults.silent ? undefined : json(response, 200, { models: loaded })
        }
        if (path === "/api/show" && !faults.silent && state.models.includes(named(body?.model ?? ""))) {
          looked.push(path)
          return json(response, 200, {
            details: { family: "test" },
            capabilities: ["completion"],
            model_info: { "general.architecture": "test", "test.context_length": state.longest },
            parameters: state.own === undefined ? undefined : `num_ctx                        ${state.own}\nstop "x"`
          })
        }
        asked.push({ path, body, headers: request.headers })
        state.inFlight++
        state.mostInFlight = Math.max(state.mostInFlight, state.inFlight)
        response.on("close", () => {
          state.inFlight--
          if (!response.writableFinished) state.closed++
        })
        if (faults.silent) return
        if (faults.hangUp !== undefined && faults.hangUp-- > 0) return response.destroy()
        if (faults.redirect !== undefined) {
          return response.writeHead(307, { location: faults.redirect + path }).end()
        }
        const { refuse } = faults
        if (refuse !== undefined && (refuse.times === undefined || refuse.times-- > 0)) {
          return json(response, refuse.status, { error: refuse.error })
        }
        if (!state.models.includes(named(body?.model ?? ""))) {
          return json(response, 404, { error: `model "${body.model}" not found, try pulling it first` })
        }
        if (path === "/api/chat") return void chat(body, response)
        if (path === "/api/embed") return void vectors(body, response)
        response.writeHead(404, { "content-type": "text/plain" })
        response.end("404 page not found")
      })
    })
    server.on("connection", (socket) => {
      state.open++
      sockets.add(socket)
      socket.on("close", () => {
        state.open--
        sockets.delete(socket)
      })
    })
    const listen = (port: number) =>
      Effect.async<number>((resume) => {
        server.listen(port, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
      })
    const port = yield* listen(0)
    /** Gone, as a server is that was stopped; `start` brings it back at the same address. */
    const stop = Effect.async<void>((resume) => {
      server.close(() => resume(Effect.void))
      for (const socket of sockets) socket.destroy()
    })
    yield* Effect.addFinalizer(() => stop)
    return { url: `http://127.0.0.1:${port}`, faults, asked, looked, state, stop, start: Effect.asVoid(listen(port)) }
  })

/** Waits until something is so, for at most twenty seconds. */
export const eventually = (what: string, isSo: () => boolean): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let left = 2000; !isSo(); left--) {
      if (left === 0) throw new Error(`not within twenty seconds: ${what}`)
      await wait(10)
    }
  })
