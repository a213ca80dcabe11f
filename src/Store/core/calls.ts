import * as Effect from "effect/Effect"
import { CollectionNotFound, EmbedderMismatch, type Whole } from "../../Store.ts"
import { type CollectionName, type EmbedderIdentity, sameEmbedder } from "../../model/Collection.ts"
import { spanning } from "../../runtime/tracing.ts"
import { nearest } from "../../terms/nearest.ts"

type Name = keyof Whole
type Outcome = Effect.Effect<unknown, unknown>

/** A store with the calls of another; `through` does each, on whatever store. */
export const forwarding = (store: Whole, through: (name: Name, call: (store: Whole) => Outcome) => Outcome): Whole =>
  Object.fromEntries(
    (Object.keys(store) as ReadonlyArray<Name>).map((name) => [
      name,
      typeof store[name] === "function"
        ? (...args: ReadonlyArray<unknown>) =>
            through(name, (on) => (on[name] as unknown as (...args: ReadonlyArray<unknown>) => Outcome)(...args))
        : through(name, (on) => on[name] as Outcome)
    ])
  ) as unknown as Whole

/** A store whose calls run under spans of their names, if anybody collects them. */
export const traced = (store: Whole): Whole =>
  forwarding(store, (name, call) =>
    spanning(
      Effect.suspend(() => call(store)),
      `Store.${name}`
    )
  )

/** There is no collection of this name among those that are known. */
export const notFound = (name: CollectionName, known: ReadonlyArray<CollectionName>): CollectionNotFound => {
  const [similar] = nearest(name, known)
  return new CollectionNotFound({ name, near: known.find((each) => each === similar) })
}

/** Fails unless documents were embedded by the collection's own embedder; undefined: they were. */
export const embeddedBy = (
  { embedder: recorded, name: collection }: { readonly name: CollectionName; readonly embedder: EmbedderIdentity },
  configured: EmbedderIdentity | undefined
): Effect.Effect<void, EmbedderMismatch> =>
  configured === undefined || sameEmbedder(recorded, configured)
    ? Effect.void
    : new EmbedderMismatch({ collection, recorded, configured })

/** Looks for words in one collection after another, in each for those that were not found before. */
export const anywhere = Effect.fnUntraced(function* <E>(
  names: ReadonlyArray<CollectionName>,
  words: ReadonlyArray<string>,
  look: (name: CollectionName, left: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, E>
) {
  const found: Array<string> = []
  for (const name of names) {
    const left = words.filter((word) => !found.includes(word))
    if (left.length > 0) found.push(...(yield* look(name, left)))
  }
  return found
})
