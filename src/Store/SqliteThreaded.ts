import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { StoreUnavailable, type Stores, type Whole, ports, whole } from "../Store.ts"
import { BlockCache } from "../codes/BlockCache.ts"
import { isEmptyFilter } from "../model/Filter.ts"
import type { FindRequest } from "../model/Stored.ts"
import { holding } from "../runtime/afterwards.ts"
import { replaced } from "../runtime/installation.ts"
import { spanning } from "../runtime/tracing.ts"
import type { StoreError } from "./port/errors.ts"
import * as Sqlite from "./Sqlite.ts"
import * as Pool from "./threads/Pool.ts"
import * as Thread from "./threads/Thread.ts"
import { type Method, reads, writes } from "./threads/messages.ts"

type Operation = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, StoreError>

const inPool = (pool: Pool.Pool, methods: ReadonlyArray<Method>): Partial<Whole> =>
  Object.fromEntries(
    methods.map((method) => [
      method,
      (...args: ReadonlyArray<unknown>) => spanning(pool(method, args), `Store.${method}`)
    ])
  )

/** Why a call got no answer of its thread. */
const broken =
  (what: string) =>
  (reason: string): StoreUnavailable =>
    new StoreUnavailable({ reason: replaced() ?? `${what} was interrupted: ${reason}; try again` })

/** The characters of documents that a call stores. */
const weigh = (method: Method, args: ReadonlyArray<unknown>): number =>
  method === "put" ? (args as Parameters<Whole["put"]>)[1].reduce((sum, { content }) => sum + content.length, 0) : 0

/**
 * The one thread that writes, started with the first write. A write that broke off is not retried: it may have been
 * done.
 */
const writing = (options: Sqlite.DatabaseOptions) =>
  Pool.make({
    size: 1,
    eager: false,
    attempts: 1,
    weigh,
    start: Thread.start({ ...options, cache: undefined, mode: options.mode === "shrink" ? "shrink" : "existing" }),
    broken: broken(`Writing to ${options.filename}`)
  })

/** A thread that shares the vectors' codes in memory with the others for as long as it lives. */
const sharing = (options: Sqlite.DatabaseOptions, cache: BlockCache | undefined) =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => cache?.admit()),
      (admitted) => Effect.sync(() => admitted && cache?.dismiss(admitted))
    ),
    (admitted) => Thread.start({ ...options, mode: "readonly", cache: admitted })
  )

const reading = (options: Sqlite.DatabaseOptions, size: number, eager: boolean, cache: BlockCache | undefined) =>
  Pool.make({
    size,
    eager,
    attempts: 2,
    start: sharing(options, cache),
    broken: broken(`Reading ${options.filename}`)
  })

/** To search fewer passages takes less than to hand the request to a thread, and the answer back. */
const few = 20_000

const passagesIn = (store: Whole): Effect.Effect<number> =>
  Effect.map(
    Effect.orElseSucceed(store.collections, () => []),
    (known) => known.reduce((sum, { passages }) => sum + passages, 0)
  )

/** Writes of a row or two. */
const single: ReadonlySet<Method> = new Set(["createCollection", "beginRun"])

/** Writes that take some tens of milliseconds in an index of at most `small` passages, unless they bring many documents. */
const brief: ReadonlySet<Method> = new Set(["put", "touch", "deleteDocument", "deleteSource", "settle", "purge"])
const small = 2000

/** Characters of documents that are stored before the thread has started, which takes a fifth of a second. */
const little = 30_000

/**
 * Reads on the caller's thread, and writes there what is little: the command of somebody who edits one file. From then on
 * one other thread writes, and it alone: two writers would wait for each other's lock.
 */
export const layer = (options: Sqlite.DatabaseOptions): Layer.Layer<Stores, StoreUnavailable> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const own = yield* whole
      const pooled = inPool(yield* writing(options), writes) as Whole
      const fits = (yield* passagesIn(own)) <= small
      let left = little
      const isNear = (method: Method, args: ReadonlyArray<unknown>) => {
        if (!single.has(method)) left -= fits && brief.has(method) ? weigh(method, args) : Infinity
        return left >= 0
      }
      const write =
        (method: Method) =>
        (...args: ReadonlyArray<unknown>) =>
          Effect.suspend(() => ((isNear(method, args) ? own : pooled)[method] as unknown as Operation)(...args))
      return ports({ ...own, ...Object.fromEntries(writes.map((method) => [method, write(method)])) })
    })
  ).pipe(Layer.provide(Sqlite.layer(options)))

/** Characters of a question that is searched in a millisecond. */
const short = 500

/** Whether a search certainly takes only a few milliseconds. */
const isSmall = ({ demands, explain, filter, keyword = "", passages }: FindRequest): boolean =>
  passages <= few && keyword.length <= short && demands === undefined && explain !== true && isEmptyFilter(filter)

/** After a write, in milliseconds, another one is likely to follow. */
const lull = 100

/** The store, and whether documents are being put into it, or are likely to be at once. */
export const noticingPuts = (store: Whole) => {
  let [running, ended] = [0, -Infinity]
  const put: Whole["put"] = (...args) =>
    holding(
      () => running++,
      () => store.put(...args),
      () => {
        running--
        ended = performance.now()
      }
    )
  return { near: { ...store, put }, isIndexing: () => running > 0 || performance.now() - ended < lull }
}

/**
 * A small search on the caller's thread, unless another one is under way, since several at once take turns in the
 * threads; or documents come in: each search has to read what is new, and the caller's thread has enough to do.
 */
export const nearby = (own: Whole["find"], pooled: Whole["find"], isIndexing: () => boolean): Whole["find"] => {
  let running = 0
  const take = () => running++
  const giveBack = () => {
    running--
  }
  return (request) =>
    holding(take, (others) => (others === 0 && isSmall(request) && !isIndexing() ? own : pooled)(request), giveBack)
}

/**
 * Writes in one thread and reads in `readers` threads; the caller's thread only looks up collections and counts, and
 * does a small search while there is no other.
 */
export const layerPooled = ({
  readers,
  ...options
}: Sqlite.DatabaseOptions & { readonly readers: number }): Layer.Layer<Stores, StoreUnavailable> =>
  Layer.unwrapEffect(
    Effect.sync(() => {
      // If no memory can be reserved, each thread works without codes: it scores every vector.
      const cache = Option.getOrUndefined(Option.liftThrowable(BlockCache.make)())
      return Layer.scopedContext(
        Effect.gen(function* () {
          const own = yield* whole
          // The caller's thread, which answers others meanwhile, waits for no disk.
          const written = options.mode === "readonly" ? {} : inPool(yield* writing(options), writes)
          const { isIndexing, near } = noticingPuts({ ...own, ...written })
          const large = (yield* passagesIn(near)) > few
          const pooled = { ...near, ...inPool(yield* reading(options, readers, large, cache), reads) }
          return ports({
            ...pooled,
            find: nearby(near.find, pooled.find, isIndexing),
            // Whether the store answers is asked of who answers.
            lookup: (collection, keys) => (large || keys.length > 0 ? pooled : near).lookup(collection, keys)
          })
        })
      ).pipe(Layer.provide(Sqlite.layer({ ...options, cache: cache?.admit() })))
    })
  )
