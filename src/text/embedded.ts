import type { Passage } from "../model/Passage.ts"

/** What of a passage is embedded: its document's title and its headings, then its text. */
export const embeddedText = (title: string | undefined, passage: Pick<Passage, "heading" | "text">): string =>
  [title ?? "", ...passage.heading.filter((heading) => heading !== title), passage.text]
    .filter((part) => part !== "")
    .join("\n")
