import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { int, list, text } from "../model/fields.ts"
import { mustBe } from "../model/kinds.ts"
import { limits } from "../model/Limits.ts"
import { about, Authorization, lenient, ofBodies } from "./endpoint.ts"
import * as failures from "./failures.ts"

const Input = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(limits.embeddingText),
  Schema.annotations({ description: "A text" })
)

const EmbeddingsRequest = Schema.Struct({
  model: text("The packaged model's name, clew-static-en-v1"),
  input: Schema.Union(
    Input,
    Schema.Array(Input).pipe(Schema.minItems(1), Schema.maxItems(limits.embeddingTexts))
  ).annotations({ description: "A text, or a list of texts; tokens are not accepted" }),
  encodingFormat: Schema.optional(
    Schema.NullOr(
      Schema.Literal("float", "base64").annotations({
        description: "Numbers, or the base64 of little-endian floats of four bytes; default float"
      })
    )
  ).pipe(Schema.fromKey("encoding_format")),
  dimensions: Schema.optional(
    Schema.NullOr(
      Schema.Int.annotations({
        description: "The model's own, 256: it cannot reduce them",
        message: mustBe("dimensions", "an integer")
      })
    )
  )
}).annotations({
  identifier: "EmbeddingsRequest",
  title: "Embeddings",
  description: "Texts to embed, in the form of OpenAI's API. Other fields are ignored.",
  ...lenient
})

export const EmbeddingList = Schema.Struct({
  object: Schema.Literal("list").annotations({ description: "Always list" }),
  data: list(
    Schema.Struct({
      object: Schema.Literal("embedding").annotations({ description: "Always embedding" }),
      index: int("The text's place in the request, from 0"),
      embedding: Schema.Union(Schema.Array(Schema.Finite), Schema.String).annotations({
        description: "The vector, of length 1, or 0 if the model knows no word of the text; as base64 if asked for"
      })
    }).annotations({ identifier: "EmbeddingVector", description: "A text's vector" }),
    "The vectors, in the order of the texts"
  ),
  model: text("The model's name"),
  usage: Schema.Struct({
    prompt_tokens: int("Tokens of the texts, by the model's tokenizer"),
    total_tokens: int("The same")
  }).annotations({ identifier: "EmbeddingUsage", description: "What was read" })
}).annotations({ identifier: "EmbeddingList", description: "The texts' vectors" })
export type EmbeddingList = typeof EmbeddingList.Type

export class EmbeddingsGroup extends HttpApiGroup.make("embeddings")
  .add(
    HttpApiEndpoint.post("embeddings", "/v1/embeddings")
      .setPayload(EmbeddingsRequest)
      .addSuccess(EmbeddingList)
      .addError(ofBodies)
      .addError(failures.ModelNotFound)
      .addError(failures.EmbedderUnavailable)
      .annotateContext(
        about(
          "Embeddings",
          "Vectors of the packaged model, in the form of OpenAI's embeddings, whatever model embeds the collections. Errors have OpenAI's form."
        )
      )
  )
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Embeddings", description: "For clients of OpenAI's API." })) {}
