import type * as Headers from "@effect/platform/Headers"

const exposed =
  "x-request-id, retry-after, www-authenticate, allow, x-clew-llm, x-clew-mode, x-clew-fusion, x-clew-degraded, x-clew-omitted"

/** Whether pages of any origin may call. */
export const isPermissive = (origins: ReadonlyArray<string>): boolean => origins.includes("*")

/** The CORS headers of every response; empty for an origin that may not call. */
export const corsHeaders = (
  origins: ReadonlyArray<string>,
  request: Headers.Headers
): Readonly<Record<string, string>> => {
  if (isPermissive(origins)) return { "access-control-allow-origin": "*", "access-control-expose-headers": exposed }
  const origin = request["origin"]
  if (origin === undefined || !origins.includes(origin)) return { vary: "Origin" }
  return { vary: "Origin", "access-control-allow-origin": origin, "access-control-expose-headers": exposed }
}

/** The headers of the response to a preflight request. */
export const preflightHeaders = (
  origins: ReadonlyArray<string>,
  request: Headers.Headers,
  methods: ReadonlyArray<string>
): Readonly<Record<string, string>> => {
  const granted = corsHeaders(origins, request)
  if (granted["access-control-allow-origin"] === undefined) return granted
  return {
    ...granted,
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": "authorization, content-type, x-request-id",
    "access-control-max-age": "600"
  }
}
