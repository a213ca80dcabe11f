const rules =
  /\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|cline\{[^{}]{0,40}\}|cmidrule\{[^{}]{0,40}\})/g

/** The column specification. */
const columns = /^(?:[ \t\n]*\[[^\]]{0,20}\])?(?:[ \t\n]*\{(?:[^{}]|\{[^{}]{0,200}\}){0,500}\}){1,2}/

const mostRows = 10_000

/** The cells of a table's body, unchanged. */
export const tableCells = (body: string): ReadonlyArray<ReadonlyArray<string>> =>
  body
    .replace(columns, "")
    .replace(rules, "")
    .split(/\\\\(?:\[[^\]]{0,20}\])?/)
    .slice(0, mostRows)
    .map((row) => row.split(/(?<!\\)&/))
