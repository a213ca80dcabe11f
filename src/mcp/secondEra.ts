import { createMcpHandler, isLegacyRequest, Server, type Transport } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import type { Transport as FirstTransport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { askerOf, formless, type Service } from "./Server.ts"

/** How long a client may keep a list. */
const kept = { ttlMs: 300_000, cacheScope: "private" } as const

/** What changes with the configuration alone, but for counts in descriptions. */
const lists: ReadonlySet<string> = new Set(["tools/list", "prompts/list", "resources/templates/list"])

/** The SDK's server for the second era (2026-07-28): without `initialize`, each request says who asks. */
export const secondEra = ({ answer, info, instructions }: Service, runtime?: ReturnType<typeof askerOf>): Server => {
  const server = new Server(info, {
    capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} },
    instructions,
    jsonSchemaValidator: formless,
    cacheHints: { "server/discover": kept }
  })
  server.fallbackRequestHandler = async (request, { mcpReq: { _meta, id, notify, signal } }) => {
    const result = await answer(request, { id, signal, runtime, progressToken: _meta?.progressToken, notify })
    return lists.has(request.method) ? { ...result, ...kept } : result
  }
  return server
}

/** Answers a client on standard input, which speaks as in the second era; returns what tells it of a change. */
export const overStdio = (service: Service, side: FirstTransport): ((uri: string) => void) => {
  let server: Server | undefined
  void serveStdio(() => (server = secondEra(service)), { legacy: "reject", transport: side as Transport })
  return (uri) => void server?.sendResourceUpdated({ uri }).catch(() => {})
}

/**
 * Answers HTTP requests of the second era; `authInfo` says who asks, and which service they get. A call
 * is answered by a stream, which says every 15 s that it goes on: a proxy would cut, and so cancel, a long one that is silent.
 */
export const overHttp = () => {
  const handlerIn = (responseMode: "auto" | "sse") =>
    createMcpHandler(({ authInfo }) => secondEra(authInfo!.extra!["service"] as Service, askerOf(authInfo)), {
      legacy: "reject",
      responseMode
    })
  return { isFirstEra: isLegacyRequest, handler: handlerIn("auto"), calls: handlerIn("sse") }
}
