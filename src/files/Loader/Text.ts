import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { FileFormat, Loaded } from "../Loader.ts"
import { extension, formatOf, formatOfName } from "../../chunking/format.ts"
import { content } from "./content.ts"

/**
 * Every text that no other format takes, as one document. Without an extension (README, standard input), the content
 * decides whether it is split as Markdown.
 */
export const format: FileFormat = {
  name: "text",
  version: 3,
  accepts: (file) => Effect.succeed(file.kind._tag === "Text"),
  load: (file) =>
    Stream.fromEffect(
      Effect.map(content(file), (text): Loaded => ({
        _tag: "Loaded",
        content: text,
        format: extension(file.path) === undefined ? formatOf(undefined, text) : (formatOfName(file.path) ?? "text"),
        metadata: {}
      }))
    )
}
