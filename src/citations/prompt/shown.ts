import type { Hit } from "../../model/SearchResult.ts"

const cells = /(?<!\\)\|/
const codeFence = /^\s{0,3}(`{3,}|~{3,})/

const unpaddedRow = (row: string): string => {
  const inner = row.trim().split(cells).slice(1)
  const isClosed = inner.at(-1)?.trim() === ""
  const words = (isClosed ? inner.slice(0, -1) : inner).map((cell) => {
    const word = cell.trim()
    return /^:?-{4,}:?$/.test(word) ? `${word.startsWith(":") ? ":" : ""}---${word.endsWith(":") ? ":" : ""}` : word
  })
  return words.length === 0 ? row : `| ${words.join(" | ")}${isClosed ? " |" : ""}`
}

/** A text without the blanks that align its tables' columns; code is unchanged. */
export const unpadded = (text: string): string => {
  if (!text.includes("|")) return text
  let open: string | undefined
  return text
    .split("\n")
    .map((line) => {
      const mark = codeFence.exec(line)?.[1]
      if (mark !== undefined) {
        if (open === undefined) open = mark
        else if (mark.startsWith(open)) open = undefined
      }
      return open === undefined && line.trimStart().startsWith("|") ? unpaddedRow(line) : line
    })
    .join("\n")
}

const isPath = (source: string): boolean => source.startsWith("/") || /^[a-z]:[\\/]/i.test(source)

/** The hits' sources in short: for paths, only the part below their common folder. */
export const shortSources = (hits: ReadonlyArray<Hit>): ((source: string) => string) => {
  const folders = [...new Set(hits.map(({ document }) => document.source).filter(isPath))].map((source) =>
    source.split(/[\\/]/).slice(0, -1)
  )
  const [first = [], ...others] = folders
  let common = first.length
  for (const folder of others) {
    let same = 0
    while (same < common && folder[same] === first[same]) same++
    common = same
  }
  // Only a root in common, or nothing: shortening saves nothing.
  return (source) => (isPath(source) && common > 0 ? source.split(/[\\/]/).slice(common).join("/") : source)
}

/** Whether lines and indentation carry meaning, as in code. */
const isCode = /```|^(?: {2,}|\t)\S|[{};=<>()[\]]$/m

/** The question as a line; code in it keeps its lines, fenced. */
export const questionLine = (query: string, fence: (text: string) => string): string => {
  const lines = query.replace(/\r\n?|[\u2028\u2029\u0085]/g, "\n").replace(/[^\P{Cc}\n\t]/gu, " ")
  if (!lines.trim().includes("\n") || !isCode.test(lines)) {
    const words = lines.split("\n").map((line) => line.trim())
    return `Question: ${words.filter((line) => line !== "").join(" ")}`
  }
  const whole = lines.replace(/^(?:[ \t]*\n)+/, "").trimEnd()
  const marks = fence(whole)
  return `Question:\n${marks}\n${whole}\n${marks}`
}
