import { eachSentence } from "../chunking/sentences.ts"

/** Code, and what is no word: an option, a key, a name in camel case. */
const name = /`[^`\n]{1,200}`|(?<![\w.-])(?:--?[a-z]|[a-z][a-z\d]{0,80}(?:[._][a-z]|[A-Z]))/g

/** A text of the same length whose names have capitals, so that one can begin a sentence: "… without asking. `--force` …". */
export const capitalised = (text: string): string =>
  text.replace(name, (found) => (/^[`-]/.test(found) ? "A".repeat(found.length) : found.toUpperCase()))

/** A line that begins something of its own: an item, a heading, a quotation, a row, a fence, what has a mark before it. */
const begins = /^\s*(?:[-*+•]\s|\d{1,3}[.)]\s|[>#|]|`{3}|~{3})|^\f/
/** A line that ends something: a heading, a row, a statement of code, a full stop, two spaces, a mark after it. */
const ends = /^\s*(?:#|\||\*\*[^*]{1,200}\*\*\s?$)|[|;{}.!?:\u2026\u3002\uff01\uff1f]["'”’)\]*_]{0,3}\s?$|\s\s$|\f\s?$/
const fence = /^\s*(?:`{3}|~{3})/
/** AsciiDoc's and reStructuredText's line below a title. */
const underline = /^~+\s?$/

/**
 * Calls `visit` with the ends of a text's sentences, in order. A sentence goes on in the next line, unless one ends or
 * begins something there, or is code. Citation marks are form feeds.
 */
export const eachStated = (text: string, visit: (end: number) => void): void => {
  const capitals = capitalised(text)
  let isCode = false
  let isOpen = false
  let from = 0
  let at = 0
  for (const line of text.split("\n")) {
    const isFence: boolean = fence.test(line) && !(isOpen && underline.test(line))
    if (isFence) isCode = !isCode
    const isEmpty = !/[\p{L}\p{N}]/u.test(line)
    if (!isOpen || isEmpty || begins.test(line)) {
      eachSentence(capitals, from, at, visit)
      from = at
    }
    isOpen = !(isCode || isFence || isEmpty || ends.test(line))
    at += line.length + 1
  }
  eachSentence(capitals, from, text.length, visit)
}
