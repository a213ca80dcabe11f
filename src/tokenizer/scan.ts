import { escape } from "effect/RegExp"
import { copying } from "../model/units.ts"
import type { AddedToken, BertNormalizer } from "./TokenizerJson.ts"
import { hashSeed, hashSlot, hashStep, type Model, type Scan, type TokenIds } from "./model.ts"
import type { Normalize } from "./normalize.ts"
import type { PreTokenize } from "./preTokenize.ts"

const capacity = 1 << 16
const mask = capacity * 2 - 1
const entryWords = 10

/** Most UTF-16 units of a text for which an array is kept. */
const keptUnits = 1 << 14

/** Longer pieces are not worth caching. */
const longestPiece = 64

/**
 * The tokens of previous pieces, so that each word is tokenised once. All of an entry is in one place, since most of the
 * time of a look-up is waiting for memory: its hash; the numbers of its units, ids and tokens; its UTF-16 units, two to a
 * word; its ids. Looking up a part of a text allocates nothing, and the cache keeps no text alive. It is emptied when
 * full, at about 3 MB.
 */
class PieceCache {
  private count = 0
  private used = 1
  /** Where the entry begins, 0 for a free slot. */
  private readonly slots = new Int32Array(mask + 1)
  private readonly words = new Int32Array(entryWords * capacity)
  private readonly units = new Uint16Array(this.words.buffer)

  /**
   * The entry of a range of units, 0 if there is none. `fold` maps each unit to the one used for hashing and adding;
   * without it, units are unchanged.
   */
  find(units: Uint16Array, start: number, end: number, hash: number, fold: Uint8Array | undefined): number {
    const { slots, units: keys, words } = this
    const length = end - start
    search: for (let slot = hashSlot(hash, mask); slots[slot] !== 0; slot = (slot + 1) & mask) {
      const entry = slots[slot]!
      if (words[entry] !== hash || (words[entry + 1]! & 0xff) !== length) continue
      const key = 2 * (entry + 2)
      for (let i = 0; i < length; i++) {
        const unit = units[start + i]!
        if (keys[key + i] !== (fold === undefined ? unit : fold[unit])) continue search
      }
      return entry
    }
    return 0
  }

  /** Adds a piece of at most `longestPiece` units that is not cached yet, and returns its entry. */
  add(
    units: Uint16Array,
    start: number,
    end: number,
    hash: number,
    fold: Uint8Array | undefined,
    { ids, size }: { readonly ids: ReadonlyArray<number>; readonly size: number }
  ): number {
    const length = end - start
    const idsFrom = 2 + ((length + 1) >> 1)
    if (this.count === capacity || this.used + idsFrom + ids.length > this.words.length) {
      this.slots.fill(0)
      this.count = 0
      this.used = 1
    }
    this.count++
    const entry = this.used
    this.used += idsFrom + ids.length
    this.words[entry] = hash
    this.words[entry + 1] = length | (ids.length << 8) | (size << 20)
    for (let i = 0; i < length; i++) {
      const unit = units[start + i]!
      this.units[2 * (entry + 2) + i] = fold === undefined ? unit : fold[unit]!
    }
    this.words.set(ids, entry + idsFrom)
    let slot = hashSlot(hash, mask)
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask
    this.slots[slot] = entry
    return entry
  }

  size(entry: number): number {
    return this.words[entry + 1]! >>> 20
  }

  /** Appends the entry's ids. */
  copy(entry: number, out: TokenIds): void {
    const numbers = this.words[entry + 1]!
    const start = entry + 2 + (((numbers & 0xff) + 1) >> 1)
    const end = start + ((numbers >>> 8) & 0xfff)
    for (let i = start; i < end; i++) out.push(this.words[i]!)
  }
}

/** An occurrence of an added token in a text. */
interface AddedMatch {
  readonly start: number
  readonly end: number
  readonly id: number
}

const wordCharacter = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]/u
const trailingSpace = /(?<!\p{White_Space})\p{White_Space}+$/u
const leadingSpace = /^\p{White_Space}+/u

const characterBefore = (text: string, at: number): string => {
  const unit = text.slice(Math.max(0, at - 1), at)
  return /[\udc00-\udfff]/.test(unit) ? text.slice(Math.max(0, at - 2), at) : unit
}

/**
 * Finds added tokens, leftmost first, and the longest of those that start together. A token for whole words is not
 * matched within a word. Undefined if there are no added tokens.
 */
export const addedTokens = (
  tokens: ReadonlyArray<AddedToken>
): ((text: string) => ReadonlyArray<AddedMatch>) | undefined => {
  const byContent = new Map(tokens.filter((token) => token.content !== "").map((token) => [token.content, token]))
  if (byContent.size === 0) return undefined
  const longestFirst = [...byContent.keys()].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map(escape).join("|"), "g")

  return (text) => {
    const matches: Array<AddedMatch> = []
    let after = 0
    for (const match of text.matchAll(pattern)) {
      const token = byContent.get(match[0])!
      let start = match.index
      let end = start + match[0].length
      if (
        token.single_word &&
        (wordCharacter.test(characterBefore(text, start)) ||
          wordCharacter.test(String.fromCodePoint(text.codePointAt(end) ?? 0x20)))
      ) {
        continue
      }
      if (token.lstrip) start -= trailingSpace.exec(text.slice(after, start))?.[0].length ?? 0
      if (token.rstrip) end += leadingSpace.exec(text.slice(end))?.[0].length ?? 0
      if (start < after) start = after
      matches.push({ start, end, id: token.id })
      after = end
    }
    return matches
  }
}

/**
 * For any pipeline: the whole range is normalised, then split, then each piece is tokenised or found in the cache. An
 * added token with the id `omitted` is left out.
 */
export const scanPieces = (
  normalize: Normalize,
  findAdded: ((text: string) => ReadonlyArray<AddedMatch>) | undefined,
  preTokenize: PreTokenize,
  model: Model,
  omitted: number | undefined
): Scan => {
  const cache = new PieceCache()
  const units = new Uint16Array(longestPiece)

  const scanPiece = (piece: string, out: TokenIds | undefined): number => {
    const ids: Array<number> = []
    if (piece.length > longestPiece) {
      const size = model.tokenize(piece, ids)
      if (out !== undefined) for (const id of ids) out.push(id)
      return size
    }
    let hash = hashSeed
    for (let i = 0; i < piece.length; i++) {
      const unit = piece.charCodeAt(i)
      units[i] = unit
      hash = hashStep(hash, unit)
    }
    let entry = cache.find(units, 0, piece.length, hash, undefined)
    if (entry === 0) {
      const size = model.tokenize(piece, ids)
      entry = cache.add(units, 0, piece.length, hash, undefined, { ids, size })
    }
    if (out !== undefined) cache.copy(entry, out)
    return cache.size(entry)
  }

  const scanSplit = (text: string, first: () => boolean, out: TokenIds | undefined): number => {
    let size = 0
    for (const piece of preTokenize(text, first)) size += scanPiece(piece, out)
    return size
  }

  return (text, start, end, out) => {
    if (start === end) return 0
    const normalized = normalize(text.slice(start, end))
    // If the normalizer removes the first character, the text no longer starts as the original does.
    const startsAsOriginal = () => start === 0 && normalize(String.fromCodePoint(text.codePointAt(0)!)) !== ""
    let size = 0
    let at = 0
    for (const match of findAdded?.(normalized) ?? []) {
      if (match.start > at)
        size += scanSplit(normalized.slice(at, match.start), () => at === 0 && startsAsOriginal(), out)
      if (match.id !== omitted) out?.push(match.id)
      size++
      at = match.end
    }
    return at < normalized.length
      ? size + scanSplit(normalized.slice(at), () => at === 0 && startsAsOriginal(), out)
      : size
  }
}

const word = 0
const space = 1
const punctuation = 2
/** The normalizer removes or keeps it, so it must see it. */
const control = 3

const kinds = Uint8Array.from({ length: 128 }, (_, unit) => {
  const c = String.fromCharCode(unit)
  if (/[\t\n\r ]/.test(c)) return space
  if (/[a-zA-Z0-9]/.test(c)) return word
  return /[!-~]/.test(c) ? punctuation : control
})

const kindOf = (unit: number): number => (unit < 128 ? kinds[unit]! : control)

/**
 * BertNormalizer and BertPreTokenizer in one pass. ASCII words and punctuation are looked up directly. A stretch with
 * anything else, up to the next ASCII white space or punctuation, goes through the normalizer and the pre-tokenizer
 * once. The result is the same, since neither looks beyond white space or punctuation.
 */
export const scanBert = (
  options: BertNormalizer,
  normalize: Normalize,
  preTokenize: PreTokenize,
  model: Model
): Scan => {
  const cache = new PieceCache()
  const fold = Uint8Array.from({ length: 128 }, (_, unit) =>
    options.lowercase && unit >= 65 && unit <= 90 ? unit + 32 : unit
  )

  const tokenizeStretch = (stretch: string, ids: Array<number>): number => {
    let size = 0
    for (const piece of preTokenize(normalize(stretch), () => false)) size += model.tokenize(piece, ids)
    return size
  }
  const tokenizeWord = (raw: string, ids: Array<number>): number =>
    model.tokenize(options.lowercase ? raw.toLowerCase() : raw, ids)

  const copy = copying(keptUnits)

  const look = (
    text: string,
    units: Uint16Array,
    from: number,
    start: number,
    end: number,
    hash: number,
    folding: Uint8Array | undefined,
    out: TokenIds | undefined
  ): number => {
    const short = end - start <= longestPiece
    let entry = short ? cache.find(units, start, end, hash, folding) : 0
    if (entry === 0) {
      const ids: Array<number> = []
      const raw = text.slice(from + start, from + end)
      const size = folding === undefined ? tokenizeStretch(raw, ids) : tokenizeWord(raw, ids)
      if (!short) {
        if (out !== undefined) for (const id of ids) out.push(id)
        return size
      }
      entry = cache.add(units, start, end, hash, folding, { ids, size })
    }
    if (out !== undefined) cache.copy(entry, out)
    return cache.size(entry)
  }

  return (text, first, last, out) => {
    const units = copy(text, first, last)
    const end = last - first
    let size = 0
    let i = 0
    while (i < end) {
      let unit = units[i]!
      let kind = kindOf(unit)
      if (kind === space) {
        i++
        continue
      }
      const from = i
      let hash = hashSeed
      if (kind === punctuation) {
        hash = hashStep(hash, unit)
        i++
      } else {
        while (kind === word) {
          hash = hashStep(hash, fold[unit]!)
          if (++i === end) break
          unit = units[i]!
          kind = kindOf(unit)
        }
      }
      if (i === end || kind !== control) {
        size += look(text, units, first, from, i, hash, fold, out)
        continue
      }
      hash = hashSeed
      for (i = from; i < end; i++) {
        unit = units[i]!
        kind = kindOf(unit)
        if (kind === space || kind === punctuation) break
        hash = hashStep(hash, unit)
      }
      size += look(text, units, first, from, i, hash, undefined, out)
    }
    return size
  }
}
