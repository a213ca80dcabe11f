import type { Extracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { lowered, raised, unbroken } from "./raised.ts"
import { all, child, childrenOf, textIn, xml, type XmlElement } from "./xml.ts"

/** The text of a paragraph or a part of it, with its powers and without what is struck out. */
const spoken = (element: XmlElement, before = ""): string =>
  element.children.reduce((text: string, part) => {
    if (typeof part === "string") return text + unbroken(part)
    const inner = spoken(part, before + text)
    if (part.name === "sup") return text + raised(inner, before + text)
    if (part.name === "sub") return text + lowered(inner)
    return text + (part.name === "strikethrough" && inner !== "" ? `~~${inner}~~` : inner)
  }, "")

/** A title's lines, separated. */
const wordsOf = (title: XmlElement): string =>
  childrenOf(title)
    .map((line) => spoken(line))
    .join(" ") || spoken(title)

/** A list item, for which the format has no element. */
const item = /^\s{0,20}(?:(\d{1,3}\.)|[•–-])\s+(?=\S)/

/** A line of code: a paragraph that contains nothing but code. */
const codeOf = (part: XmlElement): string | undefined => {
  const inner = part.children.filter((each) => typeof each !== "string" || each.trim() !== "")
  return part.name === "p" &&
    inner.length > 0 &&
    inner.every((each) => typeof each !== "string" && each.name === "code")
    ? textIn(part)
    : undefined
}

/** A FictionBook: its sections under their titles. */
export const fictionBook = (text: string): Extracted => {
  const book = xml(text)
  const writer = new MarkdownWriter()
  let code: Array<string> = []
  let inList = false
  const paragraph = (words: string) => {
    const found = item.exec(words)
    if (found === null) writer.paragraph(words)
    else writer.item(words.slice(found[0].length), 0, found[1] ?? "-", !inList)
    inList = found !== null
  }
  const block = (part: XmlElement, level: number): void => {
    if (part.name === "p" || part.name === "v") return paragraph(spoken(part))
    inList = false
    if (part.name === "section" || part.name === "body") walk(part, part.name === "section" ? level + 1 : level)
    else if (part.name === "title" || part.name === "subtitle") writer.heading(level, wordsOf(part))
    else if (part.name === "table")
      writer.table(all(part, "tr").map((row) => childrenOf(row).map((cell) => spoken(cell))))
    else if (["poem", "stanza", "cite", "epigraph", "annotation"].includes(part.name)) walk(part, level)
    else if (part.name === "text-author" || part.name === "date") writer.paragraph(spoken(part))
  }
  const flush = (): void => {
    writer.code(code.join("\n"))
    code = []
  }
  const walk = (element: XmlElement, level: number): void => {
    for (const part of childrenOf(element)) {
      const line = codeOf(part)
      if (line !== undefined) code.push(line)
      else {
        flush()
        block(part, level)
      }
    }
    flush()
  }
  /** Notes are sections of a separate body; the text refers to their titles in brackets. */
  const notes = (body: XmlElement): void => {
    for (const note of childrenOf(body).filter(({ name }) => name === "section")) {
      const paragraphs = all(note, "p").map((part) => spoken(part))
      const [number = "", ...words] = child(note, "title") === undefined ? ["", ...paragraphs] : paragraphs
      writer.paragraph(`${number === "" ? "" : `[${number.trim()}] `}${words.join("\n")}`)
    }
  }
  for (const body of childrenOf(book).filter(({ name }) => name === "body")) {
    if (/^(?:notes|comments)$/.test(body.attributes["name"] ?? "")) notes(body)
    else walk(body, 1)
  }
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
