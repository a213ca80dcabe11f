// oxlint-disable-next-line no-restricted-imports -- no other check of UTF-8 leaves the text unmade
import { isUtf8 } from "node:buffer"
import { limits } from "./Limits.ts"
import { withoutPause } from "./withoutPause.ts"

/** Why bytes are rejected as JSON; with a path if the reason concerns one value. */
export class JsonFault {
  readonly reason: string
  readonly path: ReadonlyArray<string | number> | undefined

  /** Whether it is invalid JSON, rather than JSON beyond the limits. */
  get isSyntax(): boolean {
    return this.reason.startsWith("is not JSON") || this.reason.startsWith("is not UTF-8")
  }

  constructor(reason: string, path?: ReadonlyArray<string | number>) {
    this.reason = reason
    this.path = path
  }
}

interface Frame {
  readonly container: Array<unknown> | Record<string, unknown>
  key: string
  size: number
}

/** Bytes read between two pauses. */
const stretch = 65_536
const longestNumber = 400
const { depth, keys, values } = limits.json

const whitespace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** The bytes of numbers and of true, false and null. */
const isToken = (byte: number | undefined) =>
  byte !== undefined &&
  ((byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    byte === 0x45)

const clipped = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** What a number loses as a double, if anything; extra digits of a fraction are not a loss. */
const lossOf = (token: string, value: number): string | undefined => {
  if (!Number.isFinite(value)) return "is too large for a number"
  if (value === 0 && /[1-9]/.test(token.split(/e/i)[0]!)) return "is too small for a number"
  return /^-?\d{16,}$/.test(token) && String(value) !== token && BigInt(token) !== BigInt(value)
    ? "would change, being beyond 2^53"
    : undefined
}

/**
 * Reads JSON in UTF-8 like JSON.parse, but within limits and in pieces: it yields where the event loop may run. Throws
 * JsonFault at once if the bytes are invalid JSON, nest deeper, contain more values, or an object has more keys than
 * `limits.json` allows, if a number would change, and, unless `keepsProto`, for a key `__proto__`.
 */
export function* readJson(bytes: Buffer, keepsProto = false): Generator<undefined, unknown> {
  if (!isUtf8(bytes)) throw new JsonFault("is not UTF-8")
  const frames: Array<Frame> = []
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  let pause = at + stretch
  let count = 0

  const skip = () => {
    while (whitespace(bytes[at])) at++
    return bytes[at]
  }
  const path = () => frames.map(({ container, key }) => (Array.isArray(container) ? container.length : clipped(key)))
  const unexpected = (wanted: string) =>
    new JsonFault(
      at >= bytes.length
        ? `is not JSON: it ends before it is complete (byte ${at})`
        : `is not JSON: expected ${wanted} at byte ${at}, found ${JSON.stringify(bytes.toString("utf8", at, at + 20))}`
    )
  /** Decodes a string's bytes, which contain only complete escapes. */
  const decode = (from: number, to: number): string => {
    try {
      return JSON.parse(`"${bytes.toString("utf8", from, to)}"`) as string
    } catch {
      throw new JsonFault(`is not JSON: the string at byte ${from} has a bad escape or a control character`)
    }
  }
  /** Moves to the next quote that ends a string, or past `until`; never into an escape. */
  const seek = (until: number) => {
    while (at < until && bytes[at] !== 0x22) at += bytes[at] !== 0x5c ? 1 : bytes[at + 1] === 0x75 ? 6 : 2
    return at < until && bytes[at] === 0x22
  }
  function* longString(from: number): Generator<undefined, string> {
    const parts: Array<string> = []
    for (let begin = from; ;) {
      const ended = seek(Math.min(bytes.length, begin + stretch))
      if (!ended && at >= bytes.length) throw unexpected("the end of a string")
      // Does not split a character.
      if (!ended) while ((bytes[at]! & 0xc0) === 0x80) at++
      parts.push(decode(begin, at))
      if (ended) return parts.join("")
      begin = at
      yield
    }
  }
  function* string(): Generator<undefined, string> {
    const from = ++at
    let text: string
    if (seek(Math.min(bytes.length, at + stretch))) text = decode(from, at)
    else {
      at = from
      text = yield* longString(from)
    }
    at++
    return text
  }
  const token = (): unknown => {
    const from = at
    while (isToken(bytes[at]) && at - from <= longestNumber) at++
    if (at - from > longestNumber)
      throw new JsonFault(`has a word or number of over ${longestNumber} characters`, path())
    const text = bytes.toString("latin1", from, at)
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      at = from
      throw unexpected("a value")
    }
    const loss = typeof value === "number" ? lossOf(text, value) : undefined
    if (loss === undefined) return value
    throw new JsonFault(`the number ${clipped(text)} ${loss}; send it as a string`, path())
  }
  function* key(frame: Frame): Generator<undefined, void> {
    if (skip() !== 0x22) throw unexpected("a key")
    if (++frame.size > keys) throw new JsonFault(`an object has at most ${keys} keys`, path().slice(0, -1))
    frame.key = yield* string()
    // An assignment would set the object's prototype.
    if (frame.key === "__proto__" && !keepsProto) throw new JsonFault('has a key "__proto__", which cannot be kept')
    if (skip() !== 0x3a) throw unexpected('":"')
    at++
  }

  for (;;) {
    if (at >= pause) {
      yield
      pause = at + stretch
    }
    if (++count > values) throw new JsonFault(`holds more than ${values} values; send it in smaller parts`)
    const byte = skip()
    let value: unknown
    if (byte === 0x7b || byte === 0x5b) {
      if (frames.length === depth) throw new JsonFault(`is nested deeper than ${depth} levels`)
      const frame: Frame = { container: byte === 0x5b ? [] : {}, key: "", size: 0 }
      at++
      if (skip() !== byte + 2) {
        frames.push(frame)
        if (byte === 0x7b) yield* key(frame)
        continue
      }
      at++
      value = frame.container
    } else value = byte === 0x22 ? yield* string() : token()

    // The end of a value may also end its parents.
    for (;;) {
      const frame = frames.at(-1)
      const next = skip()
      if (frame === undefined) {
        if (at < bytes.length) throw unexpected("nothing more")
        return value
      }
      const { container } = frame
      if (Array.isArray(container)) container.push(value)
      else if (frame.key !== "__proto__") container[frame.key] = value
      else Object.defineProperty(container, frame.key, { value, enumerable: true, writable: true, configurable: true })
      if (next === 0x2c) {
        at++
        if (!Array.isArray(container)) yield* key(frame)
        break
      }
      if (next !== (Array.isArray(container) ? 0x5d : 0x7d))
        throw unexpected(Array.isArray(container) ? '"," or "]"' : '"," or "}"')
      at++
      frames.pop()
      value = container
    }
  }
}

/** The result of `readJson`, or the reason for its failure, without pauses. */
export const readJsonAtOnce = (
  bytes: Buffer,
  keepsProto = false
): { readonly value: unknown } | { readonly fault: JsonFault } => {
  try {
    return { value: withoutPause(readJson(bytes, keepsProto)) }
  } catch (fault) {
    if (fault instanceof JsonFault) return { fault }
    throw fault
  }
}
