import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { addedTokens } from "./addedTokens.ts"
import type { Model } from "./model.ts"
import { normalizer } from "./normalize.ts"
import { preTokenizer } from "./preTokenize.ts"
import type { Scan } from "./scan.ts"
import { scanBert } from "./scanBert.ts"
import { scanPieces } from "./scanPieces.ts"
import { TokenIds } from "./tokenIds.ts"
import { TokenizerJson } from "./TokenizerJson.ts"
import { unigram } from "./unigram.ts"
import { UnsupportedTokenizer } from "./UnsupportedTokenizer.ts"
import { takeVocabulary, type Vocabulary } from "./vocabulary.ts"
import { wordPiece } from "./wordPiece.ts"

/** Turns text into token ids, without special and unknown tokens. Its functions need no `this`. */
export interface Tokenizer {
  /** Ids range from 0 to one less than this. */
  readonly vocabularySize: number
  /** Whether the token consists only of punctuation and symbols. */
  readonly isWordless: (id: number) => boolean
  readonly encode: (text: string) => Array<number>
  /** The same, appended to a reused list. */
  readonly encodeInto: (text: string, out: TokenIds) => void
  /**
   * The number of tokens of a text; text that the vocabulary does not know counts one per four characters. With a BERT
   * tokenizer (the packaged one), counts of parts split at a space, tab or line break add up exactly to the count of the
   * whole.
   */
  readonly count: (text: string) => number
  /** The count of a UTF-16 range, without copying it. */
  readonly countRange: (text: string, start: number, end: number) => number
}

const build = (spec: TokenizerJson, vocabulary: Vocabulary): Tokenizer => {
  const model: Model =
    spec.model.type === "WordPiece" ? wordPiece(spec.model, vocabulary) : unigram(spec.model, vocabulary)
  const normalize = spec.normalizer === null ? (text: string) => text : normalizer(spec.normalizer)
  const preTokenize = spec.pre_tokenizer === null ? (text: string) => [text] : preTokenizer(spec.pre_tokenizer)
  const findRaw = addedTokens(spec.added_tokens.filter((token) => !token.normalized))
  const findNormalized = addedTokens(
    spec.added_tokens.flatMap((token) => (token.normalized ? [{ ...token, content: normalize(token.content) }] : []))
  )

  const scan: Scan =
    spec.normalizer?.type === "BertNormalizer" &&
    spec.pre_tokenizer?.type === "BertPreTokenizer" &&
    findNormalized === undefined
      ? scanBert(spec.normalizer, normalize, preTokenize, model)
      : scanPieces(normalize, findNormalized, preTokenize, model)

  const run: Scan =
    findRaw === undefined
      ? scan
      : (text, start, end, out) => {
          const part = start === 0 && end === text.length ? text : text.slice(start, end)
          let size = 0
          let at = 0
          for (const match of findRaw(part)) {
            size += scan(part, at, match.start, out) + 1
            if (match.id !== model.unknownId) out?.push(match.id)
            at = match.end
          }
          return size + scan(part, at, part.length, out)
        }

  return {
    vocabularySize: spec.added_tokens.reduce((size, token) => Math.max(size, token.id + 1), vocabulary.size),
    isWordless: vocabulary.isWordless,
    encode: (text) => {
      const out = new TokenIds()
      run(text, 0, text.length, out)
      return Array.from(out.ids.subarray(0, out.length))
    },
    encodeInto: (text, out) => {
      run(text, 0, text.length, out)
    },
    count: (text) => run(text, 0, text.length, undefined),
    countRange: (text, start, end) => run(text, start, end, undefined)
  }
}

const decode = Schema.decodeUnknownEither(Schema.parseJson(TokenizerJson))

const describe = (error: ParseResult.ParseError): string => {
  const issue = ParseResult.ArrayFormatter.formatErrorSync(error)[0]
  if (issue === undefined) return error.message
  return issue.path.length === 0
    ? `this is not a tokenizer in JSON: ${issue.message}`
    : `${issue.path.join(".")}: ${issue.message}`
}

const fromBytes = (json: Uint8Array): Tokenizer => {
  const { rest, vocabulary } = takeVocabulary(json)
  const spec = decode(rest)
  if (Either.isLeft(spec)) throw new UnsupportedTokenizer({ reason: describe(spec.left) })
  if (vocabulary === undefined) {
    throw new UnsupportedTokenizer({
      reason: "model.vocab must be an object (WordPiece) or a list (Unigram) of tokens"
    })
  }
  return build(spec.right, vocabulary)
}

/** The tokenizer described by a Hugging Face tokenizer.json in UTF-8: WordPiece or Unigram. */
export const parse = (json: Uint8Array): Either.Either<Tokenizer, UnsupportedTokenizer> =>
  Either.try({
    try: () => fromBytes(json),
    catch: (error) => {
      if (error instanceof UnsupportedTokenizer) return error
      throw error
    }
  })
