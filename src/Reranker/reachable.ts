import * as Effect from "effect/Effect"
import type { RerankConfig } from "../Config.ts"
import type { Check } from "../model/Check.ts"
import type { Reranker } from "../Reranker.ts"

const name = "reranker"

/** Has a configured reranker rank one text; the check says what to do if it does not. */
export const reachable = (
  { backend, model, url }: RerankConfig["Type"],
  { rerank }: typeof Reranker.Service
): Effect.Effect<Check> =>
  Effect.match(rerank("ready?", ["ready"]), {
    onFailure: ({ reason }): Check => ({
      name,
      status: "fail",
      detail: reason,
      next: 'until then results stay in the order of the search; rerank.backend = "none" does without it'
    }),
    onSuccess: (): Check => ({ name, status: "ok", detail: `${backend === "onnx" ? model : url} ranks passages` })
  })
