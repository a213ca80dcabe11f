import type { TokenIds } from "./tokenIds.ts"

/** Tokenises a text's UTF-16 range, appends the ids of its known tokens to `out` if given, and returns its size. */
export type Scan = (text: string, start: number, end: number, out: TokenIds | undefined) => number
