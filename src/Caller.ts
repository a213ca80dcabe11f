import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import type { CollectionName } from "./model/Collection.ts"
import { type Right, rights } from "./model/Key.ts"
import { type Stores, type Whole, ports, whole } from "./Store.ts"
import { because, fault, reasonOf } from "./model/fault.ts"

/** On whose behalf a fiber works, and what they may do. */
export interface Caller {
  /** The key's name; undefined for the process itself, and for a caller without a name. */
  readonly name?: string | undefined
  /** What the log says of them: the key's name, SERVICE_API_KEY, or whose token it is. */
  readonly who?: string | undefined
  readonly rights: ReadonlySet<Right>
  /** The only collections that there are to them; undefined: all. */
  readonly collections?: ReadonlySet<string> | undefined
}

/** The process itself, and whoever may do everything. */
export const owner: Caller = { rights: new Set(rights) }

/** The caller that a fiber works for; fibers that it forks work for the same. */
export const current: FiberRef.FiberRef<Caller> = FiberRef.unsafeMake(owner)

/** Runs an effect for a caller. */
export const workingFor =
  (caller: Caller) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.locally(effect, current, caller)

/** The key lacks a right, or may not use the collection. */
export class NotPermitted extends fault<NotPermitted>()("NotPermitted", 403, because, reasonOf) {}

const keyOf = ({ name }: Caller): string => (name === undefined ? "The key" : `The key ${name}`)

const listed = (names: Iterable<string>): string => [...names].join(", ")

/** Fails unless the caller has the right. */
export const mustHave = (caller: Caller, right: Right): Effect.Effect<void, NotPermitted> =>
  caller.rights.has(right)
    ? Effect.void
    : new NotPermitted({
        reason: `${keyOf(caller)} lacks the right ${right} that this needs; it has ${listed(caller.rights)}`
      })

/** Fails if the caller is limited to some collections, for what tells of all. */
export const mustSeeAll = (caller: Caller): Effect.Effect<void, NotPermitted> =>
  caller.collections === undefined
    ? Effect.void
    : new NotPermitted({
        reason: `${keyOf(caller)} may use only ${listed(caller.collections)}, and this needs a key for all collections`
      })

/** Fails unless the caller may use the collection. */
export const mustUse = (caller: Caller, collection: string): Effect.Effect<void, NotPermitted> =>
  caller.collections?.has(collection) !== false
    ? Effect.void
    : new NotPermitted({
        reason: `${keyOf(caller)} may not use collection ${collection}, only ${listed(caller.collections)}`
      })

/** The collections that the arguments of a store's method name. */
const namedIn = (first: unknown): ReadonlyArray<string> => {
  if (typeof first === "string") return [first]
  if (Array.isArray(first)) return first.filter((each) => typeof each === "string")
  if (typeof first !== "object" || first === null) return []
  const {
    collection,
    collections = [],
    others = []
  } = first as {
    readonly collection?: string
    readonly collections?: ReadonlyArray<string>
    readonly others?: ReadonlyArray<{ readonly collection: string }>
  }
  return [
    ...(collection === undefined ? [] : [collection]),
    ...collections,
    ...others.map(({ collection }) => collection)
  ]
}

type Method = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>

/**
 * The store as the caller may see it: collections that are not theirs are in no list and no count. To name one is a
 * defect that every door shows as `NotPermitted`, since doors refuse that before.
 */
export const permitting = (store: Whole): Whole => {
  const own = ({ collections }: Caller) =>
    Effect.map(store.collections, (all) => all.filter(({ name }) => collections?.has(name) !== false))
  const restricted: { readonly [K in keyof Whole]?: (caller: Caller, ...args: ReadonlyArray<never>) => unknown } = {
    // The newest of all may be others' alone.
    recent: Effect.fnUntraced(function* (caller: Caller, limit: number) {
      const found = yield* Effect.forEach(yield* own(caller), ({ name }) =>
        store.list(name, { limit, by: "indexed_at", falling: true }).pipe(
          Effect.map((listed) => listed.map((document) => ({ ...document, collection: name }))),
          Effect.catchTag("CollectionNotFound", () => Effect.succeed([]))
        )
      )
      return found
        .flat()
        .sort((a, b) => b.indexedAt - a.indexedAt || b.place - a.place)
        .slice(0, limit)
    }),
    // Which keys other collections' documents have is told to nobody.
    metadataKeys: Effect.fnUntraced(function* (caller: Caller, keys: ReadonlyArray<string>) {
      const names = (yield* own(caller)).map(({ name }) => name)
      const unknown = yield* Effect.filter(keys, (key) =>
        // No key of metadata to a filter.
        key === "or" || key === "and"
          ? Effect.succeed(true)
          : Effect.map(store.filtered(names, { [key]: { exists: true } }), (passages) => passages === 0)
      )
      return { unknown, known: [] }
    }),
    stats: Effect.fnUntraced(function* (caller: Caller, collection: CollectionName | undefined) {
      if (collection !== undefined) yield* Effect.orDie(mustUse(caller, collection))
      const [told, found] = yield* Effect.all([store.stats(collection), own(caller)])
      const sum = (of: "documents" | "passages") => found.reduce((all, each) => all + each[of], 0)
      const counts = collection === undefined ? { documents: sum("documents"), passages: sum("passages") } : {}
      return { ...told, collections: found.length, ...counts }
    })
  }
  const guard = (name: string, member: unknown): unknown => {
    if (typeof member !== "function") return member
    const method = member as Method
    const special = restricted[name as keyof Whole] as
      | ((caller: Caller, ...args: ReadonlyArray<unknown>) => unknown)
      | undefined
    return (...args: ReadonlyArray<unknown>) =>
      Effect.flatMap(FiberRef.get(current), (caller) => {
        if (caller.collections === undefined) return method(...args)
        if (special !== undefined) return special(caller, ...args) as ReturnType<Method>
        const named = Effect.forEach(namedIn(args[0]), (collection) => mustUse(caller, collection), { discard: true })
        return Effect.zipRight(Effect.orDie(named), method(...args))
      })
  }
  return {
    ...(Object.fromEntries(
      Object.entries(store).map(([name, member]) => [name, guard(name, member)])
    ) as unknown as Whole),
    collections: Effect.flatMap(FiberRef.get(current), (caller) =>
      caller.collections === undefined ? store.collections : own(caller)
    )
  }
}

/** The ports of a store, as each caller may see it. */
export const layerPermitting: Layer.Layer<Stores, never, Stores> = Layer.effectContext(
  Effect.map(whole, (store) => ports(permitting(store)))
)
