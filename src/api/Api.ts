import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { version } from "../version.ts"
import { AskGroup, CitationsEvent, ErrorEvent, SourceEvent } from "./Ask.ts"
import { CollectionsGroup } from "./Collections.ts"
import { DocumentsGroup } from "./Documents.ts"
import { ChatChunk, ChatGroup } from "./Chat.ts"
import { EmbeddingsGroup } from "./Embeddings.ts"
import { ofGuards } from "./endpoint.ts"
import * as failures from "./failures.ts"
import { GraphGroup } from "./Graph.ts"
import { toOpenApi30 } from "./openapi30.ts"
import { FieldError, OpenAiError, ProblemBody } from "./Problem.ts"
import { JudgementsGroup } from "./Judgements.ts"
import { SearchGroup } from "./Search.ts"
import { ClientMessage, ServerMessage, SocketGroup } from "./Socket.ts"
import { SystemGroup } from "./System.ts"

/** The HTTP contract: routes, validation, the OpenAPI document and the typed client all come from it. */
export class Api extends HttpApi.make("clew")
  .add(SearchGroup.addError(ofGuards))
  .add(AskGroup.addError(ofGuards))
  .add(ChatGroup.addError(ofGuards))
  .add(EmbeddingsGroup.addError(ofGuards))
  .add(DocumentsGroup.addError(ofGuards))
  .add(CollectionsGroup.addError(ofGuards))
  .add(GraphGroup.addError(ofGuards))
  .add(JudgementsGroup.addError(ofGuards))
  .add(SocketGroup.addError(ofGuards))
  .add(SystemGroup)
  .addError(failures.InternalError)
  .annotate(HttpApi.AdditionalSchemas, [
    ProblemBody,
    FieldError,
    OpenAiError,
    ChatChunk,
    ClientMessage,
    ServerMessage,
    SourceEvent,
    CitationsEvent,
    ErrorEvent
  ])
  .annotateContext(
    OpenApi.annotations({
      title: "Clew",
      version,
      summary: "Local-first retrieval with citations that hold",
      description:
        "Index documents, find the passage, cite the source. Errors are application/problem+json (RFC 9457) with the error's name as `_tag`. Times are whole milliseconds.",
      license: { name: "MIT", url: "https://spdx.org/licenses/MIT.html" },
      servers: [{ url: "/", description: "This server" }],
      transform: toOpenApi30
    })
  ) {}
