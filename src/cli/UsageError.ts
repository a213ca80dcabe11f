import * as Schema from "effect/Schema"

/** The command line cannot be understood; the message names what was wrong. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", {
  detail: Schema.String,
  /** The command it happened in, as it is typed: `clew query`. */
  command: Schema.String
}) {
  override get message() {
    return this.detail
  }
}
