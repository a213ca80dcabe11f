import type { GetPromptResult, Prompt as Listed } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { bounded, boundedSource } from "../citations/line.ts"
import { CollectionName, defaultCollection } from "../model/Collection.ts"
import { NumberText } from "../model/fields.ts"
import { mustBe } from "../model/kinds.ts"
import { limits } from "../model/Limits.ts"
import { QueryText, TopK } from "../model/Query.ts"
import type { CollectionInfo } from "../model/Stats.ts"
import { Prompt } from "../Prompt.ts"
import { Store } from "../Store.ts"
import { didYouMean } from "../terms/nearest.ts"
import { refuse, type RpcError } from "./RpcError.ts"
import { decoder, type Needs, type Settings } from "./Tool.ts"
import { countFitting, defaultMaxTokens, guard, quote, remarksOn } from "./tools/answers.ts"
import { indexInfo, infoText } from "./tools/collectionInfo.ts"

const ragDefault = 3

/** Prompt arguments are always strings. */
const TopKText = NumberText.pipe(Schema.compose(TopK)).annotations({
  message: mustBe("top_k", `a whole number from ${limits.topK.min} to ${limits.topK.max}`)
})

const RagArguments = Schema.Struct({
  query: QueryText,
  topK: Schema.optional(TopKText).pipe(Schema.fromKey("top_k"))
})
const ragArguments = decoder(RagArguments)
// A struct without fields refuses none.
const noArguments = decoder(
  Schema.Struct({}).pipe(
    Schema.filter((args) =>
      Object.keys(args).map((name) => ({ path: [name], message: `${name} is unknown; there are no arguments` }))
    )
  )
)

export const listed: ReadonlyArray<Listed> = [
  {
    name: "rag_answer",
    title: "Answer from the index",
    description: "Answer a question from the indexed documents, citing the passages",
    arguments: [
      { name: "query", description: "The question", required: true },
      { name: "top_k", description: `Passages to give the model, 1 to 100 (default "${ragDefault}")`, required: false }
    ]
  },
  {
    name: "summarize_index",
    title: "Summarize the index",
    description: "Summarize what the indexed documents are about",
    arguments: []
  }
]

const asUser = (description: string, text: string): GetPromptResult => ({
  description,
  messages: [{ role: "user", content: { type: "text", text } }]
})

const ragAnswer = ({ query, topK }: typeof RagArguments.Type) =>
  Effect.gen(function* () {
    const { run } = yield* Prompt
    const request = { query, topK: topK ?? ragDefault, hybrid: true, fullSources: true, maxTokens: defaultMaxTokens }
    // Without a limit from the caller, at least one passage fits beside the longest question.
    const found = yield* Effect.catchTag(run(request), "BudgetTooSmall", ({ least }) =>
      run({ ...request, maxTokens: least })
    )
    const remarks = remarksOn(found).map((remark) => `(${remark})`)
    return asUser("The question with the passages found for it", [found.prompt, ...remarks].join("\n\n"))
  })

/** How many passages are sampled evenly over each collection; the first few are shown with their text. */
const sampled = 100
const quotedSamples = 12
const sampleCharacters = 600

/** Evenly spread numbers from 0 to 1. */
export const places = (count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => (count === 1 ? 0 : index / (count - 1)))

/** Passages spread over the index, each collection with its share, at least one. */
const samples = (collections: ReadonlyArray<CollectionInfo>, count: number) =>
  Effect.gen(function* () {
    const store = yield* Store
    const total = collections.reduce((sum, { chunks }) => sum + chunks, 0)
    const found = yield* Effect.forEach(collections.filter(({ chunks }) => chunks > 0).slice(0, count), (collection) =>
      store
        .sample(
          CollectionName.make(collection.name),
          places(Math.max(1, Math.min(collection.chunks, Math.round((count * collection.chunks) / total))))
        )
        .pipe(
          // Dropped since the list was read.
          Effect.catchTag("CollectionNotFound", () => Effect.succeed([])),
          Effect.map((passages) => passages.map((passage) => ({ ...passage, collection: collection.name })))
        )
    )
    return found.flat()
  })

type Sample = Effect.Effect.Success<ReturnType<typeof samples>>[number]

const nameOf = ({ collection, docId, source, title }: Sample): string =>
  boundedSource(source ?? docId) +
  (title === undefined ? "" : ` (${bounded(title)})`) +
  (collection === defaultCollection ? "" : `, collection ${collection}`)

const sampleText = (sample: Sample): string =>
  quote([
    `source: ${boundedSource(sample.source ?? sample.docId)}`,
    "",
    sample.text.length > sampleCharacters
      ? `${sample.text.slice(0, sampleCharacters).replace(/[\ud800-\udbff]$/, "")} …`
      : sample.text
  ])

const summarizeIndex = (settings: Settings) =>
  Effect.gen(function* () {
    const info = yield* indexInfo(settings)
    const names = [...new Set((yield* samples(info.collections, sampled)).map(nameOf))]
    const texts = (yield* samples(info.collections, quotedSamples)).map(sampleText)
    const shownNames = names.slice(0, yield* countFitting(names, defaultMaxTokens / 2))
    const shownTexts = texts.slice(0, yield* countFitting(texts, defaultMaxTokens / 2))
    const more = info.documents - shownNames.length
    const tools = ["list_sources", "search", "get_document"].filter((name) => settings.tools.includes(name))
    return asUser(
      "The contents of the index, to summarize",
      [
        "Summarize what this document index holds: its themes, the kinds of documents, and what questions it can answer. Name sources as examples. " +
          guard +
          (tools.length === 0 || info.documents === 0 ? "" : ` If that is not enough, use ${tools.join(", ")}.`),
        infoText({
          ...info,
          collections: info.collections.slice(0, 50),
          omitted: Math.max(0, info.collections.length - 50)
        }),
        ...(shownNames.length === 0
          ? []
          : [
              `${more > 0 ? `${shownNames.length} of the documents, sampled from the index` : "The documents"}:`,
              quote(shownNames),
              ...(more > 0 ? [`And ${more} more.`] : [])
            ]),
        ...(shownTexts.length === 0 ? [] : ["Passages of some of them:", ...shownTexts])
      ].join("\n\n")
    )
  })

/** Checks name and arguments, failing with -32602; returns the effect that does the work. */
export const get = (
  name: string,
  args: unknown,
  settings: Settings
): Effect.Effect<Effect.Effect<GetPromptResult, unknown, Needs>, RpcError> => {
  const names = listed.map((prompt) => prompt.name)
  switch (name) {
    case "rag_answer":
      return Effect.map(ragArguments(args), ragAnswer)
    case "summarize_index":
      return Effect.map(noArguments(args), () => summarizeIndex(settings))
    default:
      return refuse(
        "name",
        `name: there is no prompt ${JSON.stringify(name)}${didYouMean(name, names)}; available: ${names.join(", ")}`
      )
  }
}
