import * as Effect from "effect/Effect"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

/** What is wrong with the server: none of it unless it is set. */
export interface RerankFaults {
  silent?: boolean
  status?: { readonly status: number; readonly body: string; readonly retryAfter?: string } | undefined
  body?: string | undefined
}

const wordsOf = (text: string) => new Set(text.toLowerCase().match(/\p{L}+/gu) ?? [])

/** Refuses what the protocol does not have: POST /v1/rerank with query, documents as texts, and top_n. */
const wrong = (body: any): string | undefined => {
  const { documents, model, query, top_n: most, ...rest } = body
  if (Object.keys(rest).length > 0) return `unknown: ${Object.keys(rest).join(", ")}`
  if (typeof query !== "string" || query === "") return '"query" must be provided'
  if (!Array.isArray(documents) || documents.length === 0) return '"documents" must be a non-empty string array'
  if (!documents.every((document) => typeof document === "string")) return "documents must be texts"
  if (model !== undefined && typeof model !== "string") return "model must be a text"
  return most === undefined || Number.isInteger(most) ? undefined : "top_n must be a number"
}

/** A server that answers /v1/rerank as llama.cpp's does: the best first, each by its index, scores of any sign. */
export const startRerank = Effect.gen(function* () {
  const faults: RerankFaults = {}
  const asked: Array<{ readonly body: any; readonly authorization: string | undefined }> = []
  const server = Http.createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (part: string) => (text += part))
    request.on("end", () => {
      const body = JSON.parse(text)
      asked.push({ body, authorization: request.headers.authorization })
      if (faults.silent === true) return
      const send = (status: number, value: string, headers = {}) => {
        response.writeHead(status, { "content-type": "application/json", ...headers }).end(value)
      }
      if (faults.status !== undefined) {
        const { body: value, retryAfter, status } = faults.status
        return send(status, value, retryAfter === undefined ? {} : { "retry-after": retryAfter })
      }
      if (faults.body !== undefined) return send(200, faults.body)
      const problem = request.method === "POST" && request.url === "/v1/rerank" ? wrong(body) : `no ${request.url}`
      if (problem !== undefined) {
        return send(400, JSON.stringify({ error: { code: 400, message: problem, type: "invalid_request_error" } }))
      }
      const wanted = wordsOf(body.query)
      const results = body.documents
        .map((document: string, index: number) => ({
          index,
          relevance_score: [...wordsOf(document)].filter((word) => wanted.has(word)).length - 3.5
        }))
        .sort((a: any, b: any) => b.relevance_score - a.relevance_score)
        .slice(0, body.top_n)
      send(
        200,
        JSON.stringify({
          model: body.model ?? "",
          object: "list",
          usage: { prompt_tokens: 1, total_tokens: 1 },
          results
        })
      )
    })
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )
  return { asked, faults, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})
