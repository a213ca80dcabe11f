import * as Flag from "../flag.ts"

export const filter = Flag.text("filter", {
  value: "TOOL,TOOL",
  summary: "Offer only these tools, like search,get_prompt (default: all)"
})

export const readOnly = Flag.toggle("read-only", { summary: "Open the index read-only, and offer no index_documents" })
