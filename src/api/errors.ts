import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { FieldError } from "./Problem.ts"

/** A field is missing, unknown or out of range. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()(
  "InvalidRequest",
  { errors: Schema.Array(FieldError) },
  HttpApiSchema.annotations({ status: 400 })
) {
  override get message() {
    return this.errors
      .map(({ message, path }) => (message.startsWith(path) ? message : `${path}: ${message}`))
      .join("; ")
  }
}

export class MalformedBody extends Schema.TaggedError<MalformedBody>()(
  "MalformedBody",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 400 })
) {
  override get message() {
    return this.reason
  }
}

/** The request violates HTTP itself. */
export class MalformedRequest extends Schema.TaggedError<MalformedRequest>()(
  "MalformedRequest",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 400 })
) {
  override get message() {
    return this.reason
  }
}

export class ExpectationFailed extends Schema.TaggedError<ExpectationFailed>()(
  "ExpectationFailed",
  {},
  HttpApiSchema.annotations({ status: 417 })
) {
  override get message() {
    return "The only supported Expect is 100-continue"
  }
}

/** The bearer token is missing or wrong. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()(
  "Unauthorized",
  {},
  HttpApiSchema.annotations({ status: 401 })
) {
  readonly headers = { "www-authenticate": "Bearer" }
  override get message() {
    return "This needs the API key: send it as `Authorization: Bearer <key>`"
  }
}

/** The server was started read-only. */
export class ReadOnly extends Schema.TaggedError<ReadOnly>()(
  "ReadOnly",
  {},
  HttpApiSchema.annotations({ status: 403 })
) {
  override get message() {
    return "This server is read-only"
  }
}

/** The request's Host or Origin is not allowed. */
export class Forbidden extends Schema.TaggedError<Forbidden>()(
  "Forbidden",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 403 })
) {
  override get message() {
    return this.reason
  }
}

export class RouteNotFound extends Schema.TaggedError<RouteNotFound>()(
  "RouteNotFound",
  {},
  HttpApiSchema.annotations({ status: 404 })
) {
  override get message() {
    return "There is nothing at this address; GET /openapi.json lists all"
  }
}

export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()(
  "MethodNotAllowed",
  { allowed: Schema.Array(Schema.String) },
  HttpApiSchema.annotations({ status: 405 })
) {
  get headers() {
    return { allow: this.allowed.join(", ") }
  }
  override get message() {
    return `This address accepts ${this.allowed.join(", ")}`
  }
}

/** The request names a model that is not the configured one. */
export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()(
  "ModelNotFound",
  { model: Schema.String, known: Schema.Array(Schema.String) },
  HttpApiSchema.annotations({ status: 404 })
) {
  override get message() {
    return `There is no model ${JSON.stringify(this.model)} here; available: ${this.known.join(", ")}`
  }
}

/** The default collection always exists. */
export class CollectionProtected extends Schema.TaggedError<CollectionProtected>()(
  "CollectionProtected",
  {},
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message() {
    return "The default collection cannot be dropped; delete its documents to empty it"
  }
}

export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()(
  "PayloadTooLarge",
  { limit: Schema.Int },
  HttpApiSchema.annotations({ status: 413 })
) {
  override get message() {
    return `The body is over ${this.limit} bytes (server.max_body_bytes); send it in smaller parts`
  }
}

export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 415 })
) {
  override get message() {
    return this.reason
  }
}

export class UpgradeRequired extends Schema.TaggedError<UpgradeRequired>()(
  "UpgradeRequired",
  {},
  HttpApiSchema.annotations({ status: 426 })
) {
  readonly headers = { upgrade: "websocket", connection: "Upgrade" }
  override get message() {
    return "This address speaks WebSocket only"
  }
}

/** A bug in Clew; the log has the cause under the same id. */
export class InternalError extends Schema.TaggedError<InternalError>()(
  "InternalError",
  { id: Schema.String },
  HttpApiSchema.annotations({ status: 500 })
) {
  override get message() {
    return `Something went wrong in the server; see id ${this.id} in its log`
  }
}

export class TooManySockets extends Schema.TaggedError<TooManySockets>()(
  "TooManySockets",
  { limit: Schema.Int },
  HttpApiSchema.annotations({ status: 503 })
) {
  readonly headers = { "retry-after": "5" }
  override get message() {
    return `${this.limit} WebSocket connections are already open (server.max_sockets)`
  }
}
