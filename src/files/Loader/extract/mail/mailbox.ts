const newline = 10
const from_ = [0x46, 0x72, 0x6f, 0x6d, 0x20]

/** The mails of a mailbox, with their first lines. `From ` at the start of a line, after a blank line, separates them. */
export function* mailsOf(bytes: Uint8Array): Generator<{ readonly line: number; readonly bytes: Uint8Array }> {
  let start = -1
  let startLine = 1
  let line = 1
  let blank = true
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(newline, at)
    const next = end < 0 ? bytes.length : end + 1
    if (blank && from_.every((byte, i) => bytes[at + i] === byte)) {
      if (start >= 0) yield { line: startLine, bytes: bytes.subarray(start, at) }
      start = next
      startLine = line + 1
    }
    blank = next - at <= 1 || (next - at === 2 && bytes[at] === 13)
    at = next
    line++
  }
  if (start >= 0) yield { line: startLine, bytes: bytes.subarray(start) }
}
