import * as Data from "effect/Data"

/** A file given to a command cannot be read or written, although the command line is valid. */
export class FileUnusable extends Data.TaggedError("FileUnusable")<{ readonly message: string }> {}
