import given from "graphology-metrics/centrality/pagerank.js"

/** A CommonJS module whose types wrongly nest its default export one level too deep. */
export const pagerank = given as unknown as typeof given.default
