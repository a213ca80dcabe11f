import type { Extracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { child, childrenOf, textIn, xml, type XmlElement } from "./xml.ts"

/** Elements that are a paragraph each; the words of others are in such elements below them. */
const paragraphs = new Set(["p", "v", "subtitle", "text-author", "date", "th", "td"])

/** A FictionBook: the plain text of its paragraphs, under the titles of its sections. */
export const fictionBook = (text: string): Extracted => {
  const book = xml(text)
  const writer = new MarkdownWriter()
  const walk = (element: XmlElement, level: number): void => {
    for (const part of childrenOf(element)) {
      if (part.name === "title") writer.heading(level, childrenOf(part).map(textIn).join(" ") || textIn(part))
      else if (paragraphs.has(part.name)) writer.paragraph(textIn(part))
      else walk(part, part.name === "section" ? level + 1 : level)
    }
  }
  for (const body of childrenOf(book).filter(({ name }) => name === "body")) walk(body, 1)
  const info = child(child(book, "description"), "title-info")
  const title = textIn(child(info, "book-title")).trim()
  const names = childrenOf(child(info, "author")).filter(({ name }) => name.endsWith("-name"))
  const author = names.map((name) => textIn(name).trim()).join(" ")
  return {
    text: writer.text,
    title: title === "" ? undefined : title,
    metadata: author === "" ? {} : { author },
    marks: []
  }
}
