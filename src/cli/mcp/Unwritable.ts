import * as Data from "effect/Data"

/** A client's configuration file that was left as it is; the message says why, and how to go on. */
export class Unwritable extends Data.TaggedError("Unwritable")<{ readonly message: string }> {}
