import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import { Api } from "../api/Api.ts"
import { Judgements } from "../measuring/Judgements.ts"

export const layer = HttpApiBuilder.group(Api, "judgements", (handlers) =>
  Effect.gen(function* () {
    const { append, readOrNone, usual } = yield* Judgements
    return handlers
      .handle("judge", ({ payload: { judgements } }) =>
        Effect.as(append(usual, judgements), { saved: judgements.length })
      )
      .handle("judged", ({ urlParams: { query } }) =>
        Effect.map(readOrNone(usual), (questions) => ({
          judgements: questions.find((question) => question.query === query)?.judgements ?? []
        }))
      )
  })
)
