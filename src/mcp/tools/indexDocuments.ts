import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Indexer } from "../../Indexer.ts"
import { toIndexResponse } from "../../api/Documents.ts"
import { boundedSource } from "../../citations/line.ts"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentInput } from "../../model/Document.ts"
import { EmbedderUnavailable } from "../../Embedder.ts"
import { make, mostItems } from "../Tool.ts"
import { defaultMaxTokens, described, fitting, maxTokens, plural, tooFewTokens } from "./answers.ts"

const IndexArguments = Schema.Struct({
  documents: Schema.Array(DocumentInput).pipe(
    Schema.minItems(1),
    Schema.maxItems(mostItems),
    Schema.annotations({
      jsonSchema: {
        type: "array",
        minItems: 1,
        maxItems: mostItems,
        description: `1 to ${mostItems}`,
        items: {
          type: "object",
          required: ["content"],
          properties: {
            content: { type: "string" },
            metadata: {
              type: "object",
              properties: { source: { type: "string" }, title: { type: "string" } },
              additionalProperties: true
            },
            doc_id: { type: "string" }
          },
          additionalProperties: false
        }
      }
    })
  ),
  collection: Schema.optional(described(CollectionName, "Created if new")),
  maxTokens
})

/** Tokens of an answer that lists no document. */
const leastTokens = 200

/** Seconds without progress: most clients give up a call after 60. */
const patienceSeconds = 45

/** Fails if nothing is reported for so long; the reason is most likely the embedder. */
export const whileProgressing = <A, E, R>(
  work: (reported: () => void) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | EmbedderUnavailable, R> =>
  Effect.suspend(() => {
    let reports = 0
    const stalled: Effect.Effect<never, EmbedderUnavailable> = Effect.suspend(() => {
      const before = reports
      return Effect.zipRight(
        Effect.sleep(Duration.seconds(patienceSeconds)),
        Effect.suspend(() =>
          reports > before
            ? stalled
            : new EmbedderUnavailable({
                reason: `no document was stored for ${patienceSeconds} s, so the embedder is too slow or does not answer; give fewer documents at once. What was stored stays`
              })
        )
      )
    })
    return Effect.raceFirst(
      work(() => void reports++),
      stalled
    )
  })

export const indexDocuments = make({
  name: "index_documents",
  title: "Add documents to the index",
  description: () =>
    "Add documents to the user's index, only when the user asks for it. " +
    "content: Markdown is split at its headings; metadata: source (a unique path or label, to cite and replace it by), title, keys of your own, to filter by.",
  input: IndexArguments,
  unlisted: ["max_tokens"],
  writes: true,
  run: ({ collection: name = defaultCollection, documents: inputs, maxTokens = defaultMaxTokens }, _, { progress }) =>
    Effect.gen(function* () {
      // Before anything is stored.
      if (maxTokens < leastTokens) return yield* tooFewTokens(maxTokens, "the answer", leastTokens)
      const indexer = yield* Indexer
      const [took, outcomes] = yield* Effect.timed(
        whileProgressing((reported) =>
          indexer.index(inputs, name, (done) => {
            reported()
            return progress(done, inputs.length, `Indexed ${done} of ${plural(inputs.length, "document")}`)
          })
        )
      )
      const all = toIndexResponse(outcomes, Duration.toMillis(took))
      const lines = all.documents.map(({ chunks, doc_id, source, status }) =>
        status === "skipped"
          ? `- skipped, since it holds no text: ${boundedSource(source ?? doc_id)}`
          : `- ${status}: ${boundedSource(source ?? doc_id)} (doc_id ${doc_id}, ${plural(chunks, "passage")})`
      )
      const opening = `Indexed ${plural(all.indexed, "document")} in ${plural(all.chunks, "passage")}, ${all.unchanged} unchanged${all.skipped === undefined ? "" : `, ${all.skipped} skipped`} (${all.index_time_ms} ms).${all.indexed === 0 ? "" : " They can be searched now."}`
      return yield* fitting(
        all.documents.map((structured, at) => ({ structured, text: [lines[at]!] })),
        maxTokens,
        "the answer",
        (shown) => {
          const left = lines.length - shown
          return {
            structured: { ...all, documents: all.documents.slice(0, shown), omitted: left || undefined },
            text: [[opening, ...lines.slice(0, shown), ...(left === 0 ? [] : [`- and ${left} more`])].join("\n")]
          }
        },
        { least: 0 }
      )
    })
})
