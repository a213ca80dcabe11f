import * as Data from "effect/Data"

/** A file that a command was given and that cannot be read or written: the command line was understood all the same. */
export class FileUnusable extends Data.TaggedError("FileUnusable")<{ readonly message: string }> {}
