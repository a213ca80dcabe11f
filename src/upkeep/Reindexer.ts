import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Embedder } from "../Embedder.ts"
import { Embedders } from "../Embedders.ts"
import { type CollectionName, type EmbedderIdentity, sameEmbedder } from "../model/Collection.ts"
import type { ReindexState } from "../model/Stored.ts"
import { ReindexStore, Store } from "../Store.ts"
import { embeddedText } from "../text/embedded.ts"

/** How a change of embedder stands. */
export interface Progress extends ReindexState {
  readonly from: EmbedderIdentity
  readonly to: EmbedderIdentity
  /** False to the end where the collection has that embedder already. */
  readonly changed: boolean
  /** Whether the configuration insists on an embedder; where it does not, a collection keeps its own. */
  readonly insists: boolean
}

const batch = 256

/**
 * Changes a collection over to the embedder that the configuration insists on; where it insists on none, only a change
 * that was broken off goes on, since what happens to answer now is nobody's choice. Its passages get new vectors beside the old ones, which answer
 * until all are there; then it changes over at once. Broken off, it goes on where it was. Of two changes at once one
 * fails with `ReindexTakenOver`: the earlier one where they are to different embedders, else the one that is behind.
 */
export class Reindexer extends Effect.Service<Reindexer>()("clew/Reindexer", {
  effect: Effect.gen(function* () {
    const documents = yield* Store
    const store = yield* ReindexStore
    const embedders = yield* Embedders

    const step = Effect.fn("Reindexer.step")(function* (
      name: CollectionName,
      to: EmbedderIdentity,
      embedder: Embedder["Type"]
    ) {
      const { passages, position } = yield* store.unembedded(name, to, batch)
      const vectors = yield* embedder.embedPassages(passages.map((passage) => embeddedText(passage.title, passage)))
      yield* store.putReindexed(
        name,
        passages.map(({ id }, index) => ({ id, vector: vectors[index]! })),
        position
      )
      return passages.length
    })

    /** What the recorded embedder is by now, whose name may stand for another model than it did. */
    const present = (name: CollectionName, recorded: EmbedderIdentity, force: boolean) =>
      embedders.forCollection({ name, embedder: recorded }).pipe(
        Effect.flatMap(({ identity }) => identity),
        Effect.catchTag("EmbedderMismatch", ({ configured }) => Effect.succeed(configured)),
        // Who does not answer keeps what it has, unless it is to make all anew.
        Effect.catchTag("EmbedderUnavailable", (error) => (force ? error : Effect.succeed(recorded)))
      )

    const start = Effect.fnUntraced(function* (name: CollectionName, force: boolean) {
      const { embedder: from } = yield* documents.collection(name)
      const { insists } = embedders
      const begun = yield* store.reindexing(name)
      const to = insists
        ? yield* embedders.configured.identity
        : yield* present(
            name,
            Option.getOrElse(begun, () => from),
            force
          )
      const same = sameEmbedder(from, to) && !force && !(Option.isSome(begun) && sameEmbedder(begun.value, to))
      const state = same ? { done: 0, total: 0 } : yield* store.beginReindex(name, to)
      const first: Progress = { ...state, from, to, changed: false, insists }
      if (same) return Stream.succeed(first)
      // What was chosen now, whatever would be chosen by the time the last passage has its turn.
      const embedder = yield* embedders.forCollection({ name, embedder: to })
      return Stream.concat(
        Stream.succeed(first),
        Stream.unfoldEffect(first, (before) =>
          Effect.gen(function* () {
            if (before.changed) return Option.none()
            const done = before.done + (yield* step(name, to, embedder))
            const ended = done === before.done ? yield* store.finishReindex(name, to) : undefined
            // What was deleted meanwhile was counted as it was embedded.
            const counts = ended?.changed
              ? { done: ended.passages, total: ended.passages }
              : { done, total: Math.max(before.total, done) }
            const next: Progress = { ...before, ...counts, changed: ended?.changed ?? false }
            return Option.some([next, next] as const)
          })
        )
      )
    })

    return {
      /** Emits as it goes, at its end with `changed`. `force`: also where the collection has that embedder already. */
      run: (name: CollectionName, { force = false }: { readonly force?: boolean } = {}) =>
        Stream.unwrap(start(name, force))
    }
  })
}) {}
