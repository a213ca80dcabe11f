import { posix } from "node:path"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { coreOf, partsOf, relations } from "./archive.ts"
import { placed, unbroken } from "./raised.ts"
import { isoDate, numberText, showsDate } from "./xlsx.ts"
import { all, child, childrenOf, textIn, type XmlElement } from "./xml.ts"

const wanted =
  /^(?:ppt\/(?:presentation\.xml|_rels\/presentation\.xml\.rels|(?:slides|notesSlides)\/.*\.(?:xml|rels)|charts\/chart[^/]*\.xml|diagrams\/data[^/]*\.xml)|docProps\/core\.xml)$/

/** Bounds of a chart's table. */
const mostSeries = 50
const mostPoints = 1000

const paragraphText = (paragraph: XmlElement): string =>
  childrenOf(paragraph).reduce((before, run) => {
    if (run.name === "a:br") return `${before}\n`
    if (run.name !== "a:r" && run.name !== "a:fld") return before
    const offset = Number(child(run, "a:rPr")?.attributes["baseline"] ?? 0) || 0
    const place = offset > 0 ? "above" : offset < 0 ? "below" : undefined
    return before + placed(unbroken(textIn(child(run, "a:t"))), place, before)
  }, "")

const wordsIn = (element: XmlElement | undefined): string => all(element, "a:p").map(paragraphText).join(" ")

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
  writer.table(all(table, "a:tr").map((row) => all(row, "a:tc").map(wordsIn)))

const valuesIn = (element: XmlElement | undefined): string => all(element, "c:v").map(textIn).join(" ")

/** The points of a chart's data, by their index; dates as such. */
const pointsOf = (element: XmlElement | undefined, from1904 = false): ReadonlyMap<number, string> => {
  const isDate = showsDate(textIn(all(element, "c:formatCode")[0]))
  return new Map(
    all(element, "c:pt").map((point) => {
      const value = textIn(child(point, "c:v"))
      return [Number(point.attributes["idx"]), isDate ? isoDate(Number(value), from1904) : numberText(value)]
    })
  )
}

/** The categories of a chart, those of several levels with what is above them: an outer one counts until the next. */
const categoriesOf = (element: XmlElement | undefined, from1904: boolean): ReadonlyMap<number, string> => {
  const [inner, ...outer] = all(element, "c:lvl").map((level) => pointsOf(level))
  if (inner === undefined) return pointsOf(element, from1904)
  const above = (level: ReadonlyMap<number, string>, at: number) =>
    [...level].filter(([from]) => from <= at).reduce((last, one) => (one[0] >= last[0] ? one : last), [-1, ""])[1]
  return new Map(
    [...inner].slice(0, mostPoints).map(([at, name]) => {
      const names = [...outer.map((level) => above(level, at)).reverse(), name]
      return [at, names.filter((part) => part !== "").join(" ")]
    })
  )
}

/** A diagram as a list of what its shapes say. */
const writeDiagram = (writer: MarkdownWriter, diagram: XmlElement | undefined): void => {
  const texts = all(diagram, "dgm:pt").map(wordsIn)
  for (const [at, text] of texts.filter((text) => text.trim() !== "").entries()) writer.item(text, 0, "-", at === 0)
}

/** A chart as the table of its data: a row for each category, a column for each series. */
const writeChart = (writer: MarkdownWriter, chart: XmlElement | undefined): void => {
  writer.paragraph(wordsIn(child(child(chart, "c:chart"), "c:title")))
  const series = all(chart, "c:ser").slice(0, mostSeries)
  const values = series.map((one) => pointsOf(child(one, "c:val") ?? child(one, "c:yVal")))
  const from1904 = /^(?:1|true)$/.test(child(chart, "c:date1904")?.attributes["val"] ?? "")
  const categories = categoriesOf(
    series.map((one) => child(one, "c:cat") ?? child(one, "c:xVal")).find((it) => it),
    from1904
  )
  const rows = [...new Set([...categories.keys(), ...values.flatMap((each) => [...each.keys()])])]
    .sort((a, b) => a - b)
    .slice(0, mostPoints)
  if (rows.length === 0) return
  writer.table([
    ["", ...series.map((one) => valuesIn(child(one, "c:tx")))],
    ...rows.map((at) => [categories.get(at) ?? "", ...values.map((each) => each.get(at) ?? "")])
  ])
}

const writeTree = (
  writer: MarkdownWriter,
  tree: XmlElement | undefined,
  partOf: (id: string) => XmlElement | undefined
): void => {
  for (const shape of childrenOf(tree)) {
    if (shape.name === "mc:AlternateContent") {
      writeTree(writer, child(shape, "mc:Choice") ?? child(shape, "mc:Fallback"), partOf)
      continue
    }
    const kind = placeholder(shape)
    if (kind === "title" || kind === "ctrTitle" || kind === "sldNum" || kind === "dt" || kind === "ftr") continue
    if (shape.name === "p:sp") writeShape(writer, shape)
    else if (shape.name === "p:grpSp") writeTree(writer, shape, partOf)
    else if (shape.name === "p:graphicFrame") {
      for (const table of all(shape, "a:tbl")) writeTable(writer, table)
      for (const { attributes } of all(shape, "c:chart")) writeChart(writer, partOf(attributes["r:id"] ?? ""))
      for (const { attributes } of all(shape, "dgm:relIds")) writeDiagram(writer, partOf(attributes["r:dm"] ?? ""))
    }
  }
}

/** A PowerPoint file: slides in order, each under its title, with its notes. */
export const pptx = (bytes: Uint8Array): Extracted => {
  const { part } = partsOf(bytes, wanted)
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
    writer.heading(2, wordsIn(title))
    const rels = part(`${posix.dirname(name)}/_rels/${posix.basename(name)}.rels`)
    const related = relations(rels, "ppt/slides")
    writeTree(writer, tree, (id) => part(related.get(id)?.target ?? ""))
    const notes = [...related.values()].find(({ type }) => type.endsWith("/notesSlide"))
    for (const shape of all(notes === undefined ? undefined : part(notes.target), "p:sp")) {
      if (placeholder(shape) === "body")
        for (const paragraph of all(shape, "a:p")) writer.paragraph(paragraphText(paragraph))
    }
  }
  return { text: writer.text, marks: writer.marks, ...coreOf(part("docProps/core.xml")) }
}
