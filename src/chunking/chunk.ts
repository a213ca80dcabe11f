import type { Format } from "../model/Document.ts"
import type { Passage } from "../model/Passage.ts"
import { isPaged, scanMarkup } from "./chunk/markup.ts"
import { addCode } from "./chunk/code.ts"
import { addData } from "./chunk/data.ts"
import { scanMarkdown } from "./chunk/markdown.ts"
import { type Measure, measure, type Unit } from "./chunk/unit.ts"
import { type PassageSink, passageSink } from "./chunk/passages.ts"
import { addProse, eachParagraph } from "./chunk/prose.ts"
import { addSections, openItems } from "./chunk/sections.ts"
import { frontMatterSpan } from "./frontMatter.ts"
import { trimEnd } from "../entries/scanning.ts"

export interface ChunkOptions {
  /** Most tokens of a passage, at least 1. */
  readonly size: number
  /** Most tokens that a passage repeats from the end of the previous one, less than `size`. */
  readonly overlap: number
  readonly format: Format
  /** Additive over pieces separated by white space. */
  readonly countTokens: (text: string) => number
  /** The language of code or data: a file's extension or a language's name. */
  readonly language?: string | undefined
}

/**
 * Cuts a document into passages, in order. Each is exactly the content at its span, and no content is lost except a
 * Markdown document's front matter, of which a description stays. No passage has more than `size` tokens, nor more than
 * eight times as many characters, but for what aligns a table's columns.
 */
export const chunk = (content: string, options: ChunkOptions): ReadonlyArray<Passage> => {
  const m = measure(content, options)
  const { format } = options
  const sink = passageSink(m, format === "code" || format === "data")
  switch (format) {
    case "markdown":
      addMarkdown(m, sink)
      break
    case "asciidoc":
    case "rst":
    case "org":
      addSections(m, (found) => scanMarkup(content, format, found), sink)
      break
    case "code":
      addCode(m, options.language, sink)
      break
    case "data":
      addData(m, options.language, sink)
      break
    case "text":
      if (isPaged(content)) addSections(m, (found) => scanMarkup(content, "paged", found), sink)
      else addText(m, sink)
  }
  return sink.passages
}

/** What a page says in its front matter that it is about, often in words that it has nowhere else. */
const described =
  /^(?:description|summary|subtitle|abstract|excerpt)[ \t]*[:=][ \t]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(?!(?:null|true|false|~)?[ \t]*(?:#.*)?$)([^\s"'|>&*!{[#][^\r\n]*(?:\r?\n[ \t]+[^\s#][^\r\n]*)*)|[|>][-+\d]*[ \t]*\r?\n[ \t]+(\S[^\r\n]*(?:\r?\n[ \t]+\S[^\r\n]*)*))/dim

const addMarkdown = (m: Measure, sink: PassageSink): void => {
  const front = frontMatterSpan(m.text)
  const [, ...spans] = described.exec(front?.body ?? "")?.indices ?? []
  const found = spans.find((span) => span !== undefined)
  if (front !== undefined && found !== undefined) {
    const body = m.text.indexOf(front.body)
    const [start, most] = [body + found[0], body + found[1]]
    const comment = spans[2] === undefined ? -1 : m.text.slice(start, most).search(/[ \t]#/)
    const units: Array<Unit> = []
    addProse(m, units, { start, end: trimEnd(m.text, start, comment < 0 ? most : start + comment), flow: 1 })
    sink.add(units, () => [])
  }
  addSections(m, (found) => scanMarkdown(m.text, front?.end ?? 0, found), sink, openItems(m.text))
}

const addText = (m: Measure, sink: PassageSink): void => {
  const units: Array<Unit> = []
  eachParagraph(m.text, 0, m.text.length, (start, end) => addProse(m, units, { start, end, flow: 1 }))
  sink.add(units, () => [])
}
