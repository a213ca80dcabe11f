// OpenAI's SDK: answers from the documents with their citations, and vectors of the packaged model.
import OpenAI from "openai"

const { SERVICE_API_KEY = "none", SERVICE_URL = "http://127.0.0.1:8484" } = process.env
const client = new OpenAI({ baseURL: `${SERVICE_URL}/v1`, apiKey: SERVICE_API_KEY })
const question = process.argv.slice(2).join(" ")

const answer = await client.chat.completions.create({
  model: "clew",
  messages: [{ role: "user", content: question }]
})
const { annotations, content } = answer.choices[0]!.message
console.log(content)
// OpenAI's types know only citations of pages on the web.
const citations = (annotations ?? []) as unknown as Array<{ index: number; source: string; start_line: number }>
for (const { index, source, start_line } of citations) console.log(`[${index}] ${source}:${start_line}`)

const { data, usage } = await client.embeddings.create({
  model: "clew-static-en-v1",
  input: [question, String(content)]
})
const [a, b] = data.map(({ embedding }) => embedding)
const likeness = a!.reduce((sum, x, at) => sum + x * b![at]!, 0)
console.log(`The answer is like the question by ${likeness.toFixed(2)} (${usage.total_tokens} tokens)`)
