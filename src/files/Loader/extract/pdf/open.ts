import { NotExtracted } from "../Extracted.ts"
import { outlineKey } from "./blocks.ts"
import type { Item } from "./layout.ts"

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

/** Ligatures as the letters they stand for, and the dots that lead to a page number as one sign. */
export const extractable = (text: string): string =>
  text.replace(/[\ufb00-\ufb06]/g, (ligature) => ligature.normalize("NFKC")).replace(/(?: ?\.){5,}/g, " …")

interface RawItem {
  readonly str: string
  readonly transform: ReadonlyArray<number>
  readonly width: number
  readonly height: number
  readonly fontName: string
}

const said = (value: unknown): string | undefined => {
  const text = typeof value === "string" ? value.replace(/\s+/g, " ").trim() : ""
  // Names that programs write for want of a title.
  return text === "" ||
    /^(?:untitled|microsoft word - .*|.*\.(?:docx?|tex|dvi|indd|qxd|ps|fm)|\(?anonymous\)?)$/i.test(text)
    ? undefined
    : text
}

type Outline = ReadonlyArray<{ readonly title: string; readonly dest: unknown; readonly items: Outline }>

/* oxlint-disable no-await-in-loop -- pages are read one after the other, so that one is in memory at a time */
/** Reads all pages' runs of text with their places. */
export const openPdf = async (bytes: Uint8Array): Promise<OpenedPdf> => {
  const { getDocumentProxy } = await import("unpdf")
  // The library takes the bytes over.
  const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 }).catch((error: Error) => {
    if (error.name === "PasswordException") throw new NotExtracted("it is encrypted: save it without a password")
    throw new NotExtracted(`no sound PDF: ${error.message}`)
  })
  if (document.numPages > mostPages) throw new NotExtracted(`it has more than ${mostPages} pages`)
  const fonts = new Map<string, Pick<Item, "bold" | "mono">>()
  const pages: Array<PageText> = []
  for (let number = 1; number <= document.numPages; number++) {
    const page = await document.getPage(number)
    const { height, transform } = page.getViewport({ scale: 1 })
    const content = await page.getTextContent()
    if (content.items.length > 0) await loadFonts(page)
    const items = (content.items as unknown as ReadonlyArray<RawItem>).flatMap((raw): ReadonlyArray<Item> => {
      if (typeof raw.str !== "string" || raw.str === "") return []
      const [a, b, c, d, e, f] = multiply(transform, raw.transform)
      // Text on its side is a stamp or an axis.
      if (Math.abs(b!) > Math.abs(a!) * 0.1 && Math.abs(a!) < Math.abs(b!) * 10) return []
      const font = fonts.get(raw.fontName) ?? styleOf(page, raw.fontName)
      fonts.set(raw.fontName, font)
      const size = Math.hypot(c!, d!)
      return [{ text: raw.str, x: e!, y: f!, width: raw.width, size, ...font }]
    })
    pages.push({ height, items })
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

/** Fonts are known by name only once a page's operators were read. */
const loadFonts = async (page: Page): Promise<void> => {
  await page.getOperatorList().catch(() => undefined)
}

const styleOf = (page: Page, font: string): Pick<Item, "bold" | "mono"> => {
  let found: { readonly name?: string; readonly bold?: boolean; readonly black?: boolean } | undefined
  try {
    found = page.commonObjs.get(font) as typeof found
  } catch {
    // A font that the page's operators did not bring.
  }
  const name = found?.name ?? ""
  return {
    bold: found?.bold === true || found?.black === true || /bold|black|heavy|semibold|demi/i.test(name),
    mono: /mono|courier|consol|typewriter|inconsolata|menlo|(?:cm|ec|sf|lm)tt|txtt|code/i.test(name)
  }
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
