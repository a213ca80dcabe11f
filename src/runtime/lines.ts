/** One line of input without its line feed, or the two ends of a line that is too long. */
export type Frame =
  | { readonly _tag: "Line"; readonly bytes: Buffer }
  | { readonly _tag: "TooLong"; readonly head: Buffer; readonly tail: Buffer }

/** Bytes kept of each end of a line that is too long; enough for a message's id. */
export const kept = 512
const lineFeed = 0x0a

interface Splitter {
  /** Returns the lines that end in this chunk. */
  readonly push: (chunk: Buffer) => ReadonlyArray<Frame>
  /** Returns the rest as a line, at the end of input. */
  readonly end: () => ReadonlyArray<Frame>
  /** The line that has not ended, as far as it is kept. */
  readonly rest: () => Buffer
}

/** Splits a stream into lines, holding at most `maxBytes` of one; the rest of a longer line is dropped. */
export const makeSplitter = (maxBytes: number): Splitter => {
  let parts: Array<Buffer> = []
  let size = 0
  let head: Buffer | undefined

  const add = (part: Buffer) => {
    size += part.length
    if (size <= maxBytes) {
      parts.push(part)
      return
    }
    head ??= Buffer.from(Buffer.concat(parts).subarray(0, kept))
    if (head.length < kept) head = Buffer.concat([head, part.subarray(0, kept - head.length)])
    const last = parts.at(-1) ?? Buffer.alloc(0)
    parts = [Buffer.from(Buffer.concat([last.subarray(-kept), part.subarray(-kept)]).subarray(-kept))]
  }

  const take = (): Frame => {
    const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    const frame: Frame = head === undefined ? { _tag: "Line", bytes } : { _tag: "TooLong", head, tail: bytes }
    parts = []
    size = 0
    head = undefined
    return frame
  }

  return {
    push: (chunk) => {
      const frames: Array<Frame> = []
      let from = 0
      for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
        add(chunk.subarray(from, at))
        frames.push(take())
        from = at + 1
      }
      if (from < chunk.length) add(chunk.subarray(from))
      return frames
    },
    end: () => (size === 0 ? [] : [take()]),
    rest: () => Buffer.concat(parts)
  }
}
