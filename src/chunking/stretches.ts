const stretch = 65_536

/** A text in pieces for processing in steps; none splits a character. */
export function* stretches(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + stretch)
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++
    yield text.slice(from, to)
    from = to
  }
}

/** A text in pieces of whole lines. */
export function* lineStretches(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const feed = text.indexOf("\n", from + stretch)
    const to = feed === -1 ? text.length : feed + 1
    yield text.slice(from, to)
    from = to
  }
}
