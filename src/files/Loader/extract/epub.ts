import { parse } from "parse5"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { render } from "./html/render.ts"
import { find, textOf } from "./html/tree.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { resolve } from "./office/relations.ts"
import { all, child, childrenOf, textIn, xml, type XmlElement } from "./xml.ts"
import { unzip, utf8 } from "./zip.ts"

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))

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
    const name = resolve(folderOf(base), decoded(href.split("#")[0]!))
    if (!titles.has(name) && title.trim() !== "") titles.set(name, title.replace(/\s+/g, " ").trim())
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
  const files = unzip(bytes, (name) => /\.(?:x?html?|opf|ncx|xml)$/i.test(name))
  const part = (name: string) => (files.has(name) ? utf8(files.get(name)) : undefined)
  if (files.has("META-INF/encryption.xml") && !files.has("META-INF/container.xml"))
    throw new NotExtracted("it is encrypted")
  const container = part("META-INF/container.xml")
  const opf = container === undefined ? undefined : all(xml(container), "rootfile")[0]?.attributes["full-path"]
  const source = opf === undefined ? undefined : part(opf)
  if (opf === undefined || source === undefined) throw new NotExtracted("not a book: it has no list of its files")
  const book = xml(source)
  const folder = folderOf(opf)
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
    if (title !== undefined && (own === undefined || textOf(own).replace(/\s+/g, " ").trim() !== title))
      writer.heading(1, title)
    render({ writer, length: textOf(body).length }, body)
  }
  const metadata = child(book, "metadata")
  const said = (name: string) => textIn(child(metadata, name)).replace(/\s+/g, " ").trim()
  const [title, author, lang] = [said("dc:title"), said("dc:creator"), said("dc:language")]
  return {
    text: writer.text,
    title: title === "" ? undefined : title,
    metadata: { ...(author === "" ? {} : { author }), ...(lang === "" ? {} : { lang }) },
    marks: writer.marks
  }
}
