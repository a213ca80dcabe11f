import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { someText } from "../../api/endpoint.ts"
import { bounded, boundedSource, oneLine } from "../../citations/line.ts"
import { Graph } from "../../Graph.ts"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { within } from "../../model/fields.ts"
import { placeOf, Relation } from "../../model/Graph.ts"
import { refuse } from "../RpcError.ts"
import { make } from "../Tool.ts"
import { defaultMaxTokens, described, fitting, guard, maxTokens, plural, quote } from "./answers.ts"

/** Most mentions in an answer; an entity has up to fifty. */
const mostMentions = 20
const nameCharacters = 200

const shown = (text: string): string => bounded(text, nameCharacters)

export const graphQuery = make({
  name: "graph_query",
  title: "Knowledge graph",
  description: () => "Where documents define or mention a name, title or symbol, and its neighbours.",
  input: Schema.Struct({
    entity: someText("entity", 1000, "Its name"),
    hops: Schema.optional(within("hops", "Hops", Schema.Int, { min: 1, max: 3 }, "Steps to neighbours")),
    kind: Schema.optional(described(Relation, "Only this relation")),
    collection: Schema.optional(described(CollectionName, "Its collection")),
    maxTokens
  }),
  defaults: () => ({ hops: 1 }),
  unlisted: ["collection", "max_tokens"],
  run: ({ collection = defaultCollection, entity, hops = 1, kind, maxTokens = defaultMaxTokens }) =>
    Effect.gen(function* () {
      const found = yield* (yield* Graph)
        .entity(collection, entity, { hops, kinds: kind === undefined ? undefined : new Set([kind]) })
        .pipe(
          Effect.catchTag("EntityNotFound", ({ near }) =>
            refuse(
              "entity",
              `entity: the graph of collection ${collection} has no ${JSON.stringify(bounded(entity, nameCharacters))}; ${near === undefined ? "try a shorter or longer name, as in the documents" : `did you mean ${JSON.stringify(shown(near))}?`}`
            )
          )
        )
      const mentions = found.mentions.slice(0, mostMentions).map((mention) => ({
        ...mention,
        name: shown(mention.name),
        source: boundedSource(mention.source)
      }))
      const neighbours = found.neighbours.map((neighbour) => ({
        ...neighbour,
        name: shown(neighbour.name),
        source: boundedSource(neighbour.source)
      }))
      const opening = `${found.at_least === true ? "At least " : ""}${plural(found.documents, "document has", "documents have")} a relation to this entity. ${guard}`
      const about = {
        ...found,
        name: shown(found.name),
        ...(found.description === undefined ? {} : { description: oneLine(found.description) })
      }
      const lines = [
        ...mentions.map((mention) => `${mention.relation} ${mention.source}${shown(placeOf(mention))} ${mention.name}`),
        ...neighbours.map(
          ({ hops, name, relation, says, source, ...place }) =>
            `neighbour ${name} (${relation}, ${plural(hops, "step")}) ${source}${shown(placeOf(place))}${says === undefined ? "" : ` ${shown(says)}`}`
        )
      ]
      return yield* fitting(
        [...mentions, ...neighbours].map((structured, at) => ({ structured, text: [lines[at]!] })),
        maxTokens,
        "the answer with one mention",
        (count) => {
          const left = lines.length - count
          const cut =
            left === 0
              ? ""
              : ` ${plural(left, "mention or neighbour was", "mentions and neighbours were")} left out to fit max_tokens=${maxTokens}.`
          const notice = `${opening}${cut}`
          return {
            structured: {
              ...about,
              notice,
              omitted: left === 0 ? undefined : left,
              mentions: mentions.slice(0, count),
              neighbours: neighbours.slice(0, Math.max(0, count - mentions.length))
            },
            text: [
              [
                notice,
                quote([
                  about.name,
                  ...(about.description === undefined ? [] : [about.description]),
                  ...lines.slice(0, count)
                ])
              ].join("\n\n")
            ]
          }
        }
      )
    })
})
