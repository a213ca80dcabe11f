import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { Embedder } from "../Embedder.ts"
import { Embedders } from "../Embedders.ts"
import {
  type CollectionName,
  describeEmbedder,
  type EmbedderIdentity,
  presently,
  sameEmbedder,
  sameModel
} from "../model/Collection.ts"
import { untilMade } from "../Collections.ts"
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

/**
 * Passages in a step: the first one, and the most. Their embedding should take about a second, which a kill may lose; to
 * store them takes a cluster about as long for one as for many.
 */
const steps = { first: 32, most: 256, ms: 1000 }

/** How long another process's change must stand still before one in the background goes on with it: several steps. */
const patienceMs = 10_000

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
      embedder: Embedder["Type"],
      size: number
    ) {
      const { passages, position } = yield* store.unembedded(name, to, size)
      const [took, vectors] = yield* Effect.timed(
        embedder.embedPassages(passages.map((passage) => embeddedText(passage.title, passage)))
      )
      yield* store.putReindexed(
        name,
        passages.map(({ id }, index) => ({ id, vector: vectors[index]! })),
        position
      )
      return { count: passages.length, ms: Duration.toMillis(took) }
    })

    /** What the name means now, whatever it meant before. */
    const asked = ({ forget = Effect.void, identity, patient = identity }: Embedder["Type"]) =>
      Effect.zipRight(forget, patient)

    /** The recorded embedder's current identity: its name may mean another model by now. */
    const present = (name: CollectionName, recorded: EmbedderIdentity, force: boolean) =>
      embedders.forCollection({ name, embedder: presently(recorded) }, "patient").pipe(
        Effect.flatMap(asked),
        Effect.catchTag("EmbedderMismatch", ({ configured }) => Effect.succeed(configured)),
        // If it does not answer, the collection keeps its embedder, unless forced.
        Effect.catchTag("EmbedderUnavailable", (error) => (force ? error : Effect.succeed(recorded)))
      )

    const start = Effect.fnUntraced(function* (name: CollectionName, force: boolean) {
      const { embedder: from } = yield* documents.collection(name)
      const { insists } = embedders
      const begun = yield* store.reindexing(name)
      const to = insists
        ? yield* asked(embedders.configured)
        : yield* present(
            name,
            Option.getOrElse(begun, () => from),
            force
          )
      const same = sameEmbedder(from, to) && !force && !(Option.isSome(begun) && sameEmbedder(begun.value, to))
      // The server is back at the model that made the vectors.
      if (same && Option.isSome(begun)) yield* store.cancelReindex(name)
      const state = same ? { done: 0, total: 0 } : yield* store.beginReindex(name, to)
      const first: Progress = { ...state, from, to, changed: false, insists }
      if (same) return Stream.succeed(first)
      // The embedder chosen now, even if `auto` would choose another one later.
      const embedder = yield* embedders.forCollection({ name, embedder: to }, "patient")
      let size = steps.first
      return Stream.concat(
        Stream.succeed(first),
        Stream.unfoldEffect(first, (before) =>
          Effect.gen(function* () {
            if (before.changed) return Option.none()
            const { count, ms } = yield* step(name, to, embedder, size)
            const done = before.done + count
            size = Math.round(
              Math.min(steps.most, Math.max(1, ms > 2 * steps.ms ? size / 2 : ms < steps.ms / 2 ? 2 * size : size))
            )
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

    const run = (name: CollectionName, { force = false }: { readonly force?: boolean } = {}) =>
      Stream.unwrap(
        untilMade(name, () =>
          Effect.map(asked(embedders.configured), (to) =>
            Stream.succeed({ done: 0, total: 0, from: to, to, changed: false, insists: embedders.insists })
          )
        )(start(name, force))
      )

    let said = ""
    const say = (message: string) =>
      message === said
        ? Effect.void
        : Effect.zipRight(
            Effect.sync(() => (said = message)),
            Effect.logWarning(message)
          )

    /** The changes that another process was ahead with, and how far they were when last seen to move. */
    const others = new Map<CollectionName, { readonly done: number; readonly at: number }>()
    const isOthers = (name: CollectionName, done: number) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const seen = others.get(name)
        if (seen !== undefined && seen.done !== done) others.set(name, { done, at })
        return seen !== undefined && (seen.done !== done || at < seen.at + patienceMs)
      })

    /** Goes on with the changes to the configured embedder that have begun, and that no other process is making. */
    const round = Effect.gen(function* () {
      for (const { name, next } of yield* documents.collections) {
        if (next === undefined || !sameModel(next.embedder, yield* embedders.configured.identity)) continue
        if (yield* isOthers(name, next.done)) continue
        yield* Effect.logInfo(`${describeEmbedder(next.embedder)} makes the vectors of collection ${name}`)
        const last = yield* Effect.catchTag(Stream.runLast(run(name)), "ReindexTakenOver", () =>
          Effect.gen(function* () {
            others.set(name, { done: next.done, at: yield* Clock.currentTimeMillis })
            yield* Effect.logInfo(`Another process makes the vectors of collection ${name}; this one waits`)
            return Option.none()
          })
        )
        if (Option.exists(last, ({ changed }) => changed)) {
          yield* Effect.logInfo(`Collection ${name} now has ${describeEmbedder(next.embedder)}`)
        }
      }
    }).pipe(Effect.catchAll(({ message }) => say(`The vectors of a collection are not complete: ${message}`)))

    return {
      /** Emits progress, at the end with `changed`. `force`: even if the collection already has that embedder. */
      run,

      /** Goes on with a collection's change to the configured embedder, if one has begun; emits as `run`. */
      resumed: (name: CollectionName) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const { next } = yield* documents.collection(name)
            const isBegun = next !== undefined && sameModel(next.embedder, yield* embedders.configured.identity)
            return isBegun ? run(name) : Stream.empty
          })
        ),

      /** For a long-running program: makes vectors in the background where `Collections.create` left that for later. */
      inBackground:
        embedders.meanwhile === undefined
          ? Effect.void
          : Effect.asVoid(Effect.forkScoped(Effect.repeat(round, Schedule.spaced("1 second"))))
    }
  })
}) {}
