/**
 * The same script in ASCII only: V8 stores one byte a character, and nothing can read the file in another encoding. What
 * esbuild leaves unescaped is in regular expressions, where an escape means the same.
 */
export const ascii = (code) => {
  const raw = /\.raw`[^`]*[^\0-\x7f][^`]*`/.exec(code)
  // String.raw would return the escape itself.
  if (raw !== null) throw new Error(`Write the characters beyond ASCII as \\u escapes: ${raw[0]}`)
  const escaped = code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  if (Buffer.byteLength(escaped) !== escaped.length) throw new Error("The program is not ASCII alone")
  return escaped
}
