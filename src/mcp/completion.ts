import type { CompleteRequest, CompleteResult } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import { orEmpty } from "../Collections.ts"
import { defaultCollection } from "../model/Collection.ts"
import type { DocumentSummary } from "../model/Stored.ts"
import { Store } from "../Store.ts"
import { code, RpcError } from "./RpcError.ts"
import * as prompts from "./prompts.ts"
import * as resources from "./resources.ts"
import type { Settings } from "./Tool.ts"

const most = 100

const answer = (values: ReadonlyArray<string>, more = false): CompleteResult => ({
  completion: { values: values.slice(0, most), hasMore: more || values.length > most }
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
    )((yield* Store).list(collection, { limit: most + 1, filter }))
    return answer(
      found.map(({ docId }) => docId),
      found.length > most
    )
  })

/** Possible values of a prompt's argument or a resource template's variable; none if anything is allowed. */
export const complete = ({ argument, context, ref }: CompleteRequest["params"], settings: Settings) =>
  Effect.gen(function* () {
    const unknown = (what: string) => new RpcError({ code: code.invalidParams, message: `ref: there is no ${what}` })
    if (ref.type === "ref/prompt") {
      if (!prompts.listed.some(({ name }) => name === ref.name))
        return yield* unknown(`prompt ${JSON.stringify(ref.name)}`)
      return ref.name === "rag_answer" && argument.name === "top_k"
        ? answer(numbers.filter((value) => value.startsWith(argument.value)))
        : answer([])
    }
    if (!resources.templates(settings).some(({ uriTemplate }) => uriTemplate === ref.uri)) {
      return yield* unknown(`resource template ${JSON.stringify(ref.uri)}`)
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
