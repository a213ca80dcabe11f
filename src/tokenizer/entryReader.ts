import { hashSeed, hashStep } from "./hash.ts"
import { byte, skipSpace, stringEnd } from "./jsonSpan.ts"
import { UnsupportedTokenizer } from "./UnsupportedTokenizer.ts"

const largestId = 2 ** 31 - 1

/**
 * Reads the object `{"token": id, …}` or the list `[["token", score], …]` at an offset in UTF-8. One call per entry,
 * because a method that is called often is compiled long before a loop that runs often.
 */
export class EntryReader {
  /** The offset after the last entry read. */
  at: number
  /** The entry's token, as a range of the bytes with its hash, and its number. */
  start = 0
  end = 0
  hash = 0
  number = 0
  readonly listed: boolean
  private readonly json: Uint8Array
  private readonly close: number

  /** Escaped tokens are unescaped in place, so the reader must own the bytes. */
  constructor(json: Uint8Array, at: number) {
    this.json = json
    this.listed = json[at] === byte.openBracket
    this.close = this.listed ? byte.closeBracket : byte.closeBrace
    this.at = skipSpace(json, at + 1)
  }

  /** False if there is no further entry. Throws UnsupportedTokenizer if there is anything else. */
  next(): boolean {
    return this.nextPlain() || this.nextAny()
  }

  /** Reads `"token":id,` without spaces and escapes, the usual form: half of a model's loading time is spent here. */
  private nextPlain(): boolean {
    const { json } = this
    let at = this.at
    if (this.listed || json[at] !== byte.quote) return false
    const start = ++at
    let hash = hashSeed
    let c = json[at]
    for (; c !== byte.quote; c = json[++at]) {
      if (c === byte.backslash || c === undefined) return false
      hash = hashStep(hash, c)
    }
    const end = at++
    if (json[at++] !== byte.colon) return false
    const digits = at
    let number = 0
    for (c = json[at]; c! >= 0x30 && c! <= 0x39; c = json[++at]) number = number * 10 + c! - 0x30
    if (at === digits || c !== byte.comma || number > largestId) return false
    this.start = start
    this.end = end
    this.hash = hash
    this.number = number
    this.at = at + 1
    return true
  }

  private nextAny(): boolean {
    const { json, listed } = this
    const entry = this.at
    if (json[entry] === this.close) {
      this.at++
      return false
    }
    let at = entry
    if (listed) at = json[at] === byte.openBracket ? skipSpace(json, at + 1) : this.fail(entry)
    if (json[at] !== byte.quote) this.fail(entry)
    at = skipSpace(json, this.readToken(at + 1) + 1)
    if (json[at] !== (listed ? byte.comma : byte.colon)) this.fail(entry)
    at = this.readNumber(skipSpace(json, at + 1))
    const { number } = this
    const fits = listed ? Number.isFinite(number) : Number.isInteger(number) && number >= 0 && number <= largestId
    if (!fits) this.fail(entry)
    at = skipSpace(json, at)
    if (listed) at = json[at] === byte.closeBracket ? skipSpace(json, at + 1) : this.fail(entry)
    if (json[at] === byte.comma) at = skipSpace(json, at + 1)
    else if (json[at] !== this.close) this.fail(entry)
    this.at = at
    return true
  }

  /** Returns the offset of the closing quote. */
  private readToken(start: number): number {
    const { json } = this
    let hash = hashSeed
    let at = start
    for (; json[at] !== byte.quote && json[at] !== byte.backslash && at < json.length; at++)
      hash = hashStep(hash, json[at]!)
    this.start = start
    this.end = at
    this.hash = hash
    return json[at] === byte.quote ? at : this.readEscaped(start)
  }

  private readEscaped(start: number): number {
    const close = stringEnd(this.json, start - 1)
    const escaped = new TextDecoder().decode(this.json.subarray(start - 1, close + 1))
    let token: unknown
    try {
      token = JSON.parse(escaped)
    } catch {
      this.fail(start - 1)
    }
    const { written } = new TextEncoder().encodeInto(String(token), this.json.subarray(start, close))
    this.end = start + written
    this.hash = hashSeed
    for (let i = start; i < this.end; i++) this.hash = hashStep(this.hash, this.json[i]!)
    return close
  }

  /** Returns the offset after the number, which is NaN if there is none. */
  private readNumber(start: number): number {
    const { json } = this
    let at = start
    let value = 0
    for (; json[at]! >= 0x30 && json[at]! <= 0x39; at++) value = value * 10 + json[at]! - 0x30
    const digits = at
    while (
      json[at]! > 0x20 &&
      json[at] !== byte.comma &&
      json[at] !== byte.closeBracket &&
      json[at] !== byte.closeBrace
    ) {
      at++
    }
    this.number =
      at === start
        ? NaN
        : at === digits
          ? value
          : Number(String.fromCharCode(...json.subarray(start, Math.min(at, start + 40))))
    return at
  }

  private fail(at: number): never {
    const found = new TextDecoder().decode(this.json.subarray(at, at + 32))
    throw new UnsupportedTokenizer({
      reason:
        `model.vocab is damaged at byte ${at} of ${this.json.length}: ` +
        `expected a token and its ${this.listed ? "score" : "id"}, found ${found === "" ? "the end" : JSON.stringify(found)}`
    })
  }
}
