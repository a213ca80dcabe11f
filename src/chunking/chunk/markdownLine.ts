import { isSpace, skipSpace } from "../../entries/space.ts"

/** Columns of white space from `start` to `end`; a tab goes to the next multiple of four. */
export const columns = (text: string, start: number, end: number): number => {
  let column = 0
  for (let at = start; at < end; at++) column += text.charCodeAt(at) === 9 ? 4 - (column % 4) : 1
  return column
}

/** The number of repetitions of the character at `at`, at least 1. */
const run = (text: string, at: number, end: number): number => {
  const code = text.charCodeAt(at)
  let to = at + 1
  while (to < end && text.charCodeAt(to) === code) to++
  return to - at
}

/** Level of the ATX heading that begins at `at`, 0 for none; an empty heading does not count. */
export const atxLevel = (text: string, at: number, end: number): number => {
  if (text.charCodeAt(at) !== 35) return 0
  const level = run(text, at, end)
  return level <= 6 && isSpace(text.charCodeAt(at + level)) && skipSpace(text, at + level, end) < end ? level : 0
}

/** Level that a line of only `=` or `-` gives to the paragraph above it, 0 for any other line. */
export const setextLevel = (text: string, at: number, end: number): number => {
  const code = text.charCodeAt(at)
  if (code !== 61 && code !== 45) return 0
  return skipSpace(text, at + run(text, at, end), end) === end ? (code === 61 ? 1 : 2) : 0
}

/** Length of the fence of backticks or tildes at `at`, 0 for none; an opening fence may have an info string. */
export const fenceLength = (text: string, at: number, end: number, opens: boolean): number => {
  const code = text.charCodeAt(at)
  if (code !== 96 && code !== 126) return 0
  const length = run(text, at, end)
  if (length < 3) return 0
  const info = skipSpace(text, at + length, end)
  if (info === end) return length
  if (!opens) return 0
  const tick = code === 96 ? text.indexOf("`", info) : -1
  return tick >= 0 && tick < end ? 0 : length
}

/** `***`, `---` or `___`, with optional spaces. */
export const isRule = (text: string, at: number, end: number): boolean => {
  const code = text.charCodeAt(at)
  if (code !== 42 && code !== 45 && code !== 95) return false
  let marks = 0
  for (let i = at; i < end; i++) {
    if (text.charCodeAt(i) === code) marks++
    else if (!isSpace(text.charCodeAt(i))) return false
  }
  return marks >= 3
}

/** Whether a list item begins at `at`; in a paragraph, a numbered item must start with 1. */
export const isItem = (text: string, at: number, end: number, inParagraph: boolean): boolean => {
  const code = text.charCodeAt(at)
  const spaceAt = (i: number) => (i < end ? isSpace(text.charCodeAt(i)) : !inParagraph)
  if (code === 42 || code === 43 || code === 45) return spaceAt(at + 1)
  let to = at
  while (to < end && to - at < 9 && text.charCodeAt(to) >= 48 && text.charCodeAt(to) <= 57) to++
  if (to === at || (text[to] !== "." && text[to] !== ")") || !spaceAt(to + 1)) return false
  return !inParagraph || text.slice(at, to) === "1"
}

/** The row of dashes below the head of a table, the only row that identifies a table. */
export const isTableRule = (text: string, at: number, end: number): boolean => {
  let dashes = false
  let bars = false
  for (let i = at; i < end; i++) {
    const char = text.charAt(i)
    if (char === "-") dashes = true
    else if (char === "|") bars = true
    else if (char !== ":" && char !== " " && char !== "\t") return false
  }
  return dashes && bars
}

const blockTags =
  /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?=[\s>]|\/>|$)/i

const spans: ReadonlyArray<readonly [RegExp, string]> = [
  [/^<!--/, "-->"],
  [/^<\?/, "?>"],
  [/^<!\[CDATA\[/, "]]>"],
  [/^<![a-z]/i, ">"],
  [/^<script(?=[\s>]|$)/i, "</script>"],
  [/^<pre(?=[\s>]|$)/i, "</pre>"],
  [/^<style(?=[\s>]|$)/i, "</style>"],
  [/^<textarea(?=[\s>]|$)/i, "</textarea>"]
]

/** What ends the HTML block that begins at `at`: the returned text, or a blank line (""); undefined if none begins. */
export const htmlEnd = (text: string, at: number, end: number): string | undefined => {
  if (text.charCodeAt(at) !== 60) return undefined
  const line = text.slice(at, Math.min(end, at + 40))
  const span = spans.find(([begin]) => begin.test(line))
  return span !== undefined ? span[1] : blockTags.test(line) ? "" : undefined
}
