import * as Effect from "effect/Effect"
import { type IncomingMessage, type Server, createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type * as OpenSearch from "../../../src/Store/OpenSearch.ts"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly authorization: string | undefined
}

type Told = readonly [status: number, body: unknown]

const bodyOf = (request: IncomingMessage): Promise<string> =>
  new Promise((resolve) => {
    let text = ""
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
    request.on("end", () => resolve(text))
  })

/** What a node of OpenSearch says of itself. */
export const greeting = { version: { distribution: "opensearch", number: "2.19.1" } }

/** A node on loopback that answers as told, and what it was asked. */
export const node = (answer: (asked: Asked, nth: number) => Told) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<{ readonly server: Server; readonly asked: Array<Asked> }>((resume) => {
        const asked: Array<Asked> = []
        const server = createServer(async (request, response) => {
          const body = await bodyOf(request)
          const { headers, method, url } = request
          const one: Asked = { method: method!, path: url!, body, authorization: headers.authorization }
          asked.push(one)
          const [status, told] = answer(one, asked.length)
          response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(told))
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, asked })))
      }),
      ({ server }) =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    ),
    ({ asked, server }) => ({ asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  )

export const options = (url: string, given: Partial<OpenSearch.IndexOptions> = {}): OpenSearch.IndexOptions => ({
  urls: [url],
  timeoutMs: 5000,
  prefix: "clew",
  shards: 3,
  replicas: 1,
  refresh: "wait",
  mode: "readonly",
  ...given
})
