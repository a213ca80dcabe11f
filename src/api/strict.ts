/** What a request brings has to be known, and everything that is wrong with it is told at once. */
export const strict = { parseOptions: { onExcessProperty: "error", errors: "all" } } as const
