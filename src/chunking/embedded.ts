import type { Passage } from "../model/Passage.ts"
import { unpadded } from "./chunk/unit.ts"

type Embedded = Pick<Passage, "heading" | "tableHeader" | "text">

/**
 * The text of a passage that is embedded: its document's title, its headings and its table's header, then its text,
 * without what aligns a table's columns: that counts for nothing in a passage's size, and models read so many tokens. If
 * it changes, so does `presentMaking`; `making` is that of an older collection.
 */
export const embeddedText = (
  title: string | undefined,
  { heading, tableHeader, text }: Embedded,
  making?: number
): string =>
  [
    title ?? "",
    ...heading.filter((part) => part !== title),
    ...(making === 1 ? [text] : [tableHeader ?? "", text.includes("|") ? unpadded(text, " ") : text])
  ]
    .filter((part) => part !== "")
    .join("\n")
