/**
 * The version of what `terms` and `queryTerms` make of a text, and of which texts of a passage they are made. Whoever changes what a text's terms are raises it by one,
 * and that is all there is to do: postings made with a lower one are made anew from the stored texts (Store/keyword/rebuild.ts),
 * at once or beside everything else, and answer until then. A change to what only queries are looked up by needs none.
 */
export const termsVersion = 3
