import { parseFragment } from "parse5"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter, oneLine } from "./MarkdownWriter.ts"
import { textOf } from "./html/inline.ts"

const timing = /^(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})[ \t]+-->[ \t]+\S/

const sentenceEnd = /[.!?…。！？]["'”’»)\]]*$/

/** A pause that separates topics, in milliseconds. */
const pause = 4000

/** Characters after which a paragraph ends at the next sentence. */
const paragraph = 500

/** SubRip and WebVTT: cues joined to sentences and paragraphs, each with its start time. */
export const subtitles = (text: string): Extracted => {
  const writer = new MarkdownWriter()
  let said = ""
  let last = -1
  let time = 0
  let spoken = ""
  const flush = () => {
    writer.paragraph(said)
    said = ""
  }
  let inCue = false
  let cues = 0
  for (const line of text.split(/\r\n|\n|\r/)) {
    const found = timing.exec(line.trim())
    if (found !== null) {
      const [, hours = "0", minutes, seconds, fraction] = found
      time = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(fraction!.padEnd(3, "0"))
      if (last >= 0 && time - last > pause) flush()
      last = time
      inCue = true
      cues++
      continue
    }
    if (line.trim() === "") inCue = false
    if (!inCue) continue
    const words = oneLine(
      line
        .replace(/<[^<>]*>|\{\\[^{}]*\}/g, "")
        .replace(/&(?:[a-z][a-z0-9]{1,30}|#\d{1,7}|#x[0-9a-f]{1,6});/gi, (sign) => textOf(parseFragment(sign)))
    )
    // Rolling captions repeat each line.
    if (words === "" || words === spoken) continue
    spoken = words
    if (said === "") writer.at({ locator: { _tag: "Time", time } })
    said = said === "" ? words : `${said} ${words}`
    if (said.length > paragraph && sentenceEnd.test(said)) flush()
  }
  flush()
  if (cues === 0) throw new NotExtracted("not subtitles: no line has a time")
  return { text: writer.text, metadata: {}, marks: writer.marks }
}
