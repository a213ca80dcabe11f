import { stem } from "./stem.ts"

/**
 * English words of grammar. Nearly every passage contains them, so they rank nothing (BM25 gives no weight to a term of
 * more than half of all passages), and they cost most of a query's time.
 */
const words =
  "a an the of in on at to for from by with as into onto and or but nor so if than then that this these those there " +
  "is are was were be been being am do does did has have had having will would shall should can could may might must " +
  "it its he him his she her they them their we our you your i my me who whom whose which what when where why how not no eg ie etc"

/** The terms of English function words. */
export const functionWords: ReadonlySet<string> = new Set(words.split(" ").map(stem))
