import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Graph } from "../../Graph.ts"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { placeOf, Relation } from "../../model/Graph.ts"
import { bounded, oneLine } from "../../citations/prompt.ts"
import { invalidParams } from "../RpcError.ts"
import { make } from "../Tool.ts"
import { guard, quote } from "./quoted.ts"
import { described, plural } from "./request.ts"

/** Most mentions in an answer; an entity has up to fifty. */
const mostMentions = 20
const nameCharacters = 200

const shown = (text: string): string => bounded(oneLine(text), nameCharacters)

/** The fields of `GraphEntity`, in a schema with fewer tokens than HTTP's. */
const Known = Schema.Struct({
  notice: Schema.String,
  name: Schema.String,
  description: Schema.optional(Schema.String),
  documents: Schema.Int,
  mentions: Schema.Array(Schema.Unknown),
  neighbours: Schema.Array(Schema.Unknown)
})

export const graphQuery = make({
  name: "graph_query",
  title: "Knowledge graph",
  description: () => "Where documents define or mention a name, title or symbol, and its neighbours.",
  input: Schema.Struct({
    entity: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1000)).annotations({
      description: "Name, title or symbol"
    }),
    hops: Schema.optional(Schema.Int.pipe(Schema.between(1, 3)).annotations({ description: "Steps to neighbours" })),
    kind: Schema.optional(described(Relation, "Only this relation")),
    collection: Schema.optional(described(CollectionName, "Its collection"))
  }),
  output: Known,
  defaults: () => ({ hops: 1 }),
  run: ({ collection = defaultCollection, entity, hops = 1, kind }) =>
    Effect.gen(function* () {
      const found = yield* (yield* Graph)
        .entity(collection, entity, { hops, kinds: kind === undefined ? undefined : new Set([kind]) })
        .pipe(
          Effect.catchTag("EntityNotFound", () =>
            invalidParams([
              {
                path: "entity",
                message: `entity: the graph of collection ${collection} has no ${JSON.stringify(bounded(entity, nameCharacters))}; try a shorter or longer name, as in the documents`
              }
            ])
          )
        )
      const mentions = found.mentions
        .slice(0, mostMentions)
        .map((mention) => ({ ...mention, name: shown(mention.name), source: shown(mention.source) }))
      const neighbours = found.neighbours.map((neighbour) => ({
        ...neighbour,
        name: shown(neighbour.name),
        source: shown(neighbour.source)
      }))
      const notice = `${plural(found.documents, "document has", "documents have")} a relation to this entity. ${guard}`
      return {
        structured: {
          ...found,
          notice,
          name: shown(found.name),
          ...(found.description === undefined ? {} : { description: oneLine(found.description) }),
          mentions,
          neighbours
        },
        text: [
          [
            notice,
            quote([
              shown(found.name),
              ...(found.description === undefined ? [] : [oneLine(found.description)]),
              ...mentions.map(
                (mention) => `${mention.relation} ${mention.source}${shown(placeOf(mention))} ${mention.name}`
              ),
              ...neighbours.map(
                ({ hops, name, relation, says, source, ...place }) =>
                  `neighbour ${name} (${relation}, ${plural(hops, "step")}) ${source}${shown(placeOf(place))}${says === undefined ? "" : ` ${shown(says)}`}`
              )
            ])
          ].join("\n\n")
        ]
      }
    })
})
