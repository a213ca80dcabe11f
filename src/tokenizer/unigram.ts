import { hashSeed, hashStep } from "./hash.ts"
import { encoder, type Model, unknownSize } from "./model.ts"
import type { Unigram } from "./TokenizerJson.ts"
import { UnsupportedTokenizer } from "./UnsupportedTokenizer.ts"
import type { Vocabulary } from "./vocabulary.ts"

/** The extra cost of an unknown character beyond the worst token, as in SentencePiece. */
const unknownPenalty = 10

const charactersOf = (utf8: Uint8Array, start: number, end: number): number => {
  let count = 0
  for (let i = start; i < end; i++) if ((utf8[i]! & 0xc0) !== 0x80) count++
  return count
}

const characterBytes = (lead: number): number => (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4)

/**
 * The segmentation with the highest sum of log probabilities (Kudo 2018), found left to right; among equal ones, the
 * one that reaches each position from furthest left. Unknown characters have no id unless the vocabulary has their
 * bytes. Throws UnsupportedTokenizer.
 */
export const unigram = (spec: Unigram, vocabulary: Vocabulary): Model => {
  const { kind, scores, size } = vocabulary
  if (kind !== "scores" || size === 0) {
    throw new UnsupportedTokenizer({ reason: "model.vocab of Unigram must be a list of tokens and their scores" })
  }
  const unknownId = spec.unk_id ?? undefined
  if (unknownId !== undefined && unknownId >= size) {
    throw new UnsupportedTokenizer({ reason: `model.unk_id is ${unknownId}, but model.vocab ends at ${size - 1}` })
  }
  const unknownScore = scores.reduce((a, b) => Math.min(a, b), Infinity) - unknownPenalty
  const byteIds = Array.from({ length: 256 }, (_, byte) =>
    spec.byte_fallback ? vocabulary.idOf(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`) : -1
  )
  const encode = encoder()

  // For the position after each byte: the best sum, the start of its last token (-1: not reached), and that token (-1:
  // unknown).
  let best = new Float64Array(1024)
  let starts = new Int32Array(1024)
  let tokens = new Int32Array(1024)

  const reach = (end: number, sum: number, start: number, token: number) => {
    if (starts[end] !== -1 && sum <= best[end]!) return
    best[end] = sum
    starts[end] = start
    tokens[end] = token
  }

  const search = (utf8: Uint8Array, length: number) => {
    if (best.length <= length) {
      best = new Float64Array(length * 2)
      starts = new Int32Array(length * 2)
      tokens = new Int32Array(length * 2)
    }
    starts.fill(-1, 0, length + 1)
    best[0] = 0
    for (let start = 0; start < length;) {
      const next = start + characterBytes(utf8[start]!)
      const limit = Math.min(length, start + vocabulary.longest(utf8[start]!, utf8[start + 1]!))
      let known = false
      let hash = hashSeed
      for (let end = start + 1; end <= limit; end++) {
        hash = hashStep(hash, utf8[end - 1]!)
        const token = vocabulary.find(utf8, start, end, hash)
        if (token === -1) continue
        reach(end, best[start]! + scores[token]!, start, token)
        if (end === next) known = true
      }
      if (!known) reach(next, best[start]! + unknownScore, start, -1)
      start = next
    }
  }

  const isUnknown = (token: number) => token === -1 || token === unknownId

  /** Adjacent unknown characters form one piece. */
  const pushUnknown = (utf8: Uint8Array, start: number, end: number, ids: Array<number>): number => {
    const whole = vocabulary.find(utf8, start, end, utf8.subarray(start, end).reduce(hashStep, hashSeed))
    if (!isUnknown(whole)) {
      ids.push(whole)
      return 1
    }
    const bytes = Array.from(utf8.subarray(start, end), (byte) => byteIds[byte]!)
    if (bytes.includes(-1)) return unknownSize(charactersOf(utf8, start, end))
    for (const id of bytes) ids.push(id)
    return bytes.length
  }

  return {
    unknownId,
    tokenize: (text, ids) => {
      const { end: length, utf8 } = encode(text, 0)
      search(utf8, length)
      const ends: Array<number> = []
      for (let end = length; end > 0; end = starts[end]!) ends.push(end)
      let seen = 0
      for (let i = ends.length - 1; i >= 0; i--) {
        const token = tokens[ends[i]!]!
        if (isUnknown(token)) {
          const start = starts[ends[i]!]!
          while (i > 0 && isUnknown(tokens[ends[i - 1]!]!)) i--
          seen += pushUnknown(utf8, start, ends[i]!, ids)
        } else {
          ids.push(token)
          seen++
        }
      }
      return seen
    }
  }
}
