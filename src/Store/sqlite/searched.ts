import type { KeywordRow } from "../../postings/build.ts"
import { searchedHeading, searchedTitle } from "../../entities/naming.ts"
import { languageOf } from "./languages.ts"
import { headingOf } from "./passage.ts"

/** The columns of a passage and its document in which words are searched. */
export interface SearchedRow {
  readonly id: number
  readonly title: string | null
  readonly source: string | null
  readonly heading: string
  readonly table_header: string | null
  readonly text: string
  readonly language: string | null
}

/** Its columns, from `passages AS p` and `documents AS d`. */
export const searchedColumns = "p.id, d.title, d.source, p.heading, p.table_header, p.text, d.language"

/** The passage in the form from which its terms are made. */
export const toKeywordRow = ({
  heading,
  id,
  language,
  source,
  table_header,
  text,
  title
}: SearchedRow): KeywordRow => ({
  id,
  title: searchedTitle(title, source),
  heading: searchedHeading({ heading: headingOf(heading), tableHeader: table_header ?? undefined }),
  text,
  language: languageOf(language)
})
