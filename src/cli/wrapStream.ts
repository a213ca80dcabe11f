import { widthOf } from "./wrap.ts"

/** Wraps a text that comes in fragments to a width. */
export interface WrapStream {
  /** What can be shown so far: all but the last word, which may continue. */
  readonly push: (fragment: string) => string
  /** The rest. */
  readonly end: () => string
}

const unspaced = "\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}"
/** A line's end, blanks, a word, or a character of a script without blanks. */
const parts = new RegExp(`\\n|[^\\S\\n]+|[${unspaced}]|[^\\s${unspaced}]+`, "gu")
const complete = new RegExp(`^(?:\\n|[${unspaced}])$`, "u")

/** A word is shown once its end is known; one wider than a line gets its own line. Line ends of the text stay. */
export const wrapStream = (width: number): WrapStream => {
  let pending = ""
  let blanks = ""
  let column = 0

  const place = (part: string): string => {
    if (part === "\n") {
      column = 0
      blanks = ""
      return part
    }
    if (part.trim() === "") {
      blanks += part
      return ""
    }
    const own = widthOf(part)
    const before = widthOf(blanks)
    const breaks = column > 0 && column + before + own > width && (blanks !== "" || complete.test(part))
    const shown = breaks ? `\n${part}` : blanks + part
    column = breaks ? own : column + before + own
    blanks = ""
    return shown
  }

  return {
    push: (fragment) => {
      pending += fragment
      const found = pending.match(parts) ?? []
      const last = found.at(-1)
      const held = last === undefined || complete.test(last) ? "" : last
      pending = held
      return found
        .slice(0, held === "" ? undefined : -1)
        .map(place)
        .join("")
    },
    end: () => {
      const rest = pending
      pending = ""
      return (rest.match(parts) ?? []).map(place).join("")
    }
  }
}
