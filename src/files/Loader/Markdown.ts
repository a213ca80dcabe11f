import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { FileFormat, Loaded, SourceFile } from "../Loader.ts"
import { extension, formatOfName } from "../../chunking/format.ts"
import { frontMatterSpan } from "../../chunking/frontMatter.ts"
import { content } from "./content.ts"
import { decode } from "./decode.ts"
import { readFrontMatter } from "./frontMatter.ts"

const heading = /^#{1,6}[ \t]+\S/m

/** Notes in .txt files or without an extension that open with front matter and have headings. */
const looksLikeMarkdown = (file: SourceFile): boolean => {
  const ending = extension(file.path)
  if (file.kind._tag === "Other" || !(ending === undefined || ending === "txt" || ending === "text")) return false
  const head = decode(file.head, file.kind.encoding)
  const front = frontMatterSpan(head)
  return front !== undefined && heading.test(head.slice(front.end))
}

/**
 * Markdown as one document: the whole text, with front matter also as metadata. Front matter that cannot be parsed is
 * rejected with its line, and the document is still read.
 */
export const format: FileFormat = {
  name: "markdown",
  accepts: (file) =>
    Effect.sync(() => file.kind._tag === "Text" && (formatOfName(file.path) === "markdown" || looksLikeMarkdown(file))),
  load: (file) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const text = yield* content(file)
        const front = frontMatterSpan(text)
        const { metadata, problem, title } = front === undefined ? { metadata: {} } : yield* readFrontMatter(front)
        const document: Loaded = { _tag: "Loaded", content: text, format: "markdown", title, metadata }
        return Stream.fromIterable(problem === undefined ? [document] : [problem, document])
      })
    )
}
