import * as Either from "effect/Either"
import type { KeptText, RareWord } from "../../model/Passage.ts"
import { lazily } from "../../model/lazily.ts"
import { pageBytes, sharedMemory } from "../../runtime/wasm.ts"
import { TokenIds } from "../../tokenizer/model.ts"
import type { Tokenizer } from "../../tokenizer/tokenizer.ts"
import { Cosines, kernelOn, mostWanted } from "./Cosines.ts"
import {
  describe,
  firstNotFinite,
  floatTypes,
  integersOf,
  type Numbers,
  numbersOf,
  type Tensor
} from "./safetensors.ts"

/** Tokens to pool: the start of each one's row, and its weight. */
interface Rows {
  count: number
  readonly offsets: Int32Array
  readonly weights: Float64Array
}

/** Four dimensions stay in registers while it goes through the tokens, which is faster than adding row after row. */
const poolFloats = (matrix: Numbers, { count, offsets, weights }: Rows, sums: Float64Array): void => {
  const whole = sums.length & ~3
  for (let d = 0; d < whole; d += 4) {
    let a = 0
    let b = 0
    let c = 0
    let e = 0
    for (let t = 0; t < count; t++) {
      const at = offsets[t]! + d
      const weight = weights[t]!
      a += weight * matrix[at]!
      b += weight * matrix[at + 1]!
      c += weight * matrix[at + 2]!
      e += weight * matrix[at + 3]!
    }
    sums[d] = a
    sums[d + 1] = b
    sums[d + 2] = c
    sums[d + 3] = e
  }
  for (let d = whole; d < sums.length; d++) {
    let a = 0
    for (let t = 0; t < count; t++) a += weights[t]! * matrix[offsets[t]! + d]!
    sums[d] = a
  }
}

/** Adds up rows of a matrix. */
interface Pooling {
  /** The tokens, to be filled in; there is room for the whole vocabulary. */
  readonly rows: Rows
  /** Where `offsets` expects the row that begins at a place in the matrix. */
  readonly offsetOf: (at: number) => number
  /** Sets sums[d] = Σ weights[t] · matrix[offsets[t] + d] over the tokens t, for each dimension d. */
  readonly pool: () => void
  readonly sums: Float64Array
}

/** Rows of bytes are added up by the kernel, in whose memory a row is copied when it is needed for the first time. */
const poolingInKernel = (values: Int8Array, dimensions: number, most: number): Pooling => {
  const weightsAt = 8 * dimensions
  const offsetsAt = weightsAt + 8 * most
  const rowsAt = Math.ceil((offsetsAt + 4 * most) / 16) * 16
  const pagesFor = (bytes: number) => Math.ceil(bytes / pageBytes)
  const memory = sharedMemory(pagesFor(rowsAt), pagesFor(rowsAt + values.length))
  const kernel = kernelOn(memory)
  // A view keeps showing its part of the memory when that grows.
  const rows = {
    count: 0,
    offsets: new Int32Array(memory.buffer, offsetsAt, most),
    weights: new Float64Array(memory.buffer, weightsAt, most)
  }
  const copies = new Int32Array(values.length / dimensions)
  let bytes = new Int8Array(memory.buffer)
  let end = rowsAt
  const copy = (at: number): number => {
    const start = end
    end += dimensions
    if (end > bytes.length) {
      memory.grow(Math.min(pagesAtOnce, pagesFor(rowsAt + values.length) - bytes.length / pageBytes))
      bytes = new Int8Array(memory.buffer)
    }
    bytes.set(values.subarray(at, at + dimensions), start)
    return start
  }
  return {
    rows,
    offsetOf: (at) => (copies[at / dimensions] ||= copy(at)),
    pool: () => kernel.pool(rows.count, offsetsAt, weightsAt, dimensions, 0),
    sums: new Float64Array(memory.buffer, 0, dimensions)
  }
}

const pagesAtOnce = 16

const pooling = (matrix: Numbers, dimensions: number, most: number): Pooling => {
  if (matrix instanceof Int8Array && dimensions % 16 === 0) return poolingInKernel(matrix, dimensions, most)
  const rows = { count: 0, offsets: new Int32Array(most), weights: new Float64Array(most) }
  const sums = new Float64Array(dimensions)
  return { rows, offsetOf: (at) => at, pool: () => poolFloats(matrix, rows, sums), sums }
}

/** Static token embeddings in Model2Vec's layout. */
export interface StaticModel {
  readonly dimensions: number
  /**
   * Σ weight · row over the text's known tokens, L2-normalised (model2vec's mean has the same direction). Tokens of
   * punctuation and symbols are left out. Undefined if no token is left, or if they cancel out. Never truncates, whatever
   * max_length is.
   */
  readonly embed: (text: string) => Float32Array | undefined
  /** The share of a text's letters and digits in words with a known token, 0 to 1; 1 for a text without any. */
  readonly knownShare: (text: string) => number
  /**
   * How nearly each text has all of the words, 0 to 1: the greatest cosine of any of its tokens with each of theirs, the
   * late interaction of Khattab & Zaharia 2020. Tokens weigh as much as in `embed`, times their words' rarity; only the
   * eight that weigh most count. 0 if the model knows none of them.
   */
  readonly likeness: (words: ReadonlyArray<RareWord>, texts: ReadonlyArray<KeptText>) => ReadonlyArray<number>
}

interface Parts {
  readonly matrix: Numbers
  readonly dimensions: number
  readonly weights: ArrayLike<number> | undefined
  /** Token id to row. */
  readonly mapping: Int32Array | undefined
}

const partsOf = (tensors: ReadonlyMap<string, Tensor>, vocabularySize: number): Either.Either<Parts, string> => {
  const embeddings = tensors.get("embeddings")
  if (embeddings === undefined) {
    const names = [...tensors.keys()].join(", ") || "none"
    return Either.left(`it has no tensor named embeddings; its tensors: ${names}`)
  }
  const matrix = numbersOf(embeddings)
  const [rows, dimensions] = embeddings.shape
  if (matrix === undefined || embeddings.shape.length !== 2 || !rows || !dimensions) {
    return Either.left(`embeddings is ${describe(embeddings)}, expected ${floatTypes} or I8 [rows, dimensions]`)
  }
  const broken = firstNotFinite(matrix)
  if (broken !== -1)
    return Either.left(`row ${Math.floor(broken / dimensions)} of embeddings contains a number that is not finite`)

  const map = tensors.get("mapping")
  const mapping = map === undefined ? undefined : integersOf(map)
  if (map !== undefined && (mapping === undefined || map.shape.length !== 1 || mapping.length !== vocabularySize)) {
    return Either.left(`mapping is ${describe(map)}, expected I64 or I32 [${vocabularySize}], a row for each token`)
  }
  if (mapping === undefined && rows !== vocabularySize) {
    return Either.left(
      `embeddings has ${rows} rows, but tokenizer.json has ${vocabularySize} tokens, and there is no mapping between them`
    )
  }
  const astray = mapping?.findIndex((row) => row < 0 || row >= rows) ?? -1
  if (astray !== -1) {
    return Either.left(`mapping sends token ${astray} to a row that does not exist: embeddings has ${rows} rows`)
  }

  const weighting = tensors.get("weights")
  const weights = weighting === undefined ? undefined : numbersOf(weighting)
  if (weighting !== undefined) {
    if (weights === undefined || weighting.shape.length !== 1 || weighting.shape[0] !== vocabularySize) {
      return Either.left(
        `weights is ${describe(weighting)}, expected ${floatTypes} [${vocabularySize}], one for each token`
      )
    }
    const wrong = firstNotFinite(weights)
    if (wrong !== -1) return Either.left(`weight ${wrong} is not finite`)
  }
  return Either.right({ matrix, dimensions, weights, mapping })
}

/** A word, or a letter of a script without spaces between words. */
const words =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}])[\p{L}\p{M}\p{N}])+/gu

/** Left: the tensors' problem. With an older `making`, vectors are as that one's (see `presentMaking`). */
export const make = (
  tokenizer: Tokenizer,
  tensors: ReadonlyMap<string, Tensor>,
  making?: number
): Either.Either<StaticModel, string> =>
  Either.map(partsOf(tensors, tokenizer.vocabularySize), ({ dimensions, mapping, matrix, weights }) => {
    const { offsetOf, pool, rows, sums } = pooling(matrix, dimensions, tokenizer.vocabularySize)
    const tokens = new TokenIds()
    const places = new Int32Array(tokenizer.vocabularySize)
    const speaks = Uint8Array.from({ length: tokenizer.vocabularySize }, (_, id) => (tokenizer.isWordless(id) ? 0 : 1))

    const rowAt = (id: number) => (mapping === undefined ? id : mapping[id]!) * dimensions
    /** Each token once, weighted by its count: half of a passage's tokens are repetitions. */
    const gather = () => {
      rows.count = 0
      for (let i = 0; i < tokens.length; i++) {
        const id = tokens.ids[i]!
        if (speaks[id] === 0 && making !== 1) continue
        const weight = weights === undefined ? 1 : weights[id]!
        let place = places[id]!
        if (place === 0) {
          place = places[id] = ++rows.count
          rows.offsets[place - 1] = offsetOf(rowAt(id))
          rows.weights[place - 1] = weight
        } else {
          rows.weights[place - 1]! += weight
        }
      }
      for (let i = 0; i < tokens.length; i++) places[tokens.ids[i]!] = 0
    }

    const lengthOf = (id: number): number => {
      let square = 0
      for (let d = 0, at = rowAt(id); d < dimensions; d++) square += matrix[at + d]! ** 2
      return Math.sqrt(square)
    }
    const cosines = lazily(() => new Cosines(matrix, dimensions, tokenizer.vocabularySize, rowAt))
    const kept = new WeakMap<object, Int32Array>()
    /** The tokens of a text that are compared, each once. */
    const tokensOf = ({ of, text }: KeptText): Int32Array => {
      const known = kept.get(of)
      if (known !== undefined) return known
      tokens.length = 0
      tokenizer.encodeInto(text(), tokens)
      const own = Int32Array.from(new Set(tokens.ids.subarray(0, tokens.length).filter((id) => speaks[id] === 1)))
      kept.set(of, own)
      return own
    }

    return {
      dimensions,
      embed: (text) => {
        tokens.length = 0
        tokenizer.encodeInto(text, tokens)
        if (tokens.length === 0) return undefined
        gather()
        if (rows.count === 0) return undefined
        pool()
        let square = 0
        for (let d = 0; d < dimensions; d++) square += sums[d]! * sums[d]!
        const norm = Math.sqrt(square)
        if (!(norm > 0 && norm < Infinity)) return undefined
        const vector = new Float32Array(dimensions)
        for (let d = 0; d < dimensions; d++) vector[d] = sums[d]! / norm
        return vector
      },
      knownShare: (text) => {
        let all = 0
        let known = 0
        for (const [word] of text.matchAll(words)) {
          all += word.length
          if (tokenizer.encode(word).some((id) => speaks[id] === 1)) known += word.length
        }
        return all === 0 ? 1 : known / all
      },
      likeness: (words, texts) => {
        const weighed = new Map<number, number>()
        for (const { rarity, word } of words) {
          for (const id of tokenizer.encode(word)) {
            const weight = speaks[id] === 0 ? 0 : rarity * Math.abs(weights?.[id] ?? 1) * lengthOf(id)
            if (weight > (weighed.get(id) ?? 0)) weighed.set(id, weight)
          }
        }
        const wanted = [...weighed].sort(([, a], [, b]) => b - a).slice(0, mostWanted)
        const all = wanted.reduce((sum, [, weight]) => sum + weight, 0)
        if (!(all > 0 && all < Infinity)) return texts.map(() => 0)
        const found = texts.map(tokensOf)
        /** Tokens in the order of their cosines, those of the question first; `places` has each one's, from 1. */
        const ids = wanted.map(([id]) => id)
        try {
          for (const [at, id] of ids.entries()) places[id] = at + 1
          for (const own of found) for (const id of own) places[id] ||= ids.push(id)
          const compared = cosines().among(ids, wanted.length)
          return found.map((own) => {
            const best = new Float64Array(wanted.length)
            for (const id of own) {
              for (let w = 0, at = (places[id]! - 1) * best.length; w < best.length; w++, at++) {
                if (compared[at]! > best[w]!) best[w] = compared[at]!
              }
            }
            return wanted.reduce((sum, [, weight], w) => sum + weight * best[w]!, 0) / all
          })
        } finally {
          for (const id of ids) places[id] = 0
        }
      }
    }
  })
