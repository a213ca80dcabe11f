import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { decoderOf } from "./decoding.ts"

/** Groups that are no part of the text. */
const silent = new Set(
  (
    "colortbl stylesheet listtable listoverridetable rsidtbl generator pict object themedata datastore xmlnstbl " +
    "header headerl headerr headerf footer footerl footerr footerf fldinst latentstyles filetbl revtbl pgdsctbl " +
    "sp shprslt"
  ).split(" ")
)

/** Groups with text that are starred, so that older readers pass over them: pictures, notes, boxes. */
const shown = new Set(["shppict", "footnote", "shpinst"])

/** Characters that have control words. */
const signs = new Map([
  ["par", "\n"],
  ["sect", "\n"],
  ["page", "\n"],
  ["line", "\n"],
  ["tab", "\t"],
  ["cell", "\t"],
  ["nestcell", "\t"],
  ["emdash", "\u2014"],
  ["endash", "\u2013"],
  ["bullet", "\u2022"],
  ["lquote", "\u2018"],
  ["rquote", "\u2019"],
  ["ldblquote", "\u201c"],
  ["rdblquote", "\u201d"],
  ["emspace", " "],
  ["enspace", " "]
])

/** Encodings of code pages that are not named windows-N. */
const pages: Readonly<Record<number, string>> = {
  932: "shift_jis",
  936: "gb18030",
  949: "euc-kr",
  950: "big5",
  866: "ibm866"
}

/** Code pages of fonts, by the number of their character set in Windows; others have the document's. */
const charsets: Readonly<Record<number, number>> = {
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250
}

const decoderOfPage = (page: number): ReturnType<typeof decoderOf> => {
  try {
    return decoderOf(pages[page] ?? `windows-${page}`)
  } catch {
    return decoderOf("windows-1252")
  }
}

/** Deeper than any program nests. */
const deepest = 2000

/** A group's state, which ends with it. */
interface Group {
  /** Where its text goes: the document, its title, or nowhere. */
  readonly to: "text" | "title" | "nothing"
  /** Characters after `\u` for readers that do not know it. */
  readonly fallback: number
  /** The code page of its font, if that is not the document's. */
  readonly page: number | undefined
  readonly isFontTable: boolean
}

const token = /[{}]|\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^])|[^{}\\]+/giy

/** A Rich Text document: its paragraphs, with headings by outline level, and its tables' rows. */
export const rtf = (bytes: Uint8Array): Extracted => {
  const source = Buffer.from(bytes).toString("latin1")
  const writer = new MarkdownWriter()
  const stack: Array<Group> = []
  let group: Group = { to: "text", fallback: 1, page: undefined, isFontTable: false }
  let document = 1252
  const decoders = new Map<number, ReturnType<typeof decoderOf>>()
  /** Code pages of fonts by their number, and the font that the table describes last. */
  const fonts = new Map<number, number>()
  let font = 0
  let usual = 0
  /** Bytes of the code page, as Latin-1: the second of two may be a plain letter. */
  let raw = ""
  let skipped = 0
  let paragraph = ""
  let title = ""
  let level = 0
  let isStarred = false

  const say = (text: string): void => {
    if (group.to === "text") paragraph += text
    else if (group.to === "title") title += text
  }
  const flush = (): void => {
    if (raw === "") return
    const page = group.page ?? document
    const decoder = decoders.get(page) ?? decoderOfPage(page)
    decoders.set(page, decoder)
    say(decoder(Buffer.from(raw, "latin1")))
    raw = ""
  }
  const end = (): void => {
    if (level > 0 && !paragraph.includes("\t")) writer.heading(level, paragraph)
    else writer.paragraph(paragraph.trimEnd().replaceAll("\t", " | "))
    paragraph = ""
  }
  /** Whether the next character stands in for one that was read. */
  const isFallback = (): boolean => skipped > 0 && skipped-- > 0

  for (const [whole, word, number, hex, sign] of source.matchAll(token)) {
    if (hex !== undefined) {
      if (!isFallback()) raw += String.fromCharCode(Number.parseInt(hex, 16))
      continue
    }
    if (sign !== undefined && /[{}\\]/.test(sign)) {
      if (!isFallback()) raw += sign
      continue
    }
    const isText = word === undefined && sign === undefined && !/^[{}]/.test(whole)
    if (!isText) flush()
    if (whole === "{") {
      if (stack.push(group) > deepest) throw new NotExtracted(`nested more than ${deepest} deep`)
    } else if (whole === "}") {
      group = stack.pop() ?? group
      skipped = 0
    } else if (sign !== undefined) {
      if (sign === "*") isStarred = true
      else if (sign === "\n" || sign === "\r") end()
      else if (sign === "~") say(" ")
      else if (sign === "_") say("-")
      continue
    } else if (word === undefined) {
      const text = whole.replace(/[\r\n\0]/g, "")
      const fallback = Math.min(skipped, text.length)
      skipped -= fallback
      if (group.to !== "nothing") raw += text.slice(fallback)
    } else if (isStarred ? !shown.has(word) : silent.has(word)) {
      group = { ...group, to: "nothing" }
    } else if (word === "footnote") say(" ")
    else if (word === "info") group = { ...group, to: "nothing" }
    else if (word === "title") group = { ...group, to: "title" }
    else if (word === "ansicpg") document = Number(number)
    else if (word === "fonttbl") group = { ...group, to: "nothing", isFontTable: true }
    else if (word === "fcharset") {
      const page = charsets[Number(number)]
      if (page !== undefined && group.isFontTable) fonts.set(font, page)
    } else if (word === "f" && group.isFontTable) font = Number(number)
    else if (word === "f") group = { ...group, page: fonts.get(Number(number)) }
    else if (word === "plain") group = { ...group, page: fonts.get(usual) }
    else if (word === "deff") usual = Number(number)
    else if (word === "uc") group = { ...group, fallback: Math.min(9, Math.max(0, Number(number))) }
    else if (word === "u") {
      say(String.fromCharCode(Number(number) & 0xffff))
      skipped = group.fallback
    } else if (word === "pard") level = 0
    else if (word === "outlinelevel") level = Math.min(6, Number(number) + 1)
    else if (word === "row" || word === "nestrow") {
      if (group.to === "text") end()
    } else if (signs.get(word) === "\n" && word !== "line") {
      if (group.to === "text") end()
    } else say(signs.get(word) ?? "")
    isStarred = false
  }
  flush()
  end()
  const name = title.trim()
  return { text: writer.text, title: name === "" ? undefined : name, metadata: {}, marks: writer.marks }
}
