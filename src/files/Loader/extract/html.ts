import { parse } from "parse5"
import type { Extracted } from "./Extracted.ts"
import { mainOf } from "./html/main.ts"
import { render } from "./html/render.ts"
import { attribute, descendants, find, textOf } from "./html/tree.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"

const folded = (text: string): string => text.replace(/\s+/g, " ").trim()

/** A page's main content as Markdown, with the line of the file where each block begins. */
export const html = (source: string): Extracted => {
  const document = parse(source, { sourceCodeLocationInfo: true })
  const metadata: Record<string, unknown> = {}
  for (const element of descendants(document)) {
    if (element.tagName === "body") break
    if (element.tagName === "html") {
      const lang = attribute(element, "lang")
      if (lang !== undefined && lang !== "") metadata["lang"] = lang
    }
    if (element.tagName !== "meta") continue
    const name = (attribute(element, "name") ?? attribute(element, "property") ?? "").toLowerCase()
    const value = folded(attribute(element, "content") ?? "")
    if (["description", "author", "keywords", "date"].includes(name) && value !== "") metadata[name] = value
  }
  const writer = new MarkdownWriter()
  const main = mainOf(document)
  render({ writer, length: textOf(main).length }, main)
  const head = find(document, "head")
  const title = head === undefined ? undefined : find(head, "title")
  const heading = find(main, "h1")
  const named = folded(title === undefined ? "" : textOf(title)) || folded(heading === undefined ? "" : textOf(heading))
  return { text: writer.text, title: named === "" ? undefined : named, metadata, marks: writer.marks }
}
