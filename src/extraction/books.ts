import { posix } from "node:path"
import { parse } from "parse5"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter, oneLine } from "./MarkdownWriter.ts"
import { about, partsOf, resolve } from "./archive.ts"
import { render } from "./html.ts"
import { find, textOf } from "./html/inline.ts"
import { all, child, childrenOf, textIn, xml, type XmlElement } from "./xml.ts"

const decoded = (href: string): string => {
  try {
    return decodeURIComponent(href)
  } catch {
    return href
  }
}

/** Chapter titles by the file that they begin, from the navigation of EPUB 3, else of EPUB 2. */
const titlesOf = (
  part: (name: string) => string | undefined,
  items: ReadonlyArray<XmlElement>,
  folder: string
): ReadonlyMap<string, string> => {
  const titles = new Map<string, string>()
  const add = (base: string, href: string, title: string) => {
    const name = resolve(posix.dirname(base), decoded(href.split("#")[0]!))
    if (!titles.has(name) && title.trim() !== "") titles.set(name, oneLine(title))
  }
  for (const item of items) {
    const name = resolve(folder, decoded(item.attributes["href"] ?? ""))
    const text = part(name)
    if (text === undefined) continue
    if (/(?:^|\s)nav(?:\s|$)/.test(item.attributes["properties"] ?? "")) {
      for (const link of all(xml(text), "a")) add(name, link.attributes["href"] ?? "", textIn(link))
    } else if (item.attributes["media-type"] === "application/x-dtbncx+xml") {
      for (const point of all(xml(text), "navPoint")) {
        add(name, child(point, "content")?.attributes["src"] ?? "", textIn(child(point, "navLabel")))
      }
    }
  }
  return titles
}

/** A book: its chapters in the order of the spine, under the titles of its navigation. */
export const epub = (bytes: Uint8Array): Extracted => {
  const { text: part } = partsOf(bytes, /\.(?:x?html?|opf|ncx|xml)$/i)
  const container = part("META-INF/container.xml")
  if (container === undefined && part("META-INF/encryption.xml") !== undefined)
    throw new NotExtracted("it is encrypted")
  const opf = container === undefined ? undefined : all(xml(container), "rootfile")[0]?.attributes["full-path"]
  const source = opf === undefined ? undefined : part(opf)
  if (opf === undefined || source === undefined) throw new NotExtracted("not a book: it has no list of its files")
  const book = xml(source)
  const folder = posix.dirname(opf)
  const items = all(child(book, "manifest"), "item")
  const byId = new Map(items.map((item) => [item.attributes["id"], item]))
  const titles = titlesOf(part, items, folder)
  const writer = new MarkdownWriter()
  for (const { attributes } of childrenOf(child(book, "spine"))) {
    const item = byId.get(attributes["idref"])
    if (item === undefined || /(?:^|\s)nav(?:\s|$)/.test(item.attributes["properties"] ?? "")) continue
    const name = resolve(folder, decoded(item.attributes["href"] ?? ""))
    const text = part(name)
    if (text === undefined) continue
    const document = parse(text)
    const body = find(document, "body") ?? document
    writer.at({ locator: { _tag: "Part", part: name } })
    const title = titles.get(name)
    const own = find(body, "h1", "h2")
    if (title !== undefined && (own === undefined || oneLine(textOf(own)) !== title)) writer.heading(1, title)
    render({ writer, length: textOf(body).length }, body)
  }
  const metadata = child(book, "metadata")
  const said = (name: string) => textIn(child(metadata, name))
  return {
    text: writer.text,
    marks: writer.marks,
    ...about({ title: said("dc:title"), author: said("dc:creator"), lang: said("dc:language") })
  }
}

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
  const names = childrenOf(child(info, "author")).filter(({ name }) => name.endsWith("-name"))
  const author = names.map((name) => textIn(name).trim()).join(" ")
  return { text: writer.text, marks: [], ...about({ title: textIn(child(info, "book-title")), author }) }
}
