import { hashSeed, hashStep } from "./hash.ts"
import { encoder, type Model, unknownSize } from "./model.ts"
import type { WordPiece } from "./TokenizerJson.ts"
import { UnsupportedTokenizer } from "./UnsupportedTokenizer.ts"
import type { Vocabulary } from "./vocabulary.ts"

const charactersOf = (text: string): number => {
  let count = 0
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) count++
  return count
}

/**
 * Greedy longest match from the left, with a prefix for pieces after the first (Devlin et al. 2018, BERT). A word is
 * unknown as a whole if it is too long or has a part without a match. Throws UnsupportedTokenizer.
 */
export const wordPiece = (spec: WordPiece, vocabulary: Vocabulary): Model => {
  const unknownId = vocabulary.kind === "ids" ? vocabulary.idOf(spec.unk_token) : -1
  if (unknownId === -1) {
    throw new UnsupportedTokenizer({
      reason: `model.unk_token ${JSON.stringify(spec.unk_token)} has no id in the model.vocab of WordPiece`
    })
  }
  const prefix = new TextEncoder().encode(spec.continuing_subword_prefix)
  const encode = encoder()
  const hashes: Array<number> = []

  return {
    unknownId,
    tokenize: (word, ids) => {
      const before = ids.length
      const characters = charactersOf(word)
      if (characters > spec.max_input_chars_per_word) return unknownSize(characters)
      // The prefix fits before every piece: it overwrites the previous piece, which is finished.
      const { end, utf8 } = encode(word, prefix.length)
      for (let start = prefix.length; start < end;) {
        const first = start === prefix.length
        const from = first ? start : start - prefix.length
        if (!first) utf8.set(prefix, from)
        const limit = Math.min(end, from + vocabulary.longest(utf8[from]!, utf8[from + 1]!))
        let hash = hashSeed
        for (let i = from; i < limit; i++) hashes[i + 1] = hash = hashStep(hash, utf8[i]!)
        let id = -1
        let stop = limit
        for (; stop > start; stop--) {
          id = vocabulary.find(utf8, from, stop, hashes[stop]!)
          if (id !== -1) break
        }
        if (id === -1) {
          ids.length = before
          return unknownSize(characters)
        }
        if (id !== unknownId) ids.push(id)
        start = stop
      }
      return Math.max(1, ids.length - before)
    }
  }
}
