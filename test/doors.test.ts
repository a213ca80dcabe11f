import { assert, describe, it } from "@effect/vitest"
import { AskRequest } from "../src/api/Ask.ts"
import { PromptRequest, QueryRequest } from "../src/api/Search.ts"
import { clientMessages } from "../src/api/Socket.ts"
import { flags } from "../src/cli/asking.ts"
import { SearchArguments } from "../src/mcp/tools/answers.ts"
import { SearchRequest } from "../src/model/Query.ts"

describe("a parameter of a search", () => {
  const doors = {
    "POST /query": QueryRequest.fields,
    "POST /prompt": PromptRequest.fields,
    "POST /ask": AskRequest.fields,
    "the WebSocket": clientMessages.search.fields,
    MCP: SearchArguments.fields,
    // The words of the command line are its query.
    "the command line": { ...flags, query: undefined }
  }
  for (const [door, fields] of Object.entries(doors)) {
    it(`is one of ${door}, too`, () => {
      assert.includeMembers(Object.keys(fields), Object.keys(SearchRequest.fields))
    })
  }
})
