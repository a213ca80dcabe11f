/** The JSON of an answer. Numbers that JSON does not have, which Python writes as NaN and Infinity, are null. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const known = text.replace(/-?\b(?:NaN|Infinity)\b/g, "null")
    if (known === text) throw error
    return parsed(known)
  }
}
