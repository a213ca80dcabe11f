/** What is stored is not what was stored, or not all of it. Where a call ends it becomes `StoreUnavailable`. */
export class Damaged extends Error {
  override readonly name = "Damaged"
}

export const damaged = (what: string): never => {
  throw new Damaged(what)
}

/** What has to be there. */
export const present = <A>(value: A | null | undefined, what: () => string): A =>
  value ?? damaged(`${what()} is missing`)

/** JSON that this program wrote. */
export const parsed = <A>(json: string, what: () => string): A => {
  try {
    return JSON.parse(json) as A
  } catch {
    return damaged(`${what()} is no JSON`)
  }
}
