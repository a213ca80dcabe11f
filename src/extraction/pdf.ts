import { unzipSync } from "fflate"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter, oneLine } from "./MarkdownWriter.ts"
import { outlineKey, styleOf, writeColumn } from "./pdf/blocks.ts"
import { linesOf, readingOrder } from "./pdf/layout.ts"
import { letterless, withLetters } from "./pdf/letters.ts"
import { drawnFromRight, glyphsOf, isBlank, type Item, type Line, rightToLeft, withoutFoundSpaces } from "./pdf/line.ts"

/** The parts of a pdf.js annotation that describe a form field or a text written on the page. */
interface Annotation {
  readonly subtype?: string
  /** Of bits: 2, hidden; 32, not to be viewed. */
  readonly annotationFlags?: number
  readonly contentsObj?: { readonly str?: unknown }
  readonly fieldType?: string
  readonly fieldValue?: unknown
  readonly rect?: ReadonlyArray<number>
  readonly checkBox?: boolean
  readonly radioButton?: boolean
  readonly buttonValue?: unknown
  readonly exportValue?: unknown
  readonly hidden?: boolean
  readonly password?: boolean
}

const valueOf = ({
  buttonValue,
  checkBox,
  contentsObj,
  exportValue,
  fieldType,
  fieldValue,
  password,
  radioButton,
  subtype
}: Annotation): string => {
  if (subtype === "FreeText") return typeof contentsObj?.str === "string" ? contentsObj.str : ""
  if (fieldType === "Btn") {
    const isSet = checkBox === true ? fieldValue === exportValue : radioButton === true && fieldValue === buttonValue
    return isSet && typeof fieldValue === "string" && fieldValue !== "Off" ? "\u2611" : ""
  }
  if (password === true) return ""
  const values = Array.isArray(fieldValue) ? fieldValue : [fieldValue]
  return values.filter((value) => typeof value === "string" && value.trim() !== "").join(", ")
}

/** The values of a form's fields and texts written on the page, as runs at their places: they are not part of the page's own text. */
const fieldItems = (
  annotations: ReadonlyArray<Annotation>,
  place: (x: number, y: number) => readonly [x: number, y: number]
): ReadonlyArray<Item> =>
  annotations.flatMap((annotation): ReadonlyArray<Item> => {
    const { annotationFlags = 0, hidden, rect, subtype } = annotation
    const isHidden = hidden === true || (subtype === "FreeText" && (annotationFlags & 34) !== 0)
    if ((subtype !== "Widget" && subtype !== "FreeText") || isHidden || rect?.length !== 4) return []
    const [left = 0, low = 0, right = 0, high = 0] = rect
    const height = Math.abs(high - low)
    // A field higher than one line has several, and the first is at its top.
    const size = Math.min(height * 0.75, 12)
    const [x, y] = place(Math.min(left, right), Math.max(low, high) - Math.min(height, 16) * 0.75)
    return valueOf(annotation)
      .replace(/[^\S\r\n]|[\u0000-\u0009\u000b\u000c\u000e-\u001f\ufeff]/g, " ")
      .split(/\r\n?|\n/)
      .filter((line) => line.trim() !== "")
      .map((text, i) => ({
        text,
        x,
        y: y + i * size * 1.2,
        width: Math.min(Math.abs(right - left), text.length * size * 0.5),
        size,
        bold: false,
        mono: false
      }))
  })

interface PageText {
  readonly height: number
  readonly items: ReadonlyArray<Item>
}

/** The widest page that PDF allows, in points: 200 inches. */
const widestPage = 14_400

/** What is written far from any page is left out, and nothing is wider: places are tried over the width point by point. */
const onPaper = (item: Item): ReadonlyArray<Item> =>
  Math.abs(item.x) <= widestPage && Math.abs(item.y) <= widestPage
    ? [{ ...item, width: Math.min(item.width, widestPage) }]
    : []

interface OpenedPdf {
  readonly pages: ReadonlyArray<PageText>
  readonly info: { readonly title: string | undefined; readonly author: string | undefined }
  readonly outline: ReadonlyMap<string, number>
}

const mostPages = 20_000

interface RawItem {
  readonly str: string
  readonly transform: ReadonlyArray<number>
  readonly width: number
  readonly height: number
  readonly fontName: string
}

const nameIn = (value: unknown): string | undefined => {
  const text = typeof value === "string" ? oneLine(value) : ""
  // Programs write these names for want of a title.
  return text === "" ||
    /^(?:untitled|microsoft word - .*|.*\.(?:docx?|tex|dvi|indd|qxd|ps|fm)|\(?anonymous\)?)$/i.test(text)
    ? undefined
    : text
}

type Outline = ReadonlyArray<{ readonly title: string; readonly dest: unknown; readonly items: Outline }>

/** Gives the library the CMaps that fonts name instead of embedding them, as many in Chinese, Japanese and Korean do. */
const cmapsIn = (archive: () => Uint8Array) =>
  class {
    async fetch({ name }: { readonly name: string }) {
      const file = `${name}.bcmap`
      const cMapData = unzipSync(archive(), { filter: (other) => other.name === file })[file]
      if (cMapData === undefined) throw new Error(`no CMap ${name}`)
      return { cMapData, isCompressed: true }
    }
  }

/* oxlint-disable no-await-in-loop -- pages are read one after the other, so that one is in memory at a time */
/** Reads the runs of text on all pages, with their places. */
const openPdf = async (bytes: Uint8Array, cmaps: () => Uint8Array): Promise<OpenedPdf> => {
  const { getDocumentProxy } = await import("unpdf")
  // The library takes ownership of the bytes.
  const document = await getDocumentProxy(new Uint8Array(bytes), {
    verbosity: 0,
    // Names of glyphs.
    fontExtraProperties: true,
    // Without an address the library does not ask for CMaps.
    cMapUrl: "cmaps/",
    CMapReaderFactory: cmapsIn(cmaps)
  }).catch((error: Error) => {
    if (error.name === "PasswordException") throw new NotExtracted("it is encrypted: save it without a password")
    throw new NotExtracted(`not a valid PDF: ${error.message}`)
  })
  if (document.numPages > mostPages) throw new NotExtracted(`it has more than ${mostPages} pages`)
  const fonts = new Map<string, Font>()
  const pages: Array<PageText> = []
  for (let number = 1; number <= document.numPages; number++) {
    const page = await document.getPage(number)
    const content = await page.getTextContent()
    const { height, transform } = upright(page, content)
    await learnFonts(page, content, fonts)
    const spaced = await spacesOf(page, content)
    const items = (await lettersOf(page, content)).flatMap((raw): ReadonlyArray<Item> => {
      if (typeof raw.str !== "string" || raw.str === "") return []
      const [a, b, c, d, e, f] = multiply(transform, raw.transform)
      // Rotated text is a stamp or an axis.
      if (Math.abs(b!) > Math.abs(a!) * 0.1 && Math.abs(a!) < Math.abs(b!) * 10) return []
      const { bold, mono, tex } = fonts.get(raw.fontName)!
      const size = Math.hypot(c!, d!)
      return [{ text: tex ? texText(raw.str) : spaced(raw.str), x: e!, y: f!, width: raw.width, size, bold, mono }]
    })
    const annotations = await page.getAnnotations().catch(() => [])
    const place = (x: number, y: number) => multiply(transform, [1, 0, 0, 1, x, y]).slice(4) as [number, number]
    pages.push({ height, items: [...items, ...fieldItems(annotations, place)].flatMap(onPaper) })
    page.cleanup()
  }
  const { info } = (await document.getMetadata().catch(() => ({ info: {} }))) as { info: Record<string, unknown> }
  const outline = new Map<string, number>()
  await readOutline(document, ((await document.getOutline().catch(() => null)) ?? []) as Outline, 1, outline, {
    left: 5000
  })
  await document.loadingTask.destroy()
  return { pages, info: { title: nameIn(info["Title"]), author: nameIn(info["Author"]) }, outline }
}

type Document = Awaited<ReturnType<typeof import("unpdf").getDocumentProxy>>
type Page = Awaited<ReturnType<Document["getPage"]>>
type Content = Awaited<ReturnType<Page["getTextContent"]>>

/** The share of upright text, such as a page's number, with which a page still lies on its side. */
const mostUpright = 0.05

/** The page turned so that most of its text reads from left to right: scans and wide tables often lie on their side. */
const upright = (page: Page, { items }: Content) => {
  const viewport = page.getViewport({ scale: 1 })
  const characters = [0, 0, 0, 0]
  for (const item of items) {
    if (!("str" in item)) continue
    const [a, b] = multiply(viewport.transform, item.transform)
    characters[(Math.round(Math.atan2(b!, a!) / (Math.PI / 2)) + 4) % 4]! += item.str.length
  }
  const turns = characters.indexOf(Math.max(...characters))
  // What is turned beside upright text labels a figure.
  const isUpright = turns === 0 || characters[0]! > characters[turns]! * mostUpright
  return isUpright ? viewport : page.getViewport({ scale: 1, rotation: (page.rotate + 360 - turns * 90) % 360 })
}

interface Font extends Pick<Item, "bold" | "mono"> {
  /** Whether it is a TeX text font in its original encoding. */
  readonly tex: boolean
}

const monospaced = /mono|nimbusmon|courier|consol|typewriter|inconsolata|menlo|(?:cm|ec|sf|lm)tt|txtt|code/i

/** These fonts have dashes in place of ASCII's braces, and not all programs declare that. */
const texFont = /^(?:[A-Z]{6}\+)?CM(?:R|BX|B|TI|SL|SS|SSBX|SSI|CSC)\d{1,3}$/
const texText = (text: string): string => text.replaceAll("|", "—").replaceAll("{", "–")

/** Font names are known only after a page's operators were read. */
const learnFonts = async (page: Page, { items, styles }: Content, fonts: Map<string, Font>): Promise<void> => {
  const unknown = new Set<string>()
  for (const item of items) if ("fontName" in item && !fonts.has(item.fontName)) unknown.add(item.fontName)
  if (unknown.size > 0) await page.getOperatorList().catch(() => undefined)
  for (const id of unknown) {
    const name = page.commonObjs.has(id)
      ? String((page.commonObjs.get(id) as { name?: unknown } | null)?.name ?? "")
      : ""
    fonts.set(id, {
      bold: /bold|black|heavy|demi|cmbx|cmssbx|sfbx|ecbx/i.test(name),
      // A font without a name may have only a few letters, which have the same width by chance.
      mono: (name !== "" && styles[id]?.fontFamily === "monospace") || monospaced.test(name),
      tex: texFont.test(name)
    })
  }
}

/** A page with more characters is not one that people read; each of its words would be searched in all of them. */
const mostDrawn = 50_000

/** Words as the page separates them; only right-to-left text needs this check. */
const spacesOf = async (page: Page, { items }: Content): Promise<(text: string) => string> => {
  if (!items.some((item: object) => "str" in item && rightToLeft.test(String(item.str)))) return (text) => text
  const operators = await page.getOperatorList().catch(() => undefined)
  const drawn = drawnFromRight((operators?.argsArray ?? []) as ReadonlyArray<unknown>)
  return drawn.includes(" ") && drawn.length < mostDrawn ? (text) => withoutFoundSpaces(text, drawn) : (text) => text
}

/** Runs with the letters that their fonts do not map read from the names of glyphs, as pdf.js does for fonts that map none. */
const lettersOf = async (page: Page, content: Content): Promise<ReadonlyArray<RawItem>> => {
  const items = content.items as unknown as ReadonlyArray<RawItem>
  if (!items.some(({ str }) => typeof str === "string" && str.search(letterless) >= 0)) return items
  // The page's own text alone, as in its items: no annotations.
  const operators = await page.getOperatorList({ annotationMode: 0 }).catch(() => undefined)
  return withLetters(items, glyphsOf((operators?.argsArray ?? []) as ReadonlyArray<unknown>), (id) =>
    page.commonObjs.has(id) ? (page.commonObjs.get(id) as object) : {}
  )
}

const multiply = (m: ReadonlyArray<number>, n: ReadonlyArray<number>): ReadonlyArray<number> => [
  m[0]! * n[0]! + m[2]! * n[1]!,
  m[1]! * n[0]! + m[3]! * n[1]!,
  m[0]! * n[2]! + m[2]! * n[3]!,
  m[1]! * n[2]! + m[3]! * n[3]!,
  m[0]! * n[4]! + m[2]! * n[5]! + m[4]!,
  m[1]! * n[4]! + m[3]! * n[5]! + m[5]!
]

const readOutline = async (
  document: Document,
  entries: Outline,
  level: number,
  found: Map<string, number>,
  budget: { left: number }
): Promise<void> => {
  for (const { dest, items, title } of entries) {
    if (budget.left-- <= 0 || level > 6) return
    const place = (
      typeof dest === "string" ? await document.getDestination(dest).catch(() => null) : dest
    ) as ReadonlyArray<unknown> | null
    const index =
      Array.isArray(place) && typeof place[0] === "object"
        ? await document.getPageIndex(place[0] as never).catch(() => -1)
        : -1
    if (index >= 0) found.set(outlineKey(index + 1, title), level)
    await readOutline(document, items ?? [], level + 1, found, budget)
  }
}

/** Share of a page's height, at its top and bottom, that may contain running lines. */
const margin = 0.1

const shape = (line: Line): string => line.text.replace(/\d+|\b[ivxlc]+\b/gi, "#").replace(/\s+/g, " ")

/** Lines at a page's edge that other pages repeat, apart from numbers, and lone page numbers. */
const runningLines = (pages: ReadonlyArray<{ readonly height: number; readonly lines: ReadonlyArray<Line> }>) => {
  const counts = new Map<string, number>()
  const atEdge = (line: Line, height: number) => line.y < height * margin || line.y > height * (1 - margin)
  for (const { height, lines } of pages) {
    for (const key of new Set(lines.filter((line) => atEdge(line, height)).map(shape)))
      counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const often = Math.max(2, Math.min(4, pages.length * 0.3))
  const isNumber = ({ text }: Line): boolean => /^[-–\s]*(?:\d{1,4}|[ivxlc]{1,7})[-–\s]*$/i.test(text)
  return (line: Line, height: number, lines: ReadonlyArray<Line>): boolean => {
    // A page number may stand further in if it is below everything else and apart from it.
    const isApart = () => lines.every((other) => other === line || other.y < line.y - line.size * 1.8)
    const isBelow = () => lines.every((other) => other.y <= line.y)
    if (isNumber(line) && line.y > height * (1 - 1.5 * margin) && isBelow()) return true
    if (isNumber(line) && line.y > height * (1 - 2.5 * margin) && isApart()) return true
    if (!atEdge(line, height)) return false
    const times = counts.get(shape(line)) ?? 0
    const isNumbered = () =>
      /^\d{1,4}\s|\s\d{1,4}$/.test(line.text) ||
      lines.some((other) => other !== line && isNumber(other) && Math.abs(other.y - line.y) < line.size * 0.35)
    return isNumber(line) || (times >= 2 && isNumbered()) || (pages.length > 2 && times >= often)
  }
}

const isScanned = (pages: ReadonlyArray<PageText>): boolean => pages.every(({ items }) => items.every(isBlank))

/** A PDF in reading order, with each page marked; headings by outline and size, without running lines. */
export const pdf = async (bytes: Uint8Array, cmaps = (): Uint8Array => new Uint8Array()): Promise<Extracted> => {
  const { info, outline, pages } = await openPdf(bytes, cmaps)
  if (isScanned(pages))
    throw new NotExtracted(`no text in its ${pages.length} pages: they are pictures; run OCR over it first`)
  const laid = pages.map(({ height, items }) => ({ height, lines: linesOf(items) }))
  const isRunning = runningLines(laid)
  const kept = laid.map(({ height, lines }) => lines.filter((line) => !isRunning(line, height, lines)))
  const style = styleOf(kept, outline)
  const writer = new MarkdownWriter()
  let isOpen = false
  for (const [index, lines] of kept.entries()) {
    writer.at({ locator: { _tag: "Page", page: index + 1 } })
    for (const run of readingOrder(lines)) isOpen = writeColumn(writer, run, index + 1, style, isOpen)
  }
  return {
    text: writer.text,
    title: info.title,
    metadata: { ...(info.author === undefined ? {} : { author: info.author }), pages: pages.length },
    marks: writer.marks
  }
}
