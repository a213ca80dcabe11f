/**
 * What the index is opened for:
 *
 * - `write` makes it if there is none;
 * - `change` and `read` need it to exist;
 * - `shrink` too, and makes room even on a full disk;
 * - `readonly` too, and never writes;
 * - `preview` writes nothing and takes a missing one for empty;
 * - `temporary` is a new one that goes with the command.
 */
export type Purpose = "write" | "change" | "shrink" | "read" | "readonly" | "preview" | "temporary"
