import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Embedder } from "../Embedder.ts"
import { Embedders } from "../Embedders.ts"
import { type CollectionName, type EmbedderIdentity, presently, sameEmbedder } from "../model/Collection.ts"
import type { ReindexState } from "../model/Stored.ts"
import { ReindexStore, Store } from "../Store.ts"
import { embeddedText } from "../chunking/embedded.ts"

/** The progress of a change of embedder. */
export interface Progress extends ReindexState {
  readonly from: EmbedderIdentity
  readonly to: EmbedderIdentity
  /** False throughout if the collection already has that embedder. */
  readonly changed: boolean
  /** Whether the configuration names an embedder; otherwise a collection keeps its own. */
  readonly insists: boolean
}

const batch = 256

/**
 * Switches a collection to the configured embedder. With `auto` it only resumes an interrupted change, since nobody
 * chose the embedder that happens to answer now. New vectors are written beside the old ones, which are used until all
 * are there; then the collection switches at once. An interrupted change resumes. Of two concurrent changes one fails
 * with `ReindexTakenOver`: the earlier one if they are to different embedders, else the one that is behind.
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

    /** The recorded embedder's current identity: its name may mean another model by now. */
    const present = (name: CollectionName, recorded: EmbedderIdentity, force: boolean) =>
      embedders.forCollection({ name, embedder: presently(recorded) }).pipe(
        Effect.flatMap(({ identity }) => identity),
        Effect.catchTag("EmbedderMismatch", ({ configured }) => Effect.succeed(configured)),
        // If it does not answer, the collection keeps its embedder, unless forced.
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
      // The embedder chosen now, even if `auto` would choose another one later.
      const embedder = yield* embedders.forCollection({ name, embedder: to })
      return Stream.concat(
        Stream.succeed(first),
        Stream.unfoldEffect(first, (before) =>
          Effect.gen(function* () {
            if (before.changed) return Option.none()
            const done = before.done + (yield* step(name, to, embedder))
            const ended = done === before.done ? yield* store.finishReindex(name, to) : undefined
            // Passages deleted meanwhile were counted when they were embedded.
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
      /** Emits progress, at the end with `changed`. `force`: even if the collection already has that embedder. */
      run: (name: CollectionName, { force = false }: { readonly force?: boolean } = {}) =>
        Stream.unwrap(start(name, force))
    }
  })
}) {}
