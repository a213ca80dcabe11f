import * as Effect from "effect/Effect"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { tokensOf } from "./ollama.ts"

/** What is wrong with the server: none of it unless it is set. */
export interface Faults {
  silent?: boolean
  refuse?: { readonly status: number; readonly body: string; times?: number } | undefined
  /** Redirects everything. */
  redirect?: { readonly status: number; readonly location: string } | undefined
  /** Answers everything with this and status 200. */
  page?: { readonly type: string; readonly body: string } | undefined
  cutAfter?: number
  /** Breaks the connection in the middle of so many answers with vectors. */
  cutVectors?: number
  endAfter?: number
  /** Sends this data instead of the fragment at that place. */
  dataAt?: { readonly fragment: number; readonly data: string }
  /** Closes after the reason to finish, without `[DONE]`. */
  withoutDone?: boolean
  slowMs?: number
  /** The place of the fragment that never comes. */
  stopAt?: number
  /** Why an answer ended; "stop" unless set. */
  finishReason?: "stop" | "length" | "content_filter"
  /** Refuses requests with any of these fields, in the server's own words. */
  refusesFields?: Readonly<Record<string, string>>
  /** Refuses a message of the system's. */
  refusesSystem?: boolean
  /** Seconds, as the header says. */
  retryAfter?: string | undefined
  /** Never answers a request for the vectors of more texts. */
  mostTexts?: number | undefined
  /** Refuses a request with a text of more words, as one that is longer than the model takes. */
  mostWords?: number | undefined
  /** Refuses a request with this in a text. */
  refusesText?: string | undefined
  /** Cannot write the vector of a text with this as JSON, and answers 500. */
  failsText?: string | undefined
  /** The vector of a text with this, as it stands in the answer, or of so many texts in a row beside it. */
  vectorOf?: { readonly text: string; readonly json: string; readonly spoils?: number } | undefined
  /** Keeps the connection after the answer, and counts nothing. */
  staysOpen?: boolean
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** The texts that a server computes together with one of them. */
const beside = (texts: ReadonlyArray<string>, at: number, together = 1): ReadonlyArray<string> =>
  texts.slice(at - (at % together), at - (at % together) + together)

const embed = (text: string): ReadonlyArray<number> => {
  const vector = new Array<number>(16).fill(0.001)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    let hash = 7
    for (const letter of word) hash = (hash * 31 + letter.codePointAt(0)!) % 65_521
    vector[hash % 16]! += 1
  }
  return vector
}

/** A server that speaks `/v1/chat/completions` and `/v1/embeddings` as llama.cpp's does. */
export const startOpenAi = (answer: ReadonlyArray<string> = ["Hello", " world", "."]) =>
  Effect.gen(function* () {
    const faults: Faults = {}
    const asked: Array<{
      readonly path: string
      readonly body: any
      readonly authorization: string | undefined
      readonly headers: Http.IncomingHttpHeaders
    }> = []
    const state = { closed: 0 }

    const chat = async (body: any, response: Http.ServerResponse) => {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
      const send = (data: string) => response.write(`data: ${data}\n\n`)
      const chunk = (delta: unknown, finish: string | null = null) =>
        JSON.stringify({
          id: "chatcmpl-1",
          object: "chat.completion.chunk",
          model: body.model,
          choices: [{ index: 0, delta, finish_reason: finish }]
        })
      send(chunk({ role: "assistant", content: null }))
      for (const [at, content] of [...answer, undefined].entries()) {
        if (faults.stopAt === at) return
        if (faults.slowMs !== undefined) await wait(faults.slowMs)
        if (response.destroyed) return
        // What was written before goes out first.
        if ([faults.cutAfter, faults.dataAt?.fragment].includes(at)) await wait(30)
        if (faults.cutAfter === at) return response.destroy()
        if (faults.endAfter === at) return response.end()
        if (faults.dataAt?.fragment === at) send(faults.dataAt.data)
        else if (content !== undefined) send(chunk({ content }))
      }
      send(chunk({}, faults.finishReason ?? "stop"))
      if (faults.staysOpen) return
      if (body.stream_options?.include_usage) {
        const said: number = body.messages.reduce((sum: number, { content }: any) => sum + tokensOf(content) + 8, 0)
        const usage = { prompt_tokens: said, completion_tokens: answer.length, total_tokens: said + answer.length }
        send(JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage }))
      }
      if (!faults.withoutDone) send("[DONE]")
      response.end()
    }

    const server = Http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (part: Buffer) => chunks.push(part))
      request.on("end", () => {
        const path = request.url ?? ""
        const body = JSON.parse(Buffer.concat(chunks).toString() || "null")
        asked.push({ path, body, authorization: request.headers.authorization, headers: request.headers })
        response.on("close", () => (state.closed += response.writableFinished ? 0 : 1))
        if (faults.silent) return
        const { refuse } = faults
        if (refuse !== undefined && (refuse.times === undefined || refuse.times-- > 0)) {
          const wait = faults.retryAfter === undefined ? {} : { "retry-after": faults.retryAfter }
          response.writeHead(refuse.status, { "content-type": "application/json", ...wait })
          return response.end(refuse.body)
        }
        if (faults.redirect !== undefined) {
          return response.writeHead(faults.redirect.status, { location: faults.redirect.location }).end("moved")
        }
        const refused = Object.entries(faults.refusesFields ?? {}).find(([field]) => field in body)?.[1]
        const isOfSystem = faults.refusesSystem && body.messages?.some(({ role }: any) => role === "system")
        if (refused !== undefined || isOfSystem) {
          response.writeHead(400, { "content-type": "application/json" })
          return response.end(JSON.stringify({ error: { message: refused ?? "System role not supported" } }))
        }
        if (faults.page !== undefined) {
          response.writeHead(200, { "content-type": faults.page.type })
          return response.end(faults.page.body)
        }
        if (path.split("?")[0]!.endsWith("/chat/completions")) return void chat(body, response)
        const input: ReadonlyArray<string> = body.input
        const refuseTexts = (status: number, message: string) => {
          response.writeHead(status, { "content-type": "application/json" })
          response.end(JSON.stringify({ error: { message } }))
        }
        const { mostTexts = Infinity, mostWords = Infinity, refusesText } = faults
        if (input.length > mostTexts) return
        if (input.some((text) => text.split(" ").length > mostWords)) {
          return refuseTexts(400, `This model's maximum context length is ${mostWords} tokens`)
        }
        if (refusesText !== undefined && input.some((text) => text.includes(refusesText))) {
          return refuseTexts(400, "The response was filtered")
        }
        if (faults.cutVectors !== undefined && faults.cutVectors-- > 0) {
          response.writeHead(200, { "content-type": "application/json", "content-length": 9999 })
          return void response.write('{"data":[', () => response.destroy())
        }
        const { failsText, vectorOf } = faults
        if (failsText !== undefined && input.some((text) => text.includes(failsText))) {
          return refuseTexts(500, "failed to encode response: json: unsupported value: NaN")
        }
        // Out of order, which `index` allows.
        const data = body.input.map((text: string, index: number) => ({
          object: "embedding",
          index,
          embedding:
            vectorOf !== undefined && beside(input, index, vectorOf.spoils).some((one) => one.includes(vectorOf.text))
              ? "here"
              : embed(text).slice(0, body.dimensions)
        }))
        response.writeHead(200, { "content-type": "application/json" })
        response.end(
          JSON.stringify({
            object: "list",
            model: body.model,
            data: data.reverse(),
            usage: { prompt_tokens: 3 }
          }).replaceAll('"here"', () => vectorOf!.json)
        )
      })
    })
    const port = yield* Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    })
    yield* Effect.addFinalizer(() =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
    )
    return { url: `http://127.0.0.1:${port}`, faults, asked, state }
  })
