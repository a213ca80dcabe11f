/** The JSON of an answer ends before it is complete, as if its server had died. */
export class Cut extends Error {
  override readonly message = "it is incomplete"
}

/** Whether a text is the beginning of JSON: V8's error says so, or names the text's end as its place. */
export const isCut = (text: string): boolean => {
  try {
    if (text.trim() !== "") JSON.parse(text)
    return false
  } catch (error) {
    const { message } = error as SyntaxError
    return (
      message === "Unexpected end of JSON input" || Number(/at position (\d{1,12})/.exec(message)?.[1]) === text.length
    )
  }
}

/** The JSON of an answer. Numbers that JSON does not have, which Python writes as NaN and Infinity, are null. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (isCut(text)) throw new Cut()
    const known = text.replace(/-?\b(?:NaN|Infinity)\b/g, "null")
    if (known === text) throw error
    return parsed(known)
  }
}
