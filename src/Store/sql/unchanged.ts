import * as Effect from "effect/Effect"
import { Kept } from "../../runtime/Kept.ts"
import type { Sql } from "./rows.ts"

/** Milliseconds after which a database counts as changed, even if nobody has written. */
const longest = 600_000

interface State {
  readonly version: number
  readonly until: number
  /** What was read of it, by name. */
  readonly known: Map<string, unknown>
  isRead: boolean
}

const states = new WeakMap<Sql, State>()

/** The connection changes the database: nothing that is known of it holds any more. */
export const changing = (sql: Sql): void => {
  states.delete(sql)
}

/** Begins a read of the database in this version, which changes whenever another connection writes. */
export const beginRead = (sql: Sql, version: number): void => {
  const before = states.get(sql)
  const now = performance.now()
  if (before !== undefined && before.version === version && now <= before.until) before.isRead = true
  else states.set(sql, { version, until: now + longest, known: new Map(), isRead: true })
}

export const endRead = (sql: Sql): void => {
  const state = states.get(sql)
  if (state !== undefined) state.isRead = false
}

/** What is known of the database in the state that is being read, which stays the same map until somebody writes. */
export const knownOf = (sql: Sql): Map<string, unknown> | undefined => {
  const state = states.get(sql)
  return state?.isRead === true ? state.known : undefined
}

/** Reads what is not known by this name, and keeps it until somebody writes. */
export const unchanged = <A, E, R>(sql: Sql, name: string, read: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const known = knownOf(sql)
    if (known === undefined) return read
    return known.has(name)
      ? Effect.succeed(known.get(name) as A)
      : Effect.tap(read, (found) => Effect.sync(() => known.set(name, found)))
  })

/** What is kept of each kind: how much in all, and how much one takes. */
interface Bound<A> {
  readonly most: number
  readonly sizeOf: (one: A) => number
}

const tenThousand: Bound<unknown> = { most: 10_000, sizeOf: () => 1 }

/** The same for some ids, of which only those that are not known are read; without those that have nothing. */
export const unchangedOf = <A, E, R>(
  sql: Sql,
  name: string,
  ids: ReadonlyArray<number>,
  read: (ids: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, A>, E, R>,
  { most, sizeOf }: Bound<A> = tenThousand
): Effect.Effect<ReadonlyMap<number, A>, E, R> =>
  Effect.suspend(() => {
    const known = knownOf(sql)
    if (known === undefined) return read(ids)
    const kept =
      (known.get(name) as Kept<number, A | null> | undefined) ??
      new Kept<number, A | null>(most, (one) => (one === null ? 1 : sizeOf(one)))
    known.set(name, kept)
    const found = new Map<number, A>()
    const unknown: Array<number> = []
    for (const id of ids) {
      const one = kept.get(id)
      if (one === undefined) unknown.push(id)
      else if (one !== null) found.set(id, one)
    }
    if (unknown.length === 0) return Effect.succeed(found)
    return Effect.map(read(unknown), (rows) => {
      for (const id of unknown) kept.add(id, rows.get(id) ?? null)
      return new Map([...found, ...rows])
    })
  })
