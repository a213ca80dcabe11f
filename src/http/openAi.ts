import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { OpenAiError } from "../api/Problem.ts"
import type { Rendered } from "./respond.ts"

const kinds: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error"
}

/** Codes that OpenAI clients know; otherwise the error's own name. */
const codes: Readonly<Record<string, string>> = {
  Unauthorized: "invalid_api_key",
  TooManyRequests: "rate_limit_exceeded"
}

const snake = (name: string): string => name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()

/** An error in OpenAI's form. */
export const openAiError = ({ body }: Pick<Rendered, "body">): OpenAiError => ({
  error: {
    message: body.detail,
    type: kinds[body.status] ?? (body.status >= 500 ? "server_error" : "invalid_request_error"),
    code: codes[body._tag] ?? snake(body._tag),
    param: body.errors?.[0]?.path ?? null
  }
})

/** Whether a route has OpenAI's form. */
export const isOpenAi = (path: string): boolean => path.startsWith("/v1/")

export const respondOpenAi = (rendered: Rendered): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify(openAiError(rendered)), {
    status: rendered.body.status,
    contentType: "application/json",
    headers: rendered.headers
  })
