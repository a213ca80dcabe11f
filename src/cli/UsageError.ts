import * as Schema from "effect/Schema"

/** The command line is invalid; the message says why. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", {
  detail: Schema.String,
  /** The command as typed: `clew query`. */
  command: Schema.String
}) {
  override get message() {
    return this.detail
  }
}
