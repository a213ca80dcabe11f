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

/** Every supported method, with the SDK's schema of its request. */
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

type Issue = NonNullable<ReturnType<(typeof PingRequestSchema)["safeParse"]>["error"]>["issues"][number]

const kinds: Readonly<Record<string, string>> = { record: "an object", object: "an object", array: "a list" }

/** What was expected, in the words of our own checks. */
const wanted = (issue: Issue): string => {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${kinds[issue.expected] ?? `a ${issue.expected}`}`
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`
    default:
      return `is wrong: ${issue.message}`
  }
}

/** Checks what the SDK would answer with -32603 or not at all: an unknown method, parameters of the wrong shape. */
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
      return { path, message: `${path} ${wanted(issue)}` }
    })
  )
}
