import * as Schema from "effect/Schema"

/** A step without options. One schema each, so that an error lists them all. */
const step = <Type extends string>(type: Type) => Schema.Struct({ type: Schema.Literal(type) })

const flag = (fallback: boolean) => Schema.optionalWith(Schema.Boolean, { default: () => fallback })

/** A literal string, or a regular expression in Oniguruma's syntax. */
const Pattern = Schema.Union(Schema.Struct({ String: Schema.String }), Schema.Struct({ Regex: Schema.String }))
export type Pattern = typeof Pattern.Type

const BertNormalizer = Schema.Struct({
  type: Schema.Literal("BertNormalizer"),
  clean_text: flag(true),
  handle_chinese_chars: flag(true),
  strip_accents: Schema.optionalWith(Schema.NullOr(Schema.Boolean), { default: () => null }),
  lowercase: flag(true)
})
export type BertNormalizer = typeof BertNormalizer.Type

const StripNormalizer = Schema.Struct({
  type: Schema.Literal("Strip"),
  strip_left: flag(true),
  strip_right: flag(true)
})

const PrependNormalizer = Schema.Struct({ type: Schema.Literal("Prepend"), prepend: Schema.String })

const ReplaceNormalizer = Schema.Struct({
  type: Schema.Literal("Replace"),
  pattern: Pattern,
  content: Schema.String
})

const PrecompiledNormalizer = Schema.Struct({
  type: Schema.Literal("Precompiled"),
  precompiled_charsmap: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null })
})

const FlatNormalizer = Schema.Union(
  BertNormalizer,
  step("Lowercase"),
  step("NFC"),
  step("NFD"),
  step("NFKC"),
  step("NFKD"),
  step("Nmt"),
  step("StripAccents"),
  StripNormalizer,
  PrependNormalizer,
  ReplaceNormalizer,
  PrecompiledNormalizer
)

/** How text is rewritten before it is split. */
export type Normalizer =
  | typeof FlatNormalizer.Type
  | { readonly type: "Sequence"; readonly normalizers: ReadonlyArray<Normalizer> }

export const Normalizer: Schema.Schema<Normalizer, any> = Schema.Union(
  ...FlatNormalizer.members,
  Schema.Struct({
    type: Schema.Literal("Sequence"),
    normalizers: Schema.Array(Schema.suspend((): Schema.Schema<Normalizer, any> => Normalizer))
  })
)

/** What happens to a delimiter. */
const Behavior = Schema.Literal("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
export type Behavior = typeof Behavior.Type

const PunctuationPreTokenizer = Schema.Struct({
  type: Schema.Literal("Punctuation"),
  behavior: Schema.optionalWith(Behavior, { default: () => "Isolated" as const })
})

const DigitsPreTokenizer = Schema.Struct({ type: Schema.Literal("Digits"), individual_digits: flag(false) })

const SplitPreTokenizer = Schema.Struct({
  type: Schema.Literal("Split"),
  pattern: Pattern,
  behavior: Behavior,
  invert: flag(false)
})

const CharDelimiterPreTokenizer = Schema.Struct({
  type: Schema.Literal("CharDelimiterSplit"),
  delimiter: Schema.String
})

const MetaspacePreTokenizer = Schema.Struct({
  type: Schema.Literal("Metaspace"),
  replacement: Schema.optionalWith(Schema.NonEmptyString, { default: () => "▁" }),
  prepend_scheme: Schema.optional(Schema.Literal("always", "first", "never")),
  /** In files written before prepend_scheme. */
  add_prefix_space: flag(true),
  split: flag(true)
})
export type Metaspace = typeof MetaspacePreTokenizer.Type

const ByteLevelPreTokenizer = Schema.Struct({
  type: Schema.Literal("ByteLevel"),
  add_prefix_space: flag(true),
  use_regex: flag(true)
})

const FlatPreTokenizer = Schema.Union(
  step("BertPreTokenizer"),
  step("Whitespace"),
  step("WhitespaceSplit"),
  PunctuationPreTokenizer,
  DigitsPreTokenizer,
  SplitPreTokenizer,
  CharDelimiterPreTokenizer,
  MetaspacePreTokenizer,
  ByteLevelPreTokenizer
)

/** How normalised text is split into the pieces that the model sees one by one. */
export type PreTokenizer =
  | typeof FlatPreTokenizer.Type
  | { readonly type: "Sequence"; readonly pretokenizers: ReadonlyArray<PreTokenizer> }

export const PreTokenizer: Schema.Schema<PreTokenizer, any> = Schema.Union(
  ...FlatPreTokenizer.members,
  Schema.Struct({
    type: Schema.Literal("Sequence"),
    pretokenizers: Schema.Array(Schema.suspend((): Schema.Schema<PreTokenizer, any> => PreTokenizer))
  })
)

/** A token that is matched in the text itself, before any splitting. */
const AddedToken = Schema.Struct({
  id: Schema.NonNegativeInt,
  content: Schema.String,
  single_word: flag(false),
  lstrip: flag(false),
  rstrip: flag(false),
  normalized: flag(false)
})
export type AddedToken = typeof AddedToken.Type

const WordPiece = Schema.Struct({
  type: Schema.Literal("WordPiece"),
  unk_token: Schema.optionalWith(Schema.String, { default: () => "[UNK]" }),
  continuing_subword_prefix: Schema.optionalWith(Schema.String, { default: () => "##" }),
  max_input_chars_per_word: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 100 })
})
export type WordPiece = typeof WordPiece.Type

const Unigram = Schema.Struct({
  type: Schema.Literal("Unigram"),
  unk_id: Schema.optionalWith(Schema.NullOr(Schema.NonNegativeInt), { default: () => null }),
  byte_fallback: flag(false)
})
export type Unigram = typeof Unigram.Type

/** Without a dropout, and without marks at the beginning or end of words. */
const Bpe = Schema.Struct({
  type: Schema.Literal("BPE"),
  unk_token: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
  fuse_unk: flag(false),
  byte_fallback: flag(false),
  ignore_merges: flag(false),
  continuing_subword_prefix: Schema.optional(Schema.Literal(null, "")),
  end_of_word_suffix: Schema.optional(Schema.Literal(null, "")),
  merges: Schema.Array(Schema.Union(Schema.String, Schema.Tuple(Schema.String, Schema.String)))
})
export type Bpe = typeof Bpe.Type

/** A place in a template: a text, or a special token. */
const TemplatePiece = Schema.Union(
  Schema.Struct({ Sequence: Schema.Struct({ id: Schema.Literal("A", "B"), type_id: Schema.NonNegativeInt }) }),
  Schema.Struct({ SpecialToken: Schema.Struct({ id: Schema.String, type_id: Schema.NonNegativeInt }) })
)
export type TemplatePiece = typeof TemplatePiece.Type

const Special = Schema.Tuple(Schema.String, Schema.NonNegativeInt)

const FlatPostProcessor = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("TemplateProcessing"),
    single: Schema.Array(TemplatePiece),
    pair: Schema.Array(TemplatePiece),
    special_tokens: Schema.Record({ key: Schema.String, value: Schema.Struct({ ids: Schema.Array(Schema.Int) }) })
  }),
  Schema.Struct({ type: Schema.Literal("BertProcessing"), cls: Special, sep: Special }),
  Schema.Struct({ type: Schema.Literal("RobertaProcessing"), cls: Special, sep: Special }),
  // It moves offsets only.
  step("ByteLevel")
)

/** The special tokens around a text, or around two. */
export const PostProcessor = Schema.Union(
  ...FlatPostProcessor.members,
  Schema.Struct({ type: Schema.Literal("Sequence"), processors: Schema.Array(FlatPostProcessor) })
)
export type PostProcessor = typeof PostProcessor.Type

/** The parts of a Hugging Face tokenizer.json that determine a text's ids, without the vocabulary. */
export const TokenizerJson = Schema.Struct({
  added_tokens: Schema.optionalWith(Schema.Array(AddedToken), { default: () => [] }),
  normalizer: Schema.optionalWith(Schema.NullOr(Normalizer), { default: () => null }),
  pre_tokenizer: Schema.optionalWith(Schema.NullOr(PreTokenizer), { default: () => null }),
  post_processor: Schema.optional(Schema.Unknown),
  model: Schema.Union(WordPiece, Unigram, Bpe)
}).annotations({ identifier: "TokenizerJson" })
export type TokenizerJson = typeof TokenizerJson.Type

/** The tokenizer.json is damaged, or needs something that is not implemented; the reason says what and where. */
export class UnsupportedTokenizer extends Schema.TaggedError<UnsupportedTokenizer>()("UnsupportedTokenizer", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}
