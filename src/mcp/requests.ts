import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  InitializeRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  PingRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema
} from "@modelcontextprotocol/sdk/types.js"
import type { Request } from "./message.ts"
import { code, invalidParams, RpcError } from "./RpcError.ts"

/** Every method served, with the SDK's own schema of its request. */
const methods = new Map(
  [
    InitializeRequestSchema,
    PingRequestSchema,
    ListToolsRequestSchema,
    CallToolRequestSchema,
    ListResourcesRequestSchema,
    ListResourceTemplatesRequestSchema,
    ReadResourceRequestSchema,
    ListPromptsRequestSchema,
    GetPromptRequestSchema,
    CompleteRequestSchema,
    SetLevelRequestSchema
  ].map((schema) => [schema.shape.method.value as string, schema] as const)
)

/** What the SDK would answer with -32603, or not at all: an unknown method, parameters of the wrong shape. */
export const check = ({ method, params }: Request): RpcError | undefined => {
  const schema = methods.get(method)
  if (schema === undefined) {
    return new RpcError({
      code: code.methodNotFound,
      message: `There is no method ${JSON.stringify(method.slice(0, 100))}`
    })
  }
  const result = schema.safeParse({ method, ...(params === undefined ? {} : { params }) })
  if (result.success) return undefined
  return invalidParams(
    result.error.issues.slice(0, 10).map((issue) => {
      const path = issue.path.slice(1).map(String).join(".") || "params"
      return { path, message: `${path}: ${issue.message}` }
    })
  )
}
