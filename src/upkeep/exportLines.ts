import { type promises, read as readFrom } from "node:fs"
import { Readable } from "node:stream"
import { createGunzip } from "node:zlib"

const mebibyte = 1024 * 1024

/** A longer line cannot be a useful document. */
const longestLine = 512 * mebibyte

/** The first line names the collections. */
const longestHeader = 16 * mebibyte

type Opened = promises.FileHandle

/** A stream of its own over a file that stays open. */
const bytesOf = (file: Opened): Readable => {
  let at = 0
  return new Readable({
    read(size) {
      readFrom(file.fd, Buffer.allocUnsafe(size), 0, size, at, (error, length, bytes) => {
        if (error !== null) return this.destroy(error)
        at += length
        return this.push(length === 0 ? null : bytes.subarray(0, length))
      })
    }
  })
}

/**
 * The lines of an open file; its first bytes tell whether it is compressed with gzip. Fails if it holds more than `most`
 * bytes when it is not, or a line more than `longest`.
 */
export async function* linesOf(file: Opened, most = Infinity, longest = longestLine): AsyncGenerator<string> {
  const { buffer: head } = await file.read(Buffer.alloc(2), 0, 2, 0)
  const bytes = bytesOf(file)
  const isGzip = head[0] === 0x1f && head[1] === 0x8b
  const content = isGzip ? bytes.pipe(createGunzip()) : bytes
  // A pipe passes no error on.
  if (isGzip) bytes.on("error", (error) => content.destroy(error))
  try {
    let parts: Array<Buffer> = []
    let length = 0
    let whole = 0
    let bound = longestHeader
    for await (const chunk of content as AsyncIterable<Buffer>) {
      whole += chunk.length
      if (whole > most) throw new Error(`it unpacks to more than ${most} bytes`)
      let from = 0
      for (let to = chunk.indexOf(10); to >= 0; to = chunk.indexOf(10, from)) {
        yield Buffer.concat([...parts, chunk.subarray(from, to)]).toString("utf8")
        parts = []
        length = 0
        bound = longest
        from = to + 1
      }
      parts.push(chunk.subarray(from))
      length += chunk.length - from
      if (length > bound) throw new Error(`it has a line of more than ${bound} bytes`)
    }
    if (length > 0) yield Buffer.concat(parts).toString("utf8")
  } finally {
    bytes.destroy()
    content.destroy()
  }
}
