const begin = "<think>"
const end = "</think>"

/** How many characters at the end of a text may be the beginning of a mark. */
const partOf = (text: string, mark: string): number => {
  for (let length = Math.min(text.length, mark.length - 1); length > 0; length--) {
    if (mark.startsWith(text.slice(-length))) return length
  }
  return 0
}

/** Takes fragments of an answer and returns what can be shown; at the end, `rest` is what was held back. */
interface Spoken {
  readonly next: (fragment: string) => string
  readonly rest: () => string
}

/**
 * The answer without a model's thinking before it, between `<think>` and `</think>`, even if fragments split the marks.
 * The marks only count at the beginning; later they are part of the answer.
 */
export const spoken = (): Spoken => {
  let state: "beginning" | "thinking" | "after" | "answer" = "beginning"
  let held = ""
  const next = (fragment: string): string => {
    if (state === "answer") return fragment
    held += fragment
    if (state === "beginning") {
      const text = held.trimStart()
      if (text.startsWith(begin)) {
        state = "thinking"
        held = text.slice(begin.length)
      } else if (begin.startsWith(text)) return ""
      else {
        state = "answer"
        return held
      }
    }
    if (state === "thinking") {
      const at = held.indexOf(end)
      if (at === -1) {
        held = held.slice(held.length - partOf(held, end))
        return ""
      }
      state = "after"
      held = held.slice(at + end.length)
    }
    held = held.trimStart()
    if (held === "") return ""
    state = "answer"
    return held
  }
  return { next, rest: () => (state === "beginning" ? held : "") }
}
