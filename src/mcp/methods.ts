import type { CompleteRequest, CompleteResult, CallToolRequest } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import { orEmpty } from "../Collections.ts"
import { bounded } from "../citations/line.ts"
import { defaultCollection } from "../model/Collection.ts"
import type { DocumentSummary } from "../model/Stored.ts"
import { Store } from "../Store.ts"
import { didYouMean } from "../terms/nearest.ts"
import * as prompts from "./prompts.ts"
import * as resources from "./resources.ts"
import { code, RpcError, refuse } from "./RpcError.ts"
import type { Tool, Settings, Call } from "./Tool.ts"
import { collectionInfo } from "./tools/collectionInfo.ts"
import { getDocument } from "./tools/getDocument.ts"
import { graphQuery } from "./tools/graphQuery.ts"
import { indexDocuments } from "./tools/indexDocuments.ts"
import { listSources } from "./tools/listSources.ts"
import { getPrompt, search, similar } from "./tools/search.ts"
import { deleteDocument, indexPaths, sync } from "./tools/writing.ts"

/** Every tool, in the order of listing. */
export const tools: ReadonlyArray<Tool> = [
  search,
  similar,
  getPrompt,
  getDocument,
  listSources,
  collectionInfo,
  graphQuery,
  indexDocuments,
  indexPaths,
  sync,
  deleteDocument
]

const maxValues = 100

/** The total is unknown where `more` says that there are others. */
const answer = (values: ReadonlyArray<string>, more = false): CompleteResult => ({
  completion: {
    values: values.slice(0, maxValues),
    hasMore: more || values.length > maxValues,
    ...(more ? {} : { total: values.length })
  }
})

const numbers = ["3", "5", "10", "20", "50", "100"]

const collections = Effect.flatMap(Store, (store) => store.collections)

/** Ids of documents whose source contains the text, by source. */
const documentIds = (text: string, collectionName: string) =>
  Effect.gen(function* () {
    const collection = (yield* collections).find(({ name }) => name === collectionName)?.name
    if (collection === undefined) return answer([])
    const filter = text === "" ? {} : { source: `*${text}*` }
    const found = yield* orEmpty(
      collection,
      [] as ReadonlyArray<DocumentSummary>
    )((yield* Store).list(collection, { limit: maxValues + 1, filter }))
    return answer(
      found.map(({ docId }) => docId),
      found.length > maxValues
    )
  })

/** Possible values of a prompt's argument or a resource template's variable; none if anything is allowed. */
export const complete = ({ argument, context, ref }: CompleteRequest["params"], settings: Settings) =>
  Effect.gen(function* () {
    const unknown = (what: string) => new RpcError({ code: code.invalidParams, message: `ref: there is no ${what}` })
    if (ref.type === "ref/prompt") {
      if (!prompts.listed.some(({ name }) => name === ref.name))
        return yield* unknown(`prompt ${JSON.stringify(bounded(ref.name))}`)
      return ref.name === "rag_answer" && argument.name === "top_k"
        ? answer(numbers.filter((value) => value.startsWith(argument.value)))
        : answer([])
    }
    if (!resources.templates(settings).some(({ uriTemplate }) => uriTemplate === ref.uri)) {
      return yield* unknown(`resource template ${JSON.stringify(bounded(ref.uri))}`)
    }
    if (argument.name === "collection") {
      return answer(
        (yield* collections).map(({ name }) => name as string).filter((name) => name.startsWith(argument.value))
      )
    }
    return argument.name === "doc_id"
      ? yield* documentIds(argument.value, context?.arguments?.["collection"] ?? defaultCollection)
      : answer([])
  })

/** The implementation of each method. Loaded after `initialize` is answered, with everything the tools need. */
export const methods = (settings: Settings) => {
  const served = tools.filter(({ name }) => settings.tools.includes(name))
  const names = served.map(({ name }) => name)
  return {
    listTools: (cursor: string | undefined) =>
      Effect.map(resources.onlyPage(cursor), () => ({ tools: served.map((tool) => tool.listed(settings)) })),

    callTool: ({ arguments: args, name }: CallToolRequest["params"], call: Call) => {
      const tool = served.find((candidate) => candidate.name === name)
      return tool === undefined
        ? refuse(
            "name",
            `name: there is no tool ${JSON.stringify(name)}${didYouMean(name, names)}; available: ${names.join(", ")}`
          )
        : tool.call(args, settings, call)
    },

    listResources: (cursor: string | undefined) => resources.list(settings, cursor),
    listTemplates: (cursor: string | undefined) =>
      Effect.map(resources.onlyPage(cursor), () => ({ resourceTemplates: [...resources.templates(settings)] })),
    readResource: (uri: string) => resources.read(settings, uri),
    locate: (uri: string) => resources.locate(settings, uri),
    listPrompts: (cursor: string | undefined) =>
      Effect.map(resources.onlyPage(cursor), () => ({ prompts: [...prompts.listed] })),
    getPrompt: (name: string, args: unknown) => prompts.get(name, args ?? {}, settings),
    complete: (params: CompleteRequest["params"]) => complete(params, settings)
  }
}
