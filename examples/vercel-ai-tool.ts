// A tool of the Vercel AI SDK: the model decides when to search, and cites what it found.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { generateText, stepCountIs, tool } from "ai"
import { connect } from "clew/client"
import { z } from "zod"

const { SERVICE_API_KEY, SERVICE_URL = "http://127.0.0.1:8484", MODEL = "qwen3", MODEL_URL } = process.env
const clew = connect({ url: SERVICE_URL, apiKey: SERVICE_API_KEY })

const searchDocuments = tool({
  description: "Finds passages of the team's documents. Cite them as [source:line].",
  inputSchema: z.object({ query: z.string().describe("A question or a few words") }),
  execute: async ({ query }, { abortSignal }) => {
    const { results } = await clew.query({ query, hybrid: true, top_k: 5 }, { signal: abortSignal })
    return results.map(({ metadata, text }) => ({ cite: `${metadata.source}:${metadata.start_line}`, text }))
  }
})

const models = createOpenAICompatible({ name: "local", baseURL: MODEL_URL ?? "http://127.0.0.1:11434/v1" })

const { text } = await generateText({
  model: models(MODEL),
  tools: { searchDocuments },
  stopWhen: stepCountIs(5),
  prompt: process.argv.slice(2).join(" ")
})
console.log(text)
