import type { Passage } from "../model/Passage.ts"

type Embedded = Pick<Passage, "heading" | "tableHeader" | "text">

/** The text of a passage that is embedded: its document's title, its headings and its table's header, then its text. */
export const embeddedText = (title: string | undefined, { heading, tableHeader, text }: Embedded): string =>
  [title ?? "", ...heading.filter((part) => part !== title), tableHeader ?? "", text]
    .filter((part) => part !== "")
    .join("\n")
