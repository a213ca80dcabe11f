import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { int, list, text } from "../model/fields.ts"
import { IndexedDocument } from "./Documents.ts"
import { about, Authorization, Needs, ofBodies, respondAsync, Writing } from "./endpoint.ts"
import * as failures from "./failures.ts"

const Left = Schema.Struct({
  source: text("The file's source, with :LINE if it is a record of it"),
  reason: text("Why")
}).annotations({ identifier: "LeftOut", description: "A file, or a record of one, that was not indexed" })

export const FilesResponse = Schema.Struct({
  indexed: int("New or changed documents"),
  unchanged: int("Unchanged documents"),
  chunks: int("Passages of the new or changed documents"),
  documents: list(IndexedDocument, "What happened to each document; a file may hold many"),
  skipped: list(Left, "Files of a kind that Clew does not read, or without text"),
  failed: list(Left, "Files that could not be read, and names that are refused"),
  omitted: Schema.optional(int("Further documents and files that are not named here, as there are more than 1,000")),
  index_time_ms: int("The duration of indexing")
}).annotations({ identifier: "FilesResponse", description: "What was indexed of the files" })
export type FilesResponse = typeof FilesResponse.Type

/** A form with files. Its handler reads it itself, within the server's limits. */
const Form = HttpApiSchema.Multipart(
  Schema.Struct({
    file: Schema.Any.annotations({
      jsonSchema: {
        type: "array",
        items: { type: "string", format: "binary" },
        description: "Any number of files; the name of each, which may have folders, becomes its document's source"
      }
    }),
    collection: Schema.optional(CollectionName),
    prefix: Schema.optional(text("A folder that is set before every name"))
  }).annotations({ identifier: "FilesForm", description: "Files to index, and their collection" })
)

export const ImportResponse = Schema.Struct({
  documents: int("Documents of the export that hold text"),
  chunks: int("Their passages"),
  unchanged: int("Of the documents, those that were there already"),
  skipped: int("Documents of the export that hold no text"),
  import_time_ms: int("The duration of the import")
}).annotations({ identifier: "ImportResponse", description: "What was imported" })
export type ImportResponse = typeof ImportResponse.Type

/** The media type of what `clew export` writes. */
export const exportType = "application/x-ndjson"

/** What `clew export` writes. Its handler reads it itself. */
const Lines = HttpApiSchema.Text({ contentType: exportType }).annotations({
  description: "What clew export writes: JSON Lines, compressed with gzip or not"
})

export class FilesGroup extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.post("files", "/files")
      .setPayload(Form)
      .addSuccess(FilesResponse)
      .addError(failures.DocumentConflict)
      .addError(failures.EmbedderMismatch)
      .addError(failures.EmbedderUnavailable)
      .middleware(Writing)
      .annotateContext(
        about(
          "Index files",
          "Reads files of every format that clew index reads, in the same sandbox and within the same limits, and indexes what is in them. A document replaces the one with the same source. A file that cannot be read is named with the reason, and the others are indexed.",
          { transform: respondAsync }
        )
      )
  )
  .add(
    HttpApiEndpoint.post("import", "/import")
      .setPayload(Lines)
      .addSuccess(ImportResponse)
      .addError(failures.NotAnExport)
      .addError(failures.DocumentConflict)
      .addError(failures.CollectionExists)
      .addError(failures.EmbedderMismatch)
      .middleware(Writing)
      .annotate(Needs, { right: "admin", allCollections: true })
      .annotateContext(
        about(
          "Import an export",
          "Stores what clew export wrote, with its vectors: nothing is embedded. Existing documents are replaced, others stay; nothing is stored if a line is invalid. A body has at most server.max_body_bytes; clew import reads larger files.",
          { transform: respondAsync }
        )
      )
  )
  .addError(ofBodies)
  .addError(failures.CollectionNotFound)
  .addError(failures.StoreUnavailable)
  .addError(failures.JobsBusy)
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Files", description: "Index files, and import exports." })) {}
