import type { AddedMatch } from "./addedTokens.ts"
import type { Model } from "./model.ts"
import type { Normalize } from "./normalize.ts"
import { longestPiece, PieceCache } from "./pieceCache.ts"
import type { PreTokenize } from "./preTokenize.ts"
import type { Scan } from "./scan.ts"
import { hashSeed, hashStep } from "./hash.ts"
import type { TokenIds } from "./tokenIds.ts"

/** For any pipeline: the whole range is normalised, then split, then each piece is tokenised or found in the cache. */
export const scanPieces = (
  normalize: Normalize,
  findAdded: ((text: string) => ReadonlyArray<AddedMatch>) | undefined,
  preTokenize: PreTokenize,
  model: Model
): Scan => {
  const cache = new PieceCache()

  const scanPiece = (piece: string, out: TokenIds | undefined): number => {
    const ids: Array<number> = []
    if (piece.length > longestPiece) {
      const size = model.tokenize(piece, ids)
      if (out !== undefined) for (const id of ids) out.push(id)
      return size
    }
    let hash = hashSeed
    for (let i = 0; i < piece.length; i++) hash = hashStep(hash, piece.charCodeAt(i))
    let entry = cache.find(piece, 0, piece.length, hash, undefined)
    if (entry === -1) {
      const size = model.tokenize(piece, ids)
      entry = cache.add(piece, 0, piece.length, hash, undefined, { ids, size })
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
      if (match.id !== model.unknownId) out?.push(match.id)
      size++
      at = match.end
    }
    return at < normalized.length
      ? size + scanSplit(normalized.slice(at), () => at === 0 && startsAsOriginal(), out)
      : size
  }
}
