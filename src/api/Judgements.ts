import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { int, list } from "../model/fields.ts"
import { Judgement } from "../model/Judgement.ts"
import { about, Authorization, Needs, strict, Writing } from "./endpoint.ts"
import * as failures from "./failures.ts"

const maxJudgements = 1000

export const JudgementsRequest = Schema.Struct({
  judgements: Schema.Array(Judgement)
    .pipe(
      Schema.minItems(1, { message: () => "judgements must be a list of at least one judgement, got none" }),
      Schema.maxItems(maxJudgements, { message: () => `judgements must be at most ${maxJudgements}` })
    )
    .annotations({ description: "A later judgement of the same place for the same question replaces an earlier one" })
}).annotations({
  ...strict,
  identifier: "JudgementsRequest",
  title: "Judge",
  description: "How well documents, or lines of them, answer questions",
  examples: [
    {
      judgements: [{ query: "when is the tide highest", source: "docs/tides.md", grade: 3, start_line: 7, end_line: 9 }]
    }
  ]
})

const JudgementsResponse = Schema.Struct({
  saved: int("Judgements added to the file")
}).annotations({ identifier: "JudgementsResponse", description: "What was saved" })

export const JudgementsList = Schema.Struct({
  judgements: list(Judgement, "The latest judgement of each place")
}).annotations({ identifier: "JudgementsList", description: "The judgements of a question" })

export class JudgementsGroup extends HttpApiGroup.make("judgements")
  .add(
    HttpApiEndpoint.post("judge", "/judgements")
      .setPayload(JudgementsRequest)
      .addSuccess(JudgementsResponse)
      .addError(failures.MalformedBody)
      .addError(failures.PayloadTooLarge)
      .addError(failures.UnsupportedMediaType)
      .annotate(Needs, { allCollections: true })
      .middleware(Writing)
      .annotateContext(
        about(
          "Judge results",
          "Adds judgements of documents in the index to the file store.judgements; clew benchmark --judgements measures searches by them."
        )
      )
  )
  .add(
    HttpApiEndpoint.get("judged", "/judgements")
      .setUrlParams(Schema.Struct({ query: Judgement.from.fields.query }))
      .addSuccess(JudgementsList)
      .annotate(Needs, { allCollections: true })
      .annotateContext(about("List judgements", "The judgements of one question."))
  )
  .addError(failures.InvalidRequest)
  .addError(failures.JudgementsUnusable)
  .addError(failures.StoreUnavailable)
  .middlewareEndpoints(Authorization)
  .annotateContext(
    OpenApi.annotations({ title: "Judgements", description: "How well results answer, to measure searches by." })
  ) {}
