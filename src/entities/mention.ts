/** A span of a text: UTF-16 offsets, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * A passage's relation to an entity. `defines`: the entity is the document's title or another name of it. `heads`: the
 * passage is under a heading of that name. `links`: it links to the document. `imports`: its code imports the file.
 * `mentions`: it names it.
 */
export const relations = ["defines", "heads", "links", "imports", "mentions"] as const
export type Relation = (typeof relations)[number]

/**
 * A passage's relation to an entity, with its evidence: the span of the passage's text that shows it, if there is one.
 */
export interface Mention extends Span {
  readonly key: string
  readonly relation: Relation
}
