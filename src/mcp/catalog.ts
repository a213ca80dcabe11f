import type { Tool } from "./Tool.ts"
import { collectionInfo } from "./tools/collectionInfo.ts"
import { getDocument } from "./tools/getDocument.ts"
import { getPrompt } from "./tools/getPrompt.ts"
import { graphQuery } from "./tools/graphQuery.ts"
import { indexDocuments } from "./tools/indexDocuments.ts"
import { listSources } from "./tools/listSources.ts"
import { search } from "./tools/search.ts"

/** Every tool, in the order of listing. */
export const tools: ReadonlyArray<Tool> = [
  search,
  getPrompt,
  getDocument,
  listSources,
  collectionInfo,
  graphQuery,
  indexDocuments
]
