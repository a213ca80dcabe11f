import { type Extracted, NotExtracted } from "../Extracted.ts"
import { MarkdownWriter } from "../MarkdownWriter.ts"
import { placed, unbroken } from "../raised.ts"
import { all, child, childrenOf, textIn, xml, type XmlElement } from "../xml.ts"
import { unzip, utf8 } from "../zip.ts"
import { coreOf } from "./docx.ts"
import { relations } from "./relations.ts"

const wanted =
  /^(?:ppt\/(?:presentation\.xml|_rels\/presentation\.xml\.rels|slides\/.*|notesSlides\/.*)|docProps\/core\.xml)$/

const paragraphText = (paragraph: XmlElement): string =>
  childrenOf(paragraph).reduce((before, run) => {
    if (run.name === "a:br") return `${before}\n`
    if (run.name !== "a:r" && run.name !== "a:fld") return before
    const offset = Number(child(run, "a:rPr")?.attributes["baseline"] ?? 0) || 0
    const place = offset > 0 ? "above" : offset < 0 ? "below" : undefined
    return before + placed(unbroken(textIn(child(run, "a:t"))), place, before)
  }, "")

const placeholder = (shape: XmlElement): string | undefined => {
  const mark = all(shape, "p:ph")[0]
  return mark === undefined ? undefined : (mark.attributes["type"] ?? "body")
}

const writeShape = (writer: MarkdownWriter, shape: XmlElement): void => {
  const paragraphs = all(child(shape, "p:txBody"), "a:p")
  const list = placeholder(shape) === "body" && paragraphs.length > 1
  let first = true
  for (const paragraph of paragraphs) {
    const text = paragraphText(paragraph)
    if (text.trim() === "") continue
    const depth = Number(child(paragraph, "a:pPr")?.attributes["lvl"] ?? 0) || 0
    if (list) writer.item(text, depth, "-", first)
    else writer.paragraph(text)
    first = false
  }
}

const writeTable = (writer: MarkdownWriter, table: XmlElement): void =>
  writer.table(
    all(table, "a:tr").map((row) => all(row, "a:tc").map((cell) => all(cell, "a:p").map(paragraphText).join(" ")))
  )

const writeTree = (writer: MarkdownWriter, tree: XmlElement | undefined): void => {
  for (const shape of childrenOf(tree)) {
    const kind = placeholder(shape)
    if (kind === "title" || kind === "ctrTitle" || kind === "sldNum" || kind === "dt" || kind === "ftr") continue
    if (shape.name === "p:sp") writeShape(writer, shape)
    else if (shape.name === "p:grpSp") writeTree(writer, shape)
    else if (shape.name === "p:graphicFrame") for (const table of all(shape, "a:tbl")) writeTable(writer, table)
  }
}

/** A PowerPoint file: slides in order, each under its title, with its notes. */
export const pptx = (bytes: Uint8Array): Extracted => {
  const files = unzip(bytes, (name) => wanted.test(name) && /\.(?:xml|rels)$/.test(name))
  const part = (name: string) => (files.has(name) ? xml(utf8(files.get(name))) : undefined)
  const presentation = part("ppt/presentation.xml")
  if (presentation === undefined) throw new NotExtracted("not a presentation: it has no slides")
  const targets = relations(part("ppt/_rels/presentation.xml.rels"), "ppt")
  const writer = new MarkdownWriter()
  for (const [index, { attributes }] of all(presentation, "p:sldId").entries()) {
    const name = targets.get(attributes["r:id"] ?? "")?.target
    const slide = name === undefined ? undefined : part(name)
    if (slide === undefined || name === undefined || slide.attributes["show"] === "0") continue
    writer.at({ locator: { _tag: "Slide", slide: index + 1 } })
    const tree = child(child(slide, "p:cSld"), "p:spTree")
    const title = all(tree, "p:sp").find((shape) => ["title", "ctrTitle"].includes(placeholder(shape) ?? ""))
    writer.heading(2, title === undefined ? "" : all(title, "a:p").map(paragraphText).join(" "))
    writeTree(writer, tree)
    const rels = part(`${name.slice(0, name.lastIndexOf("/"))}/_rels/${name.slice(name.lastIndexOf("/") + 1)}.rels`)
    const notes = [...relations(rels, "ppt/slides").values()].find(({ type }) => type.endsWith("/notesSlide"))
    for (const shape of all(notes === undefined ? undefined : part(notes.target), "p:sp")) {
      if (placeholder(shape) === "body")
        for (const paragraph of all(shape, "a:p")) writer.paragraph(paragraphText(paragraph))
    }
  }
  return { text: writer.text, marks: writer.marks, ...coreOf(part("docProps/core.xml")) }
}
