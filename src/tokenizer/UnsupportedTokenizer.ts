import * as Schema from "effect/Schema"

/** The tokenizer.json is damaged, or needs something that is not implemented; the reason says what and where. */
export class UnsupportedTokenizer extends Schema.TaggedError<UnsupportedTokenizer>()("UnsupportedTokenizer", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}
