/**
 * The same script in ASCII alone: V8 keeps a byte a character of it, and no reader of the file can take it for another
 * encoding. What esbuild leaves as it is stands in regular expressions, where an escape means the same.
 */
export const ascii = (code) => {
  const raw = /\.raw`[^`]*[^\0-\x7f][^`]*`/.exec(code)
  // The escape would be in the text that String.raw gives.
  if (raw !== null) throw new Error(`Write the characters beyond ASCII as \\u escapes: ${raw[0]}`)
  const escaped = code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  if (Buffer.byteLength(escaped) !== escaped.length) throw new Error("The program is not ASCII alone")
  return escaped
}
