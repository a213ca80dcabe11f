import type { FileFormat } from "../Loader.ts"
import * as Code from "./Code.ts"
import * as documents from "./documents.ts"
import type { Extract } from "./Extractor.ts"
import * as JsonLines from "./JsonLines.ts"
import * as Mail from "./Mail.ts"
import * as Markdown from "./Markdown.ts"
import * as Records from "./Records.ts"
import * as Text from "./Text.ts"

/** All formats; the first that accepts a file reads it, so the last one takes the rest. */
export const formats = (extract: Extract): ReadonlyArray<FileFormat> => {
  const before = [JsonLines.format, Records.format, ...documents.formats(extract)]
  const after = [Markdown.format, Code.format, Text.format]
  return [...before, Mail.format(extract, [...before, ...after]), ...after]
}
