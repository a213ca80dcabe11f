import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Rebuild } from "../model/Stored.ts"
import { sharingWrites } from "../runtime/EventLoop.ts"
import { type StoreUnavailable, UpkeepStore } from "../Store.ts"

/** The most passages rebuilt before a short command continues: about a second of work. */
const fewPassages = 20_000

const interval = 2000

/** How long a server waits before it looks again for what another version built. */
const again = Duration.minutes(5)

const names: Record<Rebuild["kind"], string> = {
  postings: "keyword index",
  codes: "codes of vectors",
  graph: "knowledge graph"
}

const faults: Record<Rebuild["kind"], string> = {
  postings: "was built by an older version",
  codes: "are missing or incomplete",
  graph: "is incomplete"
}

const describe = ({ collection, kind, missing, total }: Rebuild): string =>
  `The ${names[kind]} of collection ${collection} (${total} passages) ${missing ? "is missing" : faults[kind]}`

/** Whether a search notices that this is not rebuilt: codes make the search of so few vectors little faster. */
const isNoticed = ({ kind, total }: Rebuild): boolean => kind !== "codes" || total > fewPassages

const pronoun = ({ kind }: Rebuild): string => (kind === "codes" ? "them" : "it")

const consequences: Record<Rebuild["kind"], string> = {
  postings: "the old one is used",
  codes: "searches by meaning are slow",
  graph: "it leads to less, and fewer names are suggested"
}

const consequence = ({ kind, missing }: Rebuild): string => (missing ? "it finds nothing" : consequences[kind])

/** Searches use the old data meanwhile. */
const putOff = <A, R>(effect: Effect.Effect<A, StoreUnavailable, R>) =>
  Effect.catchTag(effect, "StoreUnavailable", ({ reason }) => Effect.logWarning(`Nothing was rebuilt. ${reason}`))

/** What goes wrong again and again is said once, by whoever needs the store. */
const quietly = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchAllCause(effect, (cause) => Effect.logDebug("Nothing was rebuilt", cause))

/** Rebuilds derived data that another version built, or that are missing. */
export class Rebuilder extends Effect.Service<Rebuilder>()("clew/Rebuilder", {
  effect: Effect.gen(function* () {
    const store = yield* UpkeepStore

    /** Runs all steps. If interrupted, the next run resumes. */
    const logged = Effect.gen(function* () {
      const pending = yield* store.rebuilds()
      if (pending.length === 0) return
      for (const rebuild of pending) yield* Effect.logInfo(`${describe(rebuild)}: rebuilding ${pronoun(rebuild)}`)
      const step = Effect.zipLeft(store.rebuildStep(), sharingWrites())
      let next = (yield* Clock.currentTimeMillis) + interval
      for (let made = yield* step; made !== undefined; made = yield* step) {
        const { collection, done, kind, total } = made
        const now = yield* Clock.currentTimeMillis
        if (now < next && done < total) continue
        next = now + interval
        yield* Effect.logInfo(`The ${names[kind]} of collection ${collection}: ${done} of ${total} passages`)
      }
    })

    return {
      /**
       * For a long-running program: rebuilds in the background, and deletes dropped rows. It looks again from time to time,
       * since a process of another version may write meanwhile. A failure is logged and stops nothing.
       */
      inBackground: Effect.asVoid(
        Effect.whenEffect(store.resume(), store.sweeping()).pipe(
          Effect.zipRight(logged),
          putOff,
          Effect.zipRight(Effect.forever(Effect.delay(quietly(logged), again))),
          Effect.forkScoped
        )
      ),

      /**
       * For a command about to answer: rebuilds at once what is missing or small enough; else warns that the old data
       * answer. Without `writable` nothing is rebuilt.
       */
      beforeAnswering: ({ writable }: { readonly writable: boolean }) =>
        Effect.gen(function* () {
          const pending = yield* store.rebuilds()
          const first = pending[0]
          if (first === undefined) return
          const passages = pending.reduce((sum, { done, total }) => sum + total - done, 0)
          if (writable && (first.missing || passages <= fewPassages)) return yield* logged
          yield* Effect.forEach(
            pending.filter(isNoticed),
            (rebuild) =>
              Effect.logWarning(
                `${describe(rebuild)}: ${consequence(rebuild)} until \`clew doctor --fix\`, \`clew serve\` or \`clew mcp\` rebuilds ${pronoun(rebuild)}`
              ),
            { discard: true }
          )
        }).pipe(putOff)
    }
  })
}) {}
