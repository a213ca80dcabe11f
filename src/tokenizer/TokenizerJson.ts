import * as Schema from "effect/Schema"

/** A step and its options. One schema each, so that an error lists them all. */
const step = <Type extends string, Options extends Schema.Struct.Fields>(type: Type, options: Options) =>
  Schema.Struct({ type: Schema.Literal(type), ...options })

const flag = (fallback: boolean) => Schema.optionalWith(Schema.Boolean, { default: () => fallback })

/** A literal string, or a regular expression in Oniguruma's syntax. */
const Pattern = Schema.Union(Schema.Struct({ String: Schema.String }), Schema.Struct({ Regex: Schema.String }))
export type Pattern = typeof Pattern.Type

const BertNormalizer = step("BertNormalizer", {
  clean_text: flag(true),
  handle_chinese_chars: flag(true),
  strip_accents: Schema.optionalWith(Schema.NullOr(Schema.Boolean), { default: () => null }),
  lowercase: flag(true)
})
export type BertNormalizer = typeof BertNormalizer.Type

const FlatNormalizer = Schema.Union(
  BertNormalizer,
  step("Lowercase", {}),
  step("NFC", {}),
  step("NFD", {}),
  step("NFKC", {}),
  step("NFKD", {}),
  step("Nmt", {}),
  step("StripAccents", {}),
  step("Strip", { strip_left: flag(true), strip_right: flag(true) }),
  step("Prepend", { prepend: Schema.String }),
  step("Replace", { pattern: Pattern, content: Schema.String }),
  step("Precompiled", {
    precompiled_charsmap: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null })
  })
)

/** How text is rewritten before it is split. */
export type Normalizer =
  | typeof FlatNormalizer.Type
  | { readonly type: "Sequence"; readonly normalizers: ReadonlyArray<Normalizer> }

export const Normalizer: Schema.Schema<Normalizer, any> = Schema.Union(
  ...FlatNormalizer.members,
  step("Sequence", {
    normalizers: Schema.Array(Schema.suspend((): Schema.Schema<Normalizer, any> => Normalizer))
  })
)

/** What happens to a delimiter. */
const Behavior = Schema.Literal("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
export type Behavior = typeof Behavior.Type

const Metaspace = step("Metaspace", {
  replacement: Schema.optionalWith(Schema.NonEmptyString, { default: () => "▁" }),
  prepend_scheme: Schema.optional(Schema.Literal("always", "first", "never")),
  /** In files written before prepend_scheme. */
  add_prefix_space: flag(true),
  split: flag(true)
})
export type Metaspace = typeof Metaspace.Type

const FlatPreTokenizer = Schema.Union(
  step("BertPreTokenizer", {}),
  step("Whitespace", {}),
  step("WhitespaceSplit", {}),
  step("Punctuation", { behavior: Schema.optionalWith(Behavior, { default: () => "Isolated" as const }) }),
  step("Digits", { individual_digits: flag(false) }),
  step("Split", { pattern: Pattern, behavior: Behavior, invert: flag(false) }),
  step("CharDelimiterSplit", { delimiter: Schema.String }),
  Metaspace,
  step("ByteLevel", { add_prefix_space: flag(true), use_regex: flag(true) })
)

/** How normalised text is split into the pieces that the model sees one by one. */
export type PreTokenizer =
  | typeof FlatPreTokenizer.Type
  | { readonly type: "Sequence"; readonly pretokenizers: ReadonlyArray<PreTokenizer> }

export const PreTokenizer: Schema.Schema<PreTokenizer, any> = Schema.Union(
  ...FlatPreTokenizer.members,
  step("Sequence", {
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

const WordPiece = step("WordPiece", {
  unk_token: Schema.optionalWith(Schema.String, { default: () => "[UNK]" }),
  continuing_subword_prefix: Schema.optionalWith(Schema.String, { default: () => "##" }),
  max_input_chars_per_word: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 100 })
})
export type WordPiece = typeof WordPiece.Type

const Unigram = step("Unigram", {
  unk_id: Schema.optionalWith(Schema.NullOr(Schema.NonNegativeInt), { default: () => null }),
  byte_fallback: flag(false)
})
export type Unigram = typeof Unigram.Type

/** Without a dropout, and without marks at the beginning or end of words. */
const Bpe = step("BPE", {
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
  step("TemplateProcessing", {
    single: Schema.Array(TemplatePiece),
    pair: Schema.Array(TemplatePiece),
    special_tokens: Schema.Record({ key: Schema.String, value: Schema.Struct({ ids: Schema.Array(Schema.Int) }) })
  }),
  step("BertProcessing", { cls: Special, sep: Special }),
  step("RobertaProcessing", { cls: Special, sep: Special }),
  // It moves offsets only.
  step("ByteLevel", {})
)

/** The special tokens around a text, or around two. */
export const PostProcessor = Schema.Union(
  ...FlatPostProcessor.members,
  step("Sequence", { processors: Schema.Array(FlatPostProcessor) })
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
