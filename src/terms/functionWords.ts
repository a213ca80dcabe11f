import { stem } from "porter2"
import { english } from "./languages.ts"

/**
 * The terms of English words of grammar. Nearly every passage contains them, so they rank nothing (BM25 gives no weight
 * to a term of more than half of all passages), and they cost most of a query's time.
 */
export const functionWords: ReadonlySet<string> = new Set(`${english} eg ie etc`.split(" ").map(stem))
