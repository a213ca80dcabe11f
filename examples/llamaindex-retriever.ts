// A retriever of LlamaIndex.TS: give it to a query engine or a chat engine.
import { BaseRetriever } from "@llamaindex/core/retriever"
import { type NodeWithScore, TextNode } from "@llamaindex/core/schema"
import { extractText } from "@llamaindex/core/utils"
import { type ClientOptions, connect } from "clew/client"

export class ClewRetriever extends BaseRetriever {
  private readonly clew
  private readonly topK

  constructor({ topK = 5, ...client }: ClientOptions & { readonly topK?: number }) {
    super()
    this.clew = connect(client)
    this.topK = topK
  }

  override async _retrieve({
    query
  }: {
    readonly query: Parameters<typeof extractText>[0]
  }): Promise<Array<NodeWithScore>> {
    const { results } = await this.clew.query({ query: extractText(query), hybrid: true, top_k: this.topK })
    return results.map(({ metadata, score, text }) => ({
      node: new TextNode({ id_: `${metadata.doc_id}#${metadata.chunk_index}`, text, metadata }),
      score
    }))
  }
}

const { SERVICE_API_KEY, SERVICE_URL = "http://127.0.0.1:8484" } = process.env
const retriever = new ClewRetriever({ url: SERVICE_URL, apiKey: SERVICE_API_KEY, topK: 3 })
for (const { node, score } of await retriever.retrieve(process.argv.slice(2).join(" "))) {
  console.log(`${node.metadata["source"]}:${node.metadata["start_line"]} (${score})\n${(node as TextNode).text}\n`)
}
