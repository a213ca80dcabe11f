// A retriever of LangChain.js: use it wherever a chain takes one.
import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager"
import { Document } from "@langchain/core/documents"
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers"
import { type ClientOptions, connect } from "clew/client"

interface ClewRetrieverInput extends BaseRetrieverInput, ClientOptions {
  readonly topK?: number
}

export class ClewRetriever extends BaseRetriever {
  lc_namespace = ["clew", "retrievers"]
  private readonly clew
  private readonly topK

  constructor({ apiKey, topK = 5, url, ...base }: ClewRetrieverInput) {
    super(base)
    this.clew = connect({ url, apiKey })
    this.topK = topK
  }

  override async _getRelevantDocuments(query: string, _?: CallbackManagerForRetrieverRun): Promise<Array<Document>> {
    const { results } = await this.clew.query({ query, hybrid: true, top_k: this.topK })
    return results.map(
      ({ metadata, score, text }) => new Document({ pageContent: text, metadata: { ...metadata, score } })
    )
  }
}

const { SERVICE_API_KEY, SERVICE_URL = "http://127.0.0.1:8484" } = process.env
const retriever = new ClewRetriever({ url: SERVICE_URL, apiKey: SERVICE_API_KEY, topK: 3 })
for (const { metadata, pageContent } of await retriever.invoke(process.argv.slice(2).join(" "))) {
  console.log(`${metadata["source"]}:${metadata["start_line"]}\n${pageContent}\n`)
}
