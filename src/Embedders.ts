import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as SynchronizedRef from "effect/SynchronizedRef"
import { Embedder, EmbedderUnavailable } from "./Embedder.ts"
import {
  type Collection,
  type CollectionSummary,
  describeEmbedder,
  type EmbedderIdentity,
  identicalEmbedder,
  presently,
  sameEmbedder
} from "./model/Collection.ts"
import { spannedGen } from "./runtime/tracing.ts"
import { EmbedderMismatch } from "./Store.ts"

type Service = Context.Tag.Service<typeof Embedder>

/** A model's prefixes for queries and passages. */
export interface Prefixes {
  readonly query: string
  readonly passage: string
}

/** Finds the embedder of a collection: always the one it records. */
export class Embedders extends Context.Tag("clew/Embedders")<
  Embedders,
  {
    /** The embedder that a new collection gets. */
    readonly configured: Service
    /**
     * Whether a collection must have the configured embedder, except those of the packaged model; otherwise each keeps
     * its own.
     */
    readonly insists: boolean
    /**
     * Embeds a new collection at once, while the configured embedder makes its vectors in the background. Undefined: the
     * configured one is fast enough, or nothing in this process does that.
     */
    readonly meanwhile?: Service | undefined
    /** The prefixes that a new collection would get with this embedder. */
    readonly prefixesOf: (recorded: EmbedderIdentity) => Prefixes
    /**
     * An urgent caller waits at most five seconds, and not at all for an embedder that is known to be down. A patient one,
     * who writes, waits while it is busy.
     */
    readonly forCollection: (
      collection: Pick<Collection, "name" | "embedder"> & Pick<CollectionSummary, "next">,
      patience?: "patient" | "urgent"
    ) => Effect.Effect<Service, EmbedderMismatch | EmbedderUnavailable>
  }
>() {}

/** The packaged model loads from disk; any other may hang while the caller waits. */
const inTime = ({ identity, urgent }: Service, recorded: EmbedderIdentity) =>
  urgent?.identity ??
  (recorded.backend === "builtin"
    ? identity
    : Effect.timeoutFail(identity, {
        duration: "5 seconds",
        onTimeout: () => new EmbedderUnavailable({ reason: `${describeEmbedder(recorded)}: no answer within 5 s` })
      }))

/** The service as the embedder of an older collection; its vectors differ only if it opened them so itself. */
const madeAs = (making: number | undefined, service: Service): Service => {
  if (making === undefined) return service
  const older = <E, R>(identity: Effect.Effect<EmbedderIdentity, E, R>) =>
    Effect.map(identity, (found): EmbedderIdentity => ({ ...found, making }))
  const { patient, urgent } = service
  return {
    ...service,
    identity: older(service.identity),
    ...(patient === undefined ? {} : { patient: older(patient) }),
    ...(urgent === undefined ? {} : { urgent: { ...urgent, identity: older(urgent.identity) } })
  }
}

/** Milliseconds in which questions to a collection whose embedder does not fit ask it who it is at most once. */
const again = 60_000

/**
 * If the configuration names an embedder, it must match the collection's recorded one, unless `opensRecorded` accepts
 * that. Otherwise the recorded one is opened, once per identity; its actual identity must match the record.
 */
export const layer = (options: {
  readonly insists: boolean
  /** Whether to open a collection's own embedder although another is configured; default never. */
  readonly opensRecorded?: (identity: EmbedderIdentity) => boolean
  readonly meanwhile?: Service | undefined
  readonly open: (identity: EmbedderIdentity) => Effect.Effect<Service, EmbedderUnavailable>
  /** What the configuration, or else the model's card, says of prefixes; the recorded ones unless given. */
  readonly prefixesOf?: (identity: EmbedderIdentity) => Prefixes
}): Layer.Layer<Embedders, never, Embedder> =>
  Layer.effect(
    Embedders,
    Effect.gen(function* () {
      const configured = yield* Embedder
      const announced = new Set<string>()
      /** When a collection's mismatch last had its embedder asked anew. */
      const askedAnew = new Map<string, number>()
      const warned = new Set<string>()
      const opened = yield* SynchronizedRef.make<ReadonlyArray<readonly [EmbedderIdentity, Service]>>([])

      // In a separate fiber: a caller interrupted while it waits would cancel it for all others.
      const reopen = Effect.fnUntraced(function* (recorded: EmbedderIdentity) {
        const known = yield* SynchronizedRef.get(opened)
        const found = known.find(([identity]) => identicalEmbedder(identity, recorded))
        return found === undefined ? yield* Fiber.join(yield* Effect.forkDaemon(opening(recorded))) : found[1]
      })
      const opening = (recorded: EmbedderIdentity) =>
        SynchronizedRef.modifyEffect(opened, (known) => {
          const found = known.find(([identity]) => identicalEmbedder(identity, recorded))
          return found === undefined
            ? Effect.map(options.open(recorded), (found) => {
                const embedder = madeAs(recorded.making, found)
                return [embedder, [...known, [recorded, embedder] as const]]
              })
            : Effect.succeed([found[1], known])
        })

      return {
        configured,
        insists: options.insists,
        meanwhile: options.meanwhile,
        prefixesOf:
          options.prefixesOf ?? (({ passagePrefix, queryPrefix }) => ({ query: queryPrefix, passage: passagePrefix })),
        forCollection: spannedGen("Embedders.forCollection")(function* ({ embedder: recorded, name, next }, patience) {
          const own = !options.insists || (options.opensRecorded?.(recorded) ?? false)
          if (own && options.insists && next === undefined && !announced.has(name)) {
            announced.add(name)
            yield* Effect.logInfo(
              `Collection ${name} keeps ${describeEmbedder(recorded)}, with which it was created; \`clew reindex\` switches it to the configured embedder`
            )
          }
          if (recorded.making !== undefined && !warned.has(name)) {
            warned.add(name)
            yield* Effect.logWarning(
              `Collection ${name} has vectors as an older Clew made them, and new ones are made like those; \`clew reindex -c ${name}\` makes all of them as they are made now`
            )
          }
          const embedder = own ? yield* reopen(recorded) : configured
          const { identity, patient = identity } = embedder
          const asked = patience === "urgent" ? inTime(embedder, recorded) : patience === "patient" ? patient : identity
          const fits = (actual: EmbedderIdentity) =>
            sameEmbedder(actual, recorded) || (!own && sameEmbedder(actual, presently(recorded)))
          let actual = yield* asked
          // What is known of a server may be older than what a collection records.
          if (!fits(actual) && embedder.forget !== undefined) {
            const now = yield* Clock.currentTimeMillis
            const isDue = patience !== "urgent" || now - (askedAnew.get(name) ?? -Infinity) > again
            if (isDue) {
              askedAnew.set(name, now)
              actual = yield* Effect.zipRight(embedder.forget, asked)
            }
          }
          if (sameEmbedder(actual, recorded)) return embedder
          if (fits(actual)) return yield* reopen(recorded)
          return yield* new EmbedderMismatch({ collection: name, recorded, configured: actual })
        })
      }
    })
  )

/** One embedder for every collection. */
export const layerSingle: Layer.Layer<Embedders, never, Embedder> = Layer.unwrapEffect(
  Effect.map(Embedder, (embedder) => layer({ insists: true, open: () => Effect.succeed(embedder) }))
)
