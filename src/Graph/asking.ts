import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { orEmpty } from "../Collections.ts"
import { type Llm, LlmUnavailable } from "../Llm.ts"
import type { CollectionName } from "../model/Collection.ts"
import type { UnaskedPassage } from "../model/Graph.ts"
import type { GraphStore } from "../Store.ts"
import { answerSchema, promptFor, toSaid } from "../entities/said.ts"

const page = 100
const concurrency = 4

/** The plan before any question is asked. */
export interface AskingPlan {
  /** The model, under whose name answers are stored. */
  readonly model: string
  readonly passages: number
  /** Most calls needed: passages with the same words share one. */
  readonly calls: number
}

/** The result of a call. */
export interface AskedPassage {
  /** Whether the answer was usable; otherwise the next run asks again. */
  readonly usable: boolean
  readonly entities: number
  readonly relations: number
}

const noModel = (why: string | undefined) =>
  new LlmUnavailable({
    reason:
      `No language model is available to read the passages${why === undefined ? "" : `: ${why}`}; ` +
      "start the one that [llm] names, or build the graph without --llm"
  })

/** Steps through a collection's passages, each from where the last one ended, until one finds none. */
export const stepping = <Step extends { readonly seen: number; readonly through: number }, E, R>(
  next: (after: number) => Effect.Effect<Step, E, R>
) =>
  Stream.unfoldEffect(0, (after) =>
    Effect.map(next(after), (step) => (step.seen === 0 ? Option.none() : Option.some([step, step.through] as const)))
  )

/** Lets a language model read passages for the graph. */
export const make = (store: GraphStore["Type"], llm: Llm["Type"]) => {
  const passages = (collection: CollectionName, model: string) =>
    stepping((after) =>
      orEmpty(collection, { seen: 0, through: after, taken: 0, passages: [] })(
        store.graphUnasked(collection, model, after, page)
      )
    )

  const askOne = Effect.fnUntraced(function* (
    collection: CollectionName,
    { id, ...asked }: UnaskedPassage,
    plan: AskingPlan,
    named: string | undefined
  ) {
    const generation = yield* llm.answer({
      query: "",
      hits: [],
      prompt: promptFor(asked),
      schema: answerSchema,
      model: named,
      temperature: 0
    })
    if (generation.llm.backend === "extractive") return yield* noModel(generation.llm.why)
    const text = yield* Stream.runFold(generation.fragments, "", (before, fragment) => before + fragment).pipe(
      // The model is there, and has nothing to say of this text.
      Effect.catchIf(
        ({ empty }) => empty === true,
        () => Effect.succeed("")
      )
    )
    return yield* Option.match(toSaid(text, asked), {
      onNone: () => Effect.succeed<AskedPassage>({ usable: false, entities: 0, relations: 0 }),
      onSome: (said) =>
        Effect.map(store.keepSaid(collection, id, plan.model, said), (kept): AskedPassage => ({
          usable: true,
          entities: kept ? said.entities.length : 0,
          relations: kept ? said.relations.length : 0
        }))
    })
  })

  return {
    /** Which model will be called, and how often; fails without a model. */
    plan: Effect.fn("Graph.plan")(function* (collection: CollectionName, named?: string) {
      const { backend, model, why } = yield* llm.identity(named)
      if (backend === "extractive" || model === undefined) return yield* noModel(why)
      const plan = yield* Stream.runFold(passages(collection, model), { passages: 0, calls: 0 }, (sum, step) => ({
        passages: sum.passages + step.seen,
        calls: sum.calls + step.passages.length
      }))
      return { model, ...plan } satisfies AskingPlan
    }),

    /** Asks about every passage that the plan's model has not read. If interrupted, the next run resumes. */
    run: (collection: CollectionName, plan: AskingPlan, named?: string) =>
      passages(collection, plan.model).pipe(
        Stream.flatMap((step) => Stream.fromIterable(step.passages)),
        Stream.mapEffect((passage) => askOne(collection, passage, plan, named), {
          concurrency,
          unordered: true
        })
      )
  }
}
