/**
 * The purpose of opening the index:
 *
 * - `write` creates it if there is none;
 * - `change` and `read` need it to exist;
 * - `shrink` needs that too, and frees space even on a full disk;
 * - `readonly` needs that too, and never writes;
 * - `preview` writes nothing and treats a missing index as empty;
 * - `temporary` is a new index that is deleted with the command.
 */
export type Purpose = "write" | "change" | "shrink" | "read" | "readonly" | "preview" | "temporary"
