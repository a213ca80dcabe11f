/** Stored data is damaged or incomplete. At the end of a call it becomes `StoreUnavailable`. */
export class Damaged extends Error {
  override readonly name = "Damaged"
}

export const damaged = (what: string): never => {
  throw new Damaged(what)
}

/** A value that must exist. */
export const present = <A>(value: A | null | undefined, what: () => string): A =>
  value ?? damaged(`${what()} is missing`)

/** JSON that this program wrote. */
export const parsed = <A>(json: string, what: () => string): A => {
  try {
    return JSON.parse(json) as A
  } catch {
    return damaged(`${what()} is not JSON`)
  }
}

/** A page of rows read after an id. Their ids must rise: a damaged one would make paging begin again, and never end. */
export const rising = <Row extends { readonly id: number }>(
  rows: ReadonlyArray<Row>,
  after: number,
  what: string
): ReadonlyArray<Row> => {
  let before = after
  for (const { id } of rows)
    before = id > before ? id : damaged(`${what} are out of order: ${id} comes after ${before}`)
  return rows
}
