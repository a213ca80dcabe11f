import { NotExtracted } from "../Extracted.ts"
import { fieldItems } from "./fields.ts"
import { outlineKey } from "./headings.ts"
import type { Item } from "./line.ts"
import { drawnFromRight, rightToLeft, withoutFoundSpaces } from "./spaces.ts"

export interface PageText {
  readonly height: number
  readonly items: ReadonlyArray<Item>
}

export interface OpenedPdf {
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

const said = (value: unknown): string | undefined => {
  const text = typeof value === "string" ? value.replace(/\s+/g, " ").trim() : ""
  // Programs write these names for want of a title.
  return text === "" ||
    /^(?:untitled|microsoft word - .*|.*\.(?:docx?|tex|dvi|indd|qxd|ps|fm)|\(?anonymous\)?)$/i.test(text)
    ? undefined
    : text
}

type Outline = ReadonlyArray<{ readonly title: string; readonly dest: unknown; readonly items: Outline }>

/* oxlint-disable no-await-in-loop -- pages are read one after the other, so that one is in memory at a time */
/** Reads the runs of text on all pages, with their places. */
export const openPdf = async (bytes: Uint8Array): Promise<OpenedPdf> => {
  const { getDocumentProxy } = await import("unpdf")
  // The library takes ownership of the bytes.
  const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 }).catch((error: Error) => {
    if (error.name === "PasswordException") throw new NotExtracted("it is encrypted: save it without a password")
    throw new NotExtracted(`not a valid PDF: ${error.message}`)
  })
  if (document.numPages > mostPages) throw new NotExtracted(`it has more than ${mostPages} pages`)
  const fonts = new Map<string, Font>()
  const pages: Array<PageText> = []
  for (let number = 1; number <= document.numPages; number++) {
    const page = await document.getPage(number)
    const { height, transform } = page.getViewport({ scale: 1 })
    const content = await page.getTextContent()
    await learnFonts(page, content, fonts)
    const spaced = await spacesOf(page, content)
    const items = (content.items as unknown as ReadonlyArray<RawItem>).flatMap((raw): ReadonlyArray<Item> => {
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
    pages.push({ height, items: [...items, ...fieldItems(annotations, place)] })
    page.cleanup()
  }
  const { info } = (await document.getMetadata().catch(() => ({ info: {} }))) as { info: Record<string, unknown> }
  const outline = new Map<string, number>()
  await readOutline(document, ((await document.getOutline().catch(() => null)) ?? []) as Outline, 1, outline, {
    left: 5000
  })
  await document.loadingTask.destroy()
  return { pages, info: { title: said(info["Title"]), author: said(info["Author"]) }, outline }
}

type Document = Awaited<ReturnType<typeof import("unpdf").getDocumentProxy>>
type Page = Awaited<ReturnType<Document["getPage"]>>

interface Font extends Pick<Item, "bold" | "mono"> {
  /** Whether it is a TeX text font in its original encoding. */
  readonly tex: boolean
}

const monospaced = /mono|nimbusmon|courier|consol|typewriter|inconsolata|menlo|(?:cm|ec|sf|lm)tt|txtt|code/i

/** These fonts have dashes in place of ASCII's braces, and not all programs declare that. */
const texFont = /^(?:[A-Z]{6}\+)?CM(?:R|BX|B|TI|SL|SS|SSBX|SSI|CSC)\d{1,3}$/
const texText = (text: string): string => text.replaceAll("|", "—").replaceAll("{", "–")

/** Font names are known only after a page's operators were read. */
const learnFonts = async (
  page: Page,
  { items, styles }: Awaited<ReturnType<Page["getTextContent"]>>,
  fonts: Map<string, Font>
): Promise<void> => {
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
const spacesOf = async (
  page: Page,
  { items }: Awaited<ReturnType<Page["getTextContent"]>>
): Promise<(text: string) => string> => {
  if (!items.some((item: object) => "str" in item && rightToLeft.test(String(item.str)))) return (text) => text
  const operators = await page.getOperatorList().catch(() => undefined)
  const drawn = drawnFromRight((operators?.argsArray ?? []) as ReadonlyArray<unknown>)
  return drawn.includes(" ") && drawn.length < mostDrawn ? (text) => withoutFoundSpaces(text, drawn) : (text) => text
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
