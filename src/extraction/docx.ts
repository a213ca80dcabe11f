import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter, mostRepeated } from "./MarkdownWriter.ts"
import { coreOf, partsOf, relations } from "./archive.ts"
import { grouped, lowered, type Place, placed, unbroken } from "./raised.ts"
import { all, child, childrenOf, textIn, type XmlElement } from "./xml.ts"

/** What holds parts of a text as if it were not there: content controls, accepted insertions. */
const wrappers = new Set(["w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo"])

/** The rows of a table, or the cells of a row. */
const within = (element: XmlElement, name: string): ReadonlyArray<XmlElement> =>
  childrenOf(element).flatMap((inner) =>
    inner.name === name ? [inner] : wrappers.has(inner.name) ? within(inner, name) : []
  )

/** The paragraphs of a cell, without those of text boxes in them. */
const paragraphsOf = (element: XmlElement): ReadonlyArray<XmlElement> =>
  childrenOf(element).flatMap((inner) => (inner.name === "w:p" ? [inner] : paragraphsOf(inner)))

const value = (element: XmlElement | undefined): string | undefined => element?.attributes["w:val"]

/** The heading level that properties of paragraphs give; 0 is none. */
const outlineLevel = (properties: XmlElement | undefined): number => {
  const outline = Number(value(child(properties, "w:outlineLvl")) ?? 9)
  return outline < 9 ? outline + 1 : 0
}

/** Most styles that are based one on the other. */
const longestChain = 20

/** What each style says, or else the first that it is based on. */
const inherited = <A>(
  styles: XmlElement | undefined,
  said: (style: XmlElement) => A | undefined
): ReadonlyMap<string, A> => {
  const byId = new Map(all(styles, "w:style").map((style) => [style.attributes["w:styleId"] ?? "", style]))
  const found = new Map<string, A>()
  for (const [id, own] of byId) {
    let style: XmlElement | undefined = own
    for (let step = 0; style !== undefined && step < longestChain && !found.has(id); step++) {
      const what = said(style)
      if (what !== undefined) found.set(id, what)
      style = byId.get(value(child(style, "w:basedOn")) ?? "")
    }
  }
  return found
}

/** The level of a heading's style, by name or outline level; 0 is none, whatever it is based on. */
const headingLevel = (style: XmlElement): number | undefined => {
  const name = value(child(style, "w:name")) ?? ""
  if (/^title$/i.test(name)) return 1
  const named = /^(?:heading|überschrift|titre|título|titolo)\s*(\d)$/i.exec(name)?.[1]
  if (named !== undefined) return Number(named)
  const properties = child(style, "w:pPr")
  if (child(properties, "w:outlineLvl") !== undefined) return outlineLevel(properties)
  return /^subtitle$/i.test(name) ? 0 : undefined
}

const numberingOf = (element: XmlElement): XmlElement | undefined => child(child(element, "w:pPr"), "w:numPr")

/** Styles of code, by name. */
const codeStyles = (styles: XmlElement | undefined): ReadonlySet<string> =>
  new Set(
    all(styles, "w:style")
      .filter((style) =>
        /^(?:source code|html preformatted|plain text|code(?: block)?|preformatted text)$/i.test(
          value(child(style, "w:name")) ?? ""
        )
      )
      .map((style) => style.attributes["w:styleId"] ?? "")
  )

/** Whether a list is numbered, by its id and level. */
const numbered = (numbering: XmlElement | undefined) => {
  const formats = new Map<string, string>()
  for (const abstract of all(numbering, "w:abstractNum")) {
    for (const level of all(abstract, "w:lvl")) {
      formats.set(
        `${abstract.attributes["w:abstractNumId"]}/${level.attributes["w:ilvl"]}`,
        value(child(level, "w:numFmt")) ?? ""
      )
    }
  }
  const abstractOf = new Map(
    childrenOf(numbering)
      .filter(({ name }) => name === "w:num")
      .map((num) => [num.attributes["w:numId"], value(child(num, "w:abstractNumId"))])
  )
  return (id: string, level: string) => {
    const format = formats.get(`${abstractOf.get(id)}/${level}`)
    return format !== undefined && format !== "bullet" && format !== "none"
  }
}

/** Numbers notes in the order of their references, as readers see them; the file numbers footnotes and endnotes separately. */
const numberOf = (notes: Array<string>, note: string): number => {
  const at = notes.indexOf(note)
  return at < 0 ? notes.push(note) : at + 1
}

/** Whether the properties say that a paragraph's end, a row or a cell is deleted or moved away. */
const isGone = (properties: XmlElement | undefined): boolean =>
  childrenOf(properties).some(({ name }) => name === "w:del" || name === "w:moveFrom" || name === "w:cellDel")

/** Where properties place a run: directly, or by a style of characters. */
const placeOf = (properties: XmlElement | undefined, styles: ReadonlyMap<string, Place>): Place => {
  const align = value(child(properties, "w:vertAlign"))
  if (align !== undefined) return align === "superscript" ? "above" : align === "subscript" ? "below" : undefined
  return styles.get(value(child(properties, "w:rStyle")) ?? "")
}

const placesOf = (styles: XmlElement | undefined): ReadonlyMap<string, Place> =>
  new Map(
    all(styles, "w:style").map((style) => [
      style.attributes["w:styleId"] ?? "",
      placeOf(child(style, "w:rPr"), new Map())
    ])
  )

/** A formula in a line: `x^2`, `a_i`, `(a+b)/c`. */
const formula = (element: XmlElement): string => {
  const part = (name: string) => {
    const inner = child(element, name)
    return inner === undefined ? "" : formula(inner)
  }
  const low = part("m:sub") === "" ? "" : lowered(part("m:sub"))
  const high = part("m:sup") === "" ? "" : `^${grouped(part("m:sup"))}`
  switch (element.name) {
    case "m:t":
      return textIn(element)
    case "m:sSup":
    case "m:sSub":
    case "m:sSubSup":
      return part("m:e") + low + high
    case "m:nary":
      return `${child(child(element, "m:naryPr"), "m:chr")?.attributes["m:val"] ?? "∫"}${low}${high} ${part("m:e")}`
    case "m:f":
      return `${grouped(part("m:num"))}/${grouped(part("m:den"))}`
    case "m:rad":
      return part("m:deg") === "" ? `√(${part("m:e")})` : `${grouped(part("m:e"))}^(1/${part("m:deg")})`
    case "m:d":
      return `(${childrenOf(element)
        .filter(({ name }) => name === "m:e")
        .map(formula)
        .join(", ")})`
    default:
      return childrenOf(element).map(formula).join("")
  }
}

/** What a run's text is read with. */
interface Reading {
  readonly notes: Array<string>
  readonly places: ReadonlyMap<string, Place>
  /** Text boxes anchored in what was read, which follow it. */
  readonly boxes: Array<XmlElement>
}

/** A run's text after `before`, without deleted text and field instructions. */
const runText = (element: XmlElement, reading: Reading, before = ""): string => {
  const { boxes, notes, places } = reading
  const inner = (of: XmlElement | undefined) =>
    childrenOf(of).reduce(
      (text, part) => text + runText(part, reading, before + text) + (part.name === "w:p" ? "\n" : ""),
      ""
    )
  switch (element.name) {
    case "w:t":
      return unbroken(textIn(element))
    case "w:r": {
      const text = inner(element)
      const isNote = childrenOf(element).some(({ name }) => name.endsWith("noteReference") || name.endsWith("noteRef"))
      return isNote ? text : placed(text, placeOf(child(element, "w:rPr"), places), before)
    }
    case "m:oMath":
      return formula(element)
    case "w:ruby": {
      const [words, how] = [inner(child(element, "w:rubyBase")), inner(child(element, "w:rt"))]
      return how.trim() === "" ? words : `${words}(${how})`
    }
    case "w:tab":
      return "\t"
    case "w:br":
    case "w:cr":
      return "\n"
    case "w:noBreakHyphen":
      return "-"
    case "w:footnoteReference":
    case "w:endnoteReference":
      return `[^${numberOf(notes, `${element.name.replace("Reference", "")}/${element.attributes["w:id"] ?? ""}`)}]`
    case "w:txbxContent":
      boxes.push(element)
      return ""
    case "w:del":
    case "w:moveFrom":
    case "w:instrText":
    case "w:pPr":
    case "w:rPr":
    case "mc:Fallback":
      return ""
    default:
      return inner(element)
  }
}

/** Writes the notes that the text refers to, in that order. */
const writeNotes = (
  writer: MarkdownWriter,
  { notes, places }: Reading,
  parts: Readonly<Record<string, XmlElement | undefined>>
): void => {
  const textOf = (note: XmlElement): string => {
    const reading: Reading = { notes: [], places, boxes: [] }
    const paragraphs = [runText(note, reading)]
    // A box may hold others, which join the list.
    for (const box of reading.boxes) for (const part of paragraphsOf(box)) paragraphs.push(runText(part, reading))
    return paragraphs
      .map((text) => text.trim())
      .join("\n")
      .trim()
  }
  const texts = new Map<string, string>(
    Object.entries(parts).flatMap(([name, part]) =>
      all(part, name).map((note) => [`${name}/${note.attributes["w:id"] ?? ""}`, textOf(note)] as const)
    )
  )
  notes.forEach((id, index) => {
    const text = texts.get(id) ?? ""
    if (text !== "") writer.paragraph(`[^${index + 1}]: ${text}`)
  })
}

/** Most columns of a table in Word. */
const widest = 63

/** The rows of a table: what is merged downwards is repeated in each, as far as `mostRepeated` allows. */
const rowsOf = (table: XmlElement, reading: Reading): ReadonlyArray<ReadonlyArray<string>> => {
  let above: ReadonlyArray<string> = []
  let left = mostRepeated
  return within(table, "w:tr").flatMap((row) => {
    const properties = child(row, "w:trPr")
    if (isGone(properties)) return []
    const cells: Array<string> = []
    const skip = (columns: number): void => {
      for (const end = Math.min(widest, cells.length + columns); cells.length < end;) cells.push("")
    }
    skip(Number(value(child(properties, "w:gridBefore")) ?? 0))
    for (const cell of within(row, "w:tc")) {
      const properties = child(cell, "w:tcPr")
      if (isGone(properties)) continue
      const merged = child(properties, "w:vMerge")
      if (merged !== undefined && value(merged) !== "restart") {
        const text = above[cells.length] ?? ""
        left -= text.length
        cells.push(left < 0 ? "" : text)
      } else {
        const texts = paragraphsOf(cell).map((inner) => runText(inner, reading))
        cells.push(texts.join(" "))
      }
      skip(Number(value(child(properties, "w:gridSpan")) ?? 1) - 1)
    }
    above = cells
    return [cells]
  })
}

/** A Word document: headings, lists, tables, footnotes, with tracked changes accepted and without headers and footers. */
export const docx = (bytes: Uint8Array): Extracted => {
  const { part } = partsOf(
    bytes,
    /^(?:_rels\/\.rels|(?:word\/(?:document\d*|styles|numbering|footnotes|endnotes)|docProps\/core)\.xml)$/
  )
  const main = [...relations(part("_rels/.rels"), "").values()].find(({ type }) => type.endsWith("/officeDocument"))
  const document = part(main?.target ?? "word/document.xml")
  if (document === undefined) throw new NotExtracted("not a Word document: it has no text")
  const styles = part("word/styles.xml")
  const levels = inherited(styles, headingLevel)
  const lists = inherited(styles, numberingOf)
  const isCode = codeStyles(styles)
  const isNumbered = numbered(part("word/numbering.xml"))
  const writer = new MarkdownWriter()
  const reading: Reading = { notes: [], places: placesOf(styles), boxes: [] }
  let inList = false
  /** The items of each list so far, by level. */
  const counters = new Map<string, Array<number>>()
  /** Consecutive lines of code. */
  let code: Array<string> = []
  const flushCode = (): void => {
    writer.code(code.join("\n"))
    code = []
  }

  /** Words of paragraphs whose end is deleted: they begin the next one. */
  let held = ""

  const paragraph = (element: XmlElement): void => {
    const properties = child(element, "w:pPr")
    const text = held + runText(element, reading, held)
    held = isGone(child(properties, "w:rPr")) ? text : ""
    if (held !== "") return
    const style = value(child(properties, "w:pStyle"))
    if (style !== undefined && isCode.has(style)) {
      code.push(text)
      return
    }
    flushCode()
    const level = levels.get(style ?? "") || outlineLevel(properties)
    if (text.trim() === "") return
    const [list, inStyle] = [numberingOf(element), lists.get(style ?? "")]
    const said = (name: string) => value(child(list, name)) ?? value(child(inStyle, name)) ?? "0"
    const id = said("w:numId")
    if (level > 0) {
      inList = false
      counters.clear()
      return writer.heading(level, text)
    }
    // The list 0 is none, which takes a paragraph out of its style's.
    if (id === "0") {
      inList = false
      return writer.paragraph(text)
    }
    const depth = Number(said("w:ilvl")) || 0
    const marker = isNumbered(id, String(depth))
    const counts = counters.get(id) ?? []
    counters.set(id, counts)
    counts.length = depth + 1
    counts[depth] = (counts[depth] ?? 0) + 1
    writer.item(text, depth, marker ? `${counts[depth]}.` : "-", !inList)
    inList = true
  }
  const flushHeld = (): void => {
    if (held.trim() !== "") writer.paragraph(held)
    held = ""
  }
  const block = (element: XmlElement): void => {
    written(element)
    // After the paragraph that a deleted end is joined to.
    if (held === "") writeBoxes()
  }
  const writeBoxes = (): void => {
    for (const box of reading.boxes.splice(0)) block(box)
  }
  const written = (element: XmlElement): void => {
    switch (element.name) {
      case "w:p":
        return paragraph(element)
      case "w:tbl":
        flushHeld()
        flushCode()
        inList = false
        return writer.table(rowsOf(element, reading))
      case "w:sectPr":
      case "w:del":
        return
      default:
        for (const inner of childrenOf(element)) block(inner)
    }
  }
  block(document)
  flushHeld()
  writeBoxes()
  flushCode()
  writeNotes(writer, reading, {
    "w:footnote": part("word/footnotes.xml"),
    "w:endnote": part("word/endnotes.xml")
  })
  return { text: writer.text, marks: [], ...coreOf(part("docProps/core.xml")) }
}
