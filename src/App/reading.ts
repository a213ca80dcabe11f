import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Answer } from "../Answer.ts"
import * as Config from "../Config.ts"
import { keyVariables } from "../Config/Env.ts"
import { Graph } from "../Graph.ts"
import { Llm } from "../Llm.ts"
import { Prompt } from "../Prompt.ts"
import { Reranker } from "../Reranker.ts"
import { Search } from "../Search.ts"
import { stacked } from "../runtime/stacked.ts"
import { type Opened, layer as stored, openingFor } from "./stored.ts"

// What answers questions, apart from App.ts: commands that only read load nothing else.

const modelOf = Effect.fnUntraced(function* (config: Config.LlmConfig["Type"]) {
  switch (config.backend) {
    case "auto":
      return yield* (yield* Effect.promise(() => import("../Llm/Auto.ts"))).make(config)
    case "openai": {
      const { make } = yield* Effect.promise(() => import("../Llm/OpenAi.ts"))
      const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
      return yield* Effect.provide(make({ ...config, keyVariable: keyVariables.llm }), layer)
    }
    default:
      return (yield* Effect.promise(() => import("../Llm/Ollama.ts"))).make(config)
  }
})

/** The model for answers; each backend's code is loaded on demand. */
const llm = Layer.scoped(
  Llm,
  Effect.gen(function* () {
    const config = yield* Config.LlmConfig
    if (config.backend === "extractive") return (yield* Effect.promise(() => import("../Llm/Extractive.ts"))).service
    const { guarded } = yield* Effect.promise(() => import("../Llm/guarded.ts"))
    return yield* guarded(yield* modelOf(config), config)
  })
)

/** The reranker, if one is configured; its code is loaded only then. */
export const reranker = Layer.unwrapEffect(
  Effect.gen(function* () {
    const config = yield* Config.RerankConfig
    if (config.backend === "none") return Layer.empty
    if (config.backend === "onnx") {
      const { make } = yield* Effect.promise(() => import("../Reranker/Onnx.ts"))
      return Layer.scoped(Reranker, make({ ...config, folder: config.model! }))
    }
    const { make } = yield* Effect.promise(() => import("../Reranker/OpenAi.ts"))
    const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
    return Layer.effect(Reranker, make({ ...config, keyVariable: keyVariables.rerank })).pipe(Layer.provide(layer))
  })
)

/** The use cases that read an index, and what they need. */
export const layer = (opened: Opened) =>
  stacked(stored(opened), reranker, Search.Default, Prompt.Default, llm, Answer.Default, Graph.Default)

/** The same on the index that a purpose opens. */
export const layerFor = (...how: Parameters<typeof openingFor>) => Effect.map(openingFor(...how), layer)
