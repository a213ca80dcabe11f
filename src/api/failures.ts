import { failure } from "./Problem.ts"

/**
 * The errors that endpoints declare, by their name on the wire. A test checks that the statuses match the errors' own.
 */
export const InvalidRequest = failure("InvalidRequest", 400, "A field is missing, unknown or out of range")
export const MalformedBody = failure("MalformedBody", 400, "The body is not JSON in UTF-8")
export const BudgetTooSmall = failure("BudgetTooSmall", 400, "max_tokens has no room for the question and one passage")
export const DocumentConflict = failure(
  "DocumentConflict",
  400,
  "A doc_id and a source name two different documents, or the batch contains a document twice"
)
export const NotAnExport = failure("NotAnExport", 400, "The body is not an export by Clew; nothing of it is stored")
export const Unauthorized = failure("Unauthorized", 401, "The bearer token is missing or wrong")
export const InsufficientScope = failure("InsufficientScope", 403, "The token lacks server.oauth_scope")
export const NotPermitted = failure("NotPermitted", 403, "The key lacks a right, or may not use the collection")
export const ReadOnly = failure("ReadOnly", 403, "The server is read-only")
export const Forbidden = failure("Forbidden", 403, "The request's Host or Origin is not allowed")
export const CollectionNotFound = failure("CollectionNotFound", 404, "There is no such collection")
export const ModelNotFound = failure("ModelNotFound", 404, "There is no such model")
export const DocumentNotFound = failure("DocumentNotFound", 404, "There is no such document")
export const PassageNotFound = failure("PassageNotFound", 404, "There is no such passage")
export const EntityNotFound = failure("EntityNotFound", 404, "The graph has no entity of this name")
export const JobNotFound = failure("JobNotFound", 404, "There is no such job, or it ended long ago")
export const EmbedderMismatch = failure("EmbedderMismatch", 409, "The collection was created with another embedder")
export const CollectionExists = failure("CollectionExists", 409, "The collection already exists")
export const ReindexTakenOver = failure("ReindexTakenOver", 409, "Another change of the collection's embedder is ahead")
export const CollectionProtected = failure("CollectionProtected", 409, "The default collection cannot be dropped")
export const PayloadTooLarge = failure("PayloadTooLarge", 413, "The body is over server.max_body_bytes")
export const UnsupportedMediaType = failure(
  "UnsupportedMediaType",
  415,
  "The body is of another type than the endpoint takes"
)
export const UpgradeRequired = failure("UpgradeRequired", 426, "This address speaks WebSocket only")
export const TooManyRequests = failure("TooManyRequests", 429, "Over the rate limit; Retry-After says how long to wait")
export const InternalError = failure("InternalError", 500, "A bug in the server, with an id that is also in its log")
export const AccessUnavailable = failure("AccessUnavailable", 503, "The issuer of tokens does not answer")
export const EmbedderUnavailable = failure("EmbedderUnavailable", 503, "The embedder cannot answer now")
export const LlmUnavailable = failure("LlmUnavailable", 503, "The model cannot answer now")
export const StoreUnavailable = failure("StoreUnavailable", 503, "The index cannot be used now")
export const JudgementsUnusable = failure("JudgementsUnusable", 503, "The file of judgements cannot be written now")
export const IndexingBusy = failure(
  "IndexingBusy",
  503,
  "Too many batches wait to be indexed; Retry-After says when to try again"
)
export const JobsBusy = failure("JobsBusy", 503, "Too many jobs wait; Retry-After says when to try again")
export const TooManySockets = failure("TooManySockets", 503, "server.max_sockets are already open")
