import { type Bpe, type Unigram, UnsupportedTokenizer, type WordPiece } from "./TokenizerJson.ts"
import { encoder, hashSeed, hashStep, type Model, unknownSize } from "./model.ts"
import type { Vocabulary } from "./vocabulary.ts"

/** The ids of the tokens that stand for bytes, -1 for those that the vocabulary lacks. */
const byteTokens = (bytes: Iterable<number>, { idOf }: Vocabulary): ReadonlyArray<number> =>
  Array.from(bytes, (byte) => idOf(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`))

/** The extra cost of an unknown character beyond the worst token, as in SentencePiece. */
const unknownPenalty = 10

const charactersIn = (utf8: Uint8Array, start: number, end: number): number => {
  let count = 0
  for (let i = start; i < end; i++) if ((utf8[i]! & 0xc0) !== 0x80) count++
  return count
}

const characterBytes = (lead: number): number => (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4)

/**
 * The segmentation with the highest sum of log probabilities (Kudo 2018), found left to right; among equal ones, the
 * one that reaches each position from furthest left. Unknown characters have no id, or with `whole` the unknown token's,
 * unless the vocabulary has their bytes. Throws UnsupportedTokenizer.
 */
export const unigram = (spec: Unigram, vocabulary: Vocabulary, whole: boolean): Model => {
  const { kind, scores, size } = vocabulary
  if (kind !== "scores" || size === 0) {
    throw new UnsupportedTokenizer({ reason: "model.vocab of Unigram must be a list of tokens and their scores" })
  }
  const unknownId = spec.unk_id ?? undefined
  if (unknownId !== undefined && unknownId >= size) {
    throw new UnsupportedTokenizer({ reason: `model.unk_id is ${unknownId}, but model.vocab ends at ${size - 1}` })
  }
  const unknownScore = scores.reduce((a, b) => Math.min(a, b), Infinity) - unknownPenalty
  const byteIds = spec.byte_fallback ? byteTokens(Array(256).keys(), vocabulary) : []
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
    const known = vocabulary.find(utf8, start, end, utf8.subarray(start, end).reduce(hashStep, hashSeed))
    if (!isUnknown(known)) {
      ids.push(known)
      return 1
    }
    const bytes = Array.from(utf8.subarray(start, end), (byte) => byteIds[byte] ?? -1)
    if (bytes.includes(-1)) {
      if (whole && unknownId !== undefined) ids.push(unknownId)
      return unknownSize(charactersIn(utf8, start, end))
    }
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

const charactersOf = (text: string): number => {
  let count = 0
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) count++
  return count
}

/**
 * Greedy longest match from the left, with a prefix for pieces after the first (Devlin et al. 2018, BERT). A word is
 * unknown as a whole if it is too long or has a part without a match; then it has no id, or with `whole` the unknown
 * token's. Throws UnsupportedTokenizer.
 */
export const wordPiece = (spec: WordPiece, vocabulary: Vocabulary, whole: boolean): Model => {
  const unknownId = vocabulary.kind === "ids" ? vocabulary.idOf(spec.unk_token) : -1
  if (unknownId === -1) {
    throw new UnsupportedTokenizer({
      reason: `model.unk_token ${JSON.stringify(spec.unk_token)} has no id in the model.vocab of WordPiece`
    })
  }
  const prefix = new TextEncoder().encode(spec.continuing_subword_prefix)
  const encode = encoder()
  const hashes: Array<number> = []

  const unknown = (characters: number, ids: Array<number>) => {
    if (whole) ids.push(unknownId)
    return unknownSize(characters)
  }

  return {
    unknownId,
    tokenize: (word, ids) => {
      const before = ids.length
      const characters = charactersOf(word)
      if (characters > spec.max_input_chars_per_word) return unknown(characters, ids)
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
          return unknown(characters, ids)
        }
        if (whole || id !== unknownId) ids.push(id)
        start = stop
      }
      return Math.max(1, ids.length - before)
    }
  }
}

/** The places of a text where two neighbours can merge, the best rank first, from the left among equal ones. */
class Merges {
  private readonly heap: Array<readonly [rank: number, at: number, id: number]> = []

  private isBefore(a: number, b: number): boolean {
    const [x, y] = [this.heap[a]!, this.heap[b]!]
    return x[0] < y[0] || (x[0] === y[0] && x[1] < y[1])
  }

  private swap(a: number, b: number): void {
    const { heap } = this
    ;[heap[a], heap[b]] = [heap[b]!, heap[a]!]
  }

  push(rank: number, at: number, id: number): void {
    let place = this.heap.push([rank, at, id]) - 1
    for (; place > 0 && this.isBefore(place, (place - 1) >> 1); place = (place - 1) >> 1) {
      this.swap(place, (place - 1) >> 1)
    }
  }

  pop() {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (heap.length === 0 || last === undefined) return first
    heap[0] = last
    for (let place = 0; ;) {
      let child = 2 * place + 1
      if (child >= heap.length) return first
      if (child + 1 < heap.length && this.isBefore(child + 1, child)) child++
      if (!this.isBefore(child, place)) return first
      this.swap(child, place)
      place = child
    }
  }
}

/**
 * Byte-pair encoding (Sennrich et al. 2016): characters, of which the neighbours with the best-ranked merge are joined
 * until no merge is left. What the vocabulary does not know becomes its bytes, where they are tokens, or the unknown
 * token. Throws UnsupportedTokenizer.
 */
export const bpe = (spec: Bpe, vocabulary: Vocabulary, whole: boolean): Model => {
  if (vocabulary.kind !== "ids") {
    throw new UnsupportedTokenizer({ reason: "model.vocab of BPE must be an object of tokens and their ids" })
  }
  const { size } = vocabulary
  const unknownId = spec.unk_token === null ? -1 : vocabulary.idOf(spec.unk_token)
  const ranks = new Map<number, readonly [rank: number, id: number]>()
  for (const [rank, merge] of spec.merges.entries()) {
    const [left = "", right = ""] = typeof merge === "string" ? merge.split(" ") : merge
    const [a, b, id] = [left, right, left + right].map(vocabulary.idOf)
    if (a === -1 || b === -1 || id === -1) {
      throw new UnsupportedTokenizer({
        reason: `model.merges[${rank}] joins ${JSON.stringify(left)} and ${JSON.stringify(right)}, which model.vocab lacks, or their whole`
      })
    }
    ranks.set(a! * size + b!, [rank, id!])
  }
  const encode = encoder()
  const utf8 = new TextEncoder()
  const ofCharacter = (character: string): ReadonlyArray<number> => {
    const id = vocabulary.idOf(character)
    if (id !== -1) return [id]
    const bytes = spec.byte_fallback ? byteTokens(utf8.encode(character), vocabulary) : [-1]
    // Without an unknown token it is left out, and its neighbours can merge.
    return !bytes.includes(-1) ? bytes : unknownId === -1 ? [] : [unknownId]
  }

  return {
    unknownId: unknownId === -1 ? undefined : unknownId,
    tokenize: (piece, ids) => {
      if (spec.ignore_merges) {
        const { end, utf8 } = encode(piece, 0)
        const id = vocabulary.find(utf8, 0, end, utf8.subarray(0, end).reduce(hashStep, hashSeed))
        if (id !== -1) {
          ids.push(id)
          return 1
        }
      }
      const symbols = Array.from(piece).flatMap(ofCharacter)
      const before = symbols.map((_, at) => at - 1)
      const after = symbols.map((_, at) => at + 1)
      const merges = new Merges()
      const offer = (left: number) => {
        const right = after[left]
        if (left < 0 || right === undefined || right >= symbols.length) return
        const found = ranks.get(symbols[left]! * size + symbols[right]!)
        if (found !== undefined) merges.push(found[0], left, found[1])
      }
      for (let at = 0; at < symbols.length; at++) offer(at)
      for (let next = merges.pop(); next !== undefined; next = merges.pop()) {
        const [rank, left, id] = next
        const right = after[left]!
        // One of both may have been merged meanwhile.
        if (symbols[left] === -2 || right >= symbols.length) continue
        if (ranks.get(symbols[left]! * size + symbols[right]!)?.[0] !== rank) continue
        symbols[left] = id
        symbols[right] = -2
        after[left] = after[right]!
        if (after[left]! < symbols.length) before[after[left]!] = left
        offer(before[left]!)
        offer(left)
      }
      let seen = 0
      let wasUnknown = false
      for (const id of symbols) {
        if (id === -2) continue
        const isUnknown = id === unknownId
        if (!(isUnknown && wasUnknown && spec.fuse_unk)) {
          seen++
          if (whole || !isUnknown) ids.push(id)
        }
        wasUnknown = isUnknown
      }
      return seen
    }
  }
}
