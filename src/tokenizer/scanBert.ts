import type { Model } from "./model.ts"
import type { Normalize } from "./normalize.ts"
import { longestPiece, PieceCache } from "./pieceCache.ts"
import type { PreTokenize } from "./preTokenize.ts"
import { hashSeed, hashStep } from "./hash.ts"
import type { TokenIds } from "./tokenIds.ts"
import type { Scan } from "./scan.ts"
import type { BertNormalizer } from "./TokenizerJson.ts"

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

const kindAt = (text: string, i: number): number => {
  const unit = text.charCodeAt(i)
  return unit < 128 ? kinds[unit]! : control
}

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

  const look = (
    text: string,
    start: number,
    end: number,
    hash: number,
    folding: Uint8Array | undefined,
    out: TokenIds | undefined
  ): number => {
    const short = end - start <= longestPiece
    let entry = short ? cache.find(text, start, end, hash, folding) : -1
    if (entry === -1) {
      const ids: Array<number> = []
      const raw = text.slice(start, end)
      const size = folding === undefined ? tokenizeStretch(raw, ids) : tokenizeWord(raw, ids)
      if (!short) {
        if (out !== undefined) for (const id of ids) out.push(id)
        return size
      }
      entry = cache.add(text, start, end, hash, folding, { ids, size })
    }
    if (out !== undefined) cache.copy(entry, out)
    return cache.size(entry)
  }

  return (text, start, end, out) => {
    let size = 0
    let i = start
    while (i < end) {
      const unit = text.charCodeAt(i)
      let kind = unit < 128 ? kinds[unit]! : control
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
          hash = hashStep(hash, fold[text.charCodeAt(i)]!)
          if (++i === end) break
          kind = kindAt(text, i)
        }
      }
      if (i === end || kind !== control) {
        size += look(text, from, i, hash, fold, out)
        continue
      }
      hash = hashSeed
      for (i = from; i < end; i++) {
        kind = kindAt(text, i)
        if (kind === space || kind === punctuation) break
        hash = hashStep(hash, text.charCodeAt(i))
      }
      size += look(text, from, i, hash, undefined, out)
    }
    return size
  }
}
