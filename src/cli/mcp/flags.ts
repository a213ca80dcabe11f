import * as Either from "effect/Either"
import * as Flag from "../flag.ts"

export const filter = Flag.text("filter", {
  value: "TOOL,TOOL",
  summary: "Offer only these tools, like search,get_prompt (default: all)"
})

export const readOnly = Flag.toggle("read-only", { summary: "Open the index read-only, and offer no index_documents" })

const short = (most: number) => (text: string) =>
  text.trim() !== "" && text.length <= most ? Either.right(text) : Either.left(`1 to ${most} characters`)

export const name = Flag.text("name", {
  value: "NAME",
  summary: "Name of the index, as the client and its model see it",
  decode: short(100)
})

export const description = Flag.text("description", {
  value: "TEXT",
  summary: "What the index is about, so that the model knows when to search it",
  decode: short(1000)
})
