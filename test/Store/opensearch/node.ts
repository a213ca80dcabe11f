import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import type * as OpenSearch from "../../../src/Store/OpenSearch.ts"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly authorization: string | undefined
}

type Told = readonly [status: number, body: unknown]

const bodyOf = (request: Http.IncomingMessage): Promise<string> =>
  new Promise((resolve) => {
    let text = ""
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
    request.on("end", () => resolve(text))
  })

/** What a node of OpenSearch says of itself. */
export const greeting = { version: { distribution: "opensearch", number: "2.19.1" } }

const tls = (name: string) => fileURLToPath(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url))

/** The certificate of nodes with TLS, which signs itself. */
export const certificate = tls("certificate")

/** A node on loopback that answers as told, and what it was asked. */
export const node = (answer: (asked: Asked, nth: number) => Told, isSecure = false) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<{ readonly server: Http.Server; readonly asked: Array<Asked> }>((resume) => {
        const asked: Array<Asked> = []
        const listener: Http.RequestListener = async (request, response) => {
          const body = await bodyOf(request)
          const { headers, method, url } = request
          const one: Asked = { method: method!, path: url!, body, authorization: headers.authorization }
          asked.push(one)
          const [status, told] = answer(one, asked.length)
          response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(told))
        }
        const server = isSecure
          ? Https.createServer({ cert: readFileSync(certificate), key: readFileSync(tls("key")) }, listener)
          : Http.createServer(listener)
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, asked })))
      }),
      ({ server }) =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    ),
    ({ asked, server }) => ({
      asked,
      url: `http${isSecure ? "s" : ""}://127.0.0.1:${(server.address() as AddressInfo).port}`
    })
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
