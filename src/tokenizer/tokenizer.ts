import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { createContext, Script } from "node:vm"
import { lazily } from "../model/lazily.ts"
import { addedTokens, scanBert, scanPieces } from "./scan.ts"
import { type Model, type Scan, TokenIds } from "./model.ts"
import { normalizer } from "./normalize.ts"
import { preTokenizer } from "./preTokenize.ts"
import { PostProcessor, type TemplatePiece, TokenizerJson, UnsupportedTokenizer } from "./TokenizerJson.ts"
import { bpe, unigram, wordPiece } from "./pieces.ts"
import { takeVocabulary, type Vocabulary } from "./vocabulary.ts"

/** A text's tokens between special ones, or those of two texts; `type` is the id of a part. */
export type Template = ReadonlyArray<{ readonly ids: "A" | "B" | ReadonlyArray<number>; readonly type: number }>

/** Turns text into token ids, without special tokens. Its functions need no `this`. */
export interface Tokenizer {
  readonly unknownId: number | undefined
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
}

/** A tokenizer as a transformer needs it. */
export interface WholeTokenizer extends Tokenizer {
  readonly single: Template
  readonly pair: Template
}

const models = (spec: TokenizerJson["model"], vocabulary: Vocabulary, whole: boolean): Model => {
  switch (spec.type) {
    case "WordPiece":
      return wordPiece(spec, vocabulary, whole)
    case "Unigram":
      return unigram(spec, vocabulary, whole)
    case "BPE":
      return bpe(spec, vocabulary, whole)
  }
}

const a = { ids: "A", type: 0 } as const

/** The special tokens that a post-processor puts around texts. */
const templatesOf = (spec: PostProcessor): Pick<WholeTokenizer, "single" | "pair"> => {
  switch (spec.type) {
    case "TemplateProcessing": {
      const place = (piece: TemplatePiece): Template[number] => {
        if ("Sequence" in piece) return { ids: piece.Sequence.id, type: piece.Sequence.type_id }
        const { id, type_id } = piece.SpecialToken
        const special = spec.special_tokens[id]
        if (special === undefined) {
          throw new UnsupportedTokenizer({ reason: `post_processor.special_tokens has no ${JSON.stringify(id)}` })
        }
        return { ids: special.ids, type: type_id }
      }
      return { single: spec.single.map(place), pair: spec.pair.map(place) }
    }
    case "BertProcessing":
    case "RobertaProcessing": {
      const type = spec.type === "BertProcessing" ? 1 : 0
      const [cls, sep] = [{ ids: [spec.cls[1]], type: 0 }, [spec.sep[1]]]
      const single: Template = [cls, a, { ids: sep, type: 0 }]
      const between = type === 1 ? [] : [{ ids: sep, type }]
      return { single, pair: [...single, ...between, { ids: "B", type }, { ids: sep, type }] }
    }
    case "ByteLevel":
      return { single: [a], pair: [a, { ids: "B", type: 0 }] }
    case "Sequence": {
      const given = spec.processors.find(({ type }) => type !== "ByteLevel")
      return templatesOf(given ?? { type: "ByteLevel" })
    }
  }
}

/** A script, since V8 has a time limit for nothing else that also ends a regular expression. */
const limits = lazily(() => ({ context: createContext({}), script: new Script("work()") }))

/** Longest time for a text: the rules of somebody else's tokenizer can be made never to end. */
const longestMs = 3000

const isTimeout = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT"

/** What a tokenizer's rules make of a text; throws UnsupportedTokenizer if that takes too long, or too much memory. */
const limited = <A>(work: () => A, mayRepeat = true): A => {
  const { context, script } = limits()
  const before = process.cpuUsage()
  context["work"] = work
  try {
    return script.runInContext(context, { timeout: longestMs }) as A
  } catch (error) {
    const { system, user } = process.cpuUsage(before)
    // The process was stopped meanwhile, or others had the processor.
    if (isTimeout(error) && mayRepeat && user + system < (1000 * longestMs) / 2) return limited(work, false)
    if (!isTimeout(error) && !(error instanceof RangeError)) throw error
    const why = isTimeout(error) ? `they take more than ${longestMs / 1000} s` : (error as RangeError).message
    throw new UnsupportedTokenizer({
      reason: `the normalizer and pre_tokenizer of its tokenizer.json fail on a text (${why}): use another model`
    })
  }
}

const build = (spec: TokenizerJson, vocabulary: Vocabulary, whole: boolean): Tokenizer => {
  const model = models(spec.model, vocabulary, whole)
  const omitted = whole ? undefined : model.unknownId
  const normalize = spec.normalizer === null ? (text: string) => text : normalizer(spec.normalizer)
  const preTokenize = spec.pre_tokenizer === null ? (text: string) => [text] : preTokenizer(spec.pre_tokenizer)
  const findRaw = addedTokens(spec.added_tokens.filter((token) => !token.normalized))
  const normalized = spec.added_tokens.filter((token) => token.normalized)
  const findNormalized = addedTokens(
    normalized.length === 0
      ? []
      : limited(() => normalized.map((token) => ({ ...token, content: normalize(token.content) })))
  )

  const bert = spec.pre_tokenizer?.type === "BertPreTokenizer" && findNormalized === undefined ? spec.normalizer : null
  const isBert = bert?.type === "BertNormalizer"
  const scan: Scan = isBert
    ? scanBert(bert, normalize, preTokenize, model)
    : scanPieces(normalize, findNormalized, preTokenize, model, omitted)

  const scanAll = (text: string, out?: TokenIds): number => {
    let size = 0
    let at = 0
    if (findRaw !== undefined) {
      for (const match of findRaw(text)) {
        size += scan(text, at, match.start, out) + 1
        if (match.id !== omitted) out?.push(match.id)
        at = match.end
      }
    }
    return size + scan(text, at, text.length, out)
  }
  // The rules of BERT take a time that only grows with the text.
  const run: typeof scanAll = isBert ? scanAll : (text, out) => limited(() => scanAll(text, out))

  const encoded = new TokenIds()
  return {
    unknownId: model.unknownId,
    vocabularySize: spec.added_tokens.reduce((size, token) => Math.max(size, token.id + 1), vocabulary.size),
    isWordless: vocabulary.isWordless,
    encode: (text) => {
      encoded.length = 0
      run(text, encoded)
      return Array.from(encoded.ids.subarray(0, encoded.length))
    },
    encodeInto: run,
    count: (text) => run(text)
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

const fromBytes = (
  file: Uint8Array,
  { isPacked = false, whole = false } = {}
): Tokenizer & { readonly postProcessor: unknown } => {
  const { rest, vocabulary } = takeVocabulary(file, isPacked)
  const spec = decode(rest)
  if (Either.isLeft(spec)) throw new UnsupportedTokenizer({ reason: describe(spec.left) })
  if (vocabulary === undefined) {
    throw new UnsupportedTokenizer({
      reason: "model.vocab must be an object (WordPiece, BPE) or a list (Unigram) of tokens"
    })
  }
  return { ...build(spec.right, vocabulary, whole), postProcessor: spec.right.post_processor }
}

const attempt = <A>(make: () => A): Either.Either<A, UnsupportedTokenizer> =>
  Either.try({
    try: make,
    catch: (error) => {
      if (error instanceof UnsupportedTokenizer) return error
      // The stack is at its end.
      if (error instanceof RangeError) return new UnsupportedTokenizer({ reason: "its steps are nested too deep" })
      throw error
    }
  })

/**
 * The tokenizer described by a Hugging Face tokenizer.json in UTF-8: WordPiece, Unigram or BPE. It leaves unknown tokens
 * out. The build may have packed the file (vocabulary.ts), which its name says.
 */
export const parse = (name: string, file: Uint8Array): Either.Either<Tokenizer, UnsupportedTokenizer> =>
  attempt(() => fromBytes(file, { isPacked: name.endsWith(".packed") }))

const decodePostProcessor = Schema.decodeUnknownEither(PostProcessor)

/** The same with unknown tokens, and with the special tokens around texts: the ids that a transformer was trained on. */
export const parseWhole = (json: Uint8Array): Either.Either<WholeTokenizer, UnsupportedTokenizer> =>
  attempt(() => {
    const { postProcessor, ...tokenizer } = fromBytes(json, { whole: true })
    const spec = decodePostProcessor(postProcessor ?? { type: "ByteLevel" })
    if (Either.isLeft(spec)) {
      throw new UnsupportedTokenizer({ reason: `post_processor: ${describe(spec.left)}` })
    }
    return { ...tokenizer, ...templatesOf(spec.right) }
  })
