/**
 * The version of the terms that `terms` and `queryTerms` make from a text, and of the texts of a passage that terms are
 * made from. If you change what a text's terms are, raise it by one; nothing else is needed. Postings of a lower version
 * are rebuilt from the stored texts (Store/sqlite/rebuild.ts), at once or in the background, and answer until then. A
 * change that only affects how queries are looked up needs no new version.
 */
export const termsVersion = 4
