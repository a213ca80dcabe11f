import * as Data from "effect/Data"

/** A client's configuration file was left as it is; the message says why, and what to do. */
export class Unwritable extends Data.TaggedError("Unwritable")<{ readonly message: string }> {}
