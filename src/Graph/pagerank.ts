import given from "graphology-metrics/centrality/pagerank.js"

/** A module of CommonJS, whose types say that its default is one level deeper than it is. */
export const pagerank = given as unknown as typeof given.default
