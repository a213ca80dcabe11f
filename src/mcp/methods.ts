import type { CallToolRequest, CompleteRequest } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import { tools } from "./catalog.ts"
import * as completion from "./completion.ts"
import { didYouMean } from "../terms/nearest.ts"
import * as prompts from "./prompts.ts"
import * as resources from "./resources.ts"
import { invalidParams } from "./RpcError.ts"
import type { Call, Settings } from "./Tool.ts"

/** The implementation of each method. Loaded after `initialize` is answered, with everything the tools need. */
export const methods = (settings: Settings) => {
  const served = tools.filter(({ name }) => settings.tools.includes(name))
  const names = served.map(({ name }) => name)
  return {
    listTools: Effect.sync(() => ({ tools: served.map((tool) => tool.listed(settings)) })),

    callTool: ({ arguments: args, name }: CallToolRequest["params"], call: Call) => {
      const tool = served.find((candidate) => candidate.name === name)
      return tool === undefined
        ? invalidParams([
            {
              path: "name",
              message: `name: there is no tool ${JSON.stringify(name)}${didYouMean(name, names)}; available: ${names.join(", ")}`
            }
          ])
        : tool.call(args, settings, call)
    },

    listResources: (cursor: string | undefined) => resources.list(settings, cursor),
    listTemplates: Effect.sync(() => ({ resourceTemplates: [...resources.templates(settings)] })),
    readResource: (uri: string) => resources.read(settings, uri),
    listPrompts: Effect.sync(() => ({ prompts: [...prompts.listed] })),
    getPrompt: (name: string, args: unknown) => prompts.get(name, args ?? {}, settings),
    complete: (params: CompleteRequest["params"]) => completion.complete(params, settings)
  }
}
