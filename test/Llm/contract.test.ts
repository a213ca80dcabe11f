import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Extractive from "../../src/Llm/Extractive.ts"
import * as Ollama from "../../src/Llm/Ollama.ts"
import * as OpenAi from "../../src/Llm/OpenAi.ts"
import { llmContract } from "../contracts/Llm.ts"
import { eventually, startOllama } from "../ollama.ts"
import { startOpenAi } from "../openAi.ts"

const fragments = Array.from({ length: 300 }, (_, n) => ` word${n}`)
const options = { model: "small", temperature: 0.2, maxTokens: 400, contextTokens: 4096, timeoutMs: 60_000 }

/** What the servers of both kinds tell of themselves. */
const upstream = ({
  asked,
  faults,
  state
}: {
  readonly asked: ReadonlyArray<{ readonly path: string }>
  readonly faults: { slowMs?: number }
  readonly state: { readonly closed: number }
}) => ({
  asked: () => asked.filter(({ path }) => path.includes("chat")).length,
  slow: (slowly: boolean) => {
    if (slowly) faults.slowMs = 20
    else delete faults.slowMs
  },
  letGo: eventually("the connection is closed", () => state.closed === 1)
})

llmContract("Extractive", Effect.succeed({ llm: Extractive.service }))

llmContract(
  "Ollama",
  Effect.map(startOllama(fragments), (server) => ({
    llm: Ollama.make({ ...options, url: server.url }),
    ...upstream(server)
  }))
)

llmContract(
  "OpenAI",
  Effect.gen(function* () {
    const server = yield* startOpenAi(fragments)
    const llm = yield* OpenAi.make({
      ...options,
      url: server.url,
      keyVariable: "TEST_API_KEY",
      apiKey: Option.none()
    }).pipe(Effect.provide(FetchHttpClient.layer))
    return { llm, ...upstream(server) }
  })
)
