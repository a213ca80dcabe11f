import * as Context from "effect/Context"

/**
 * Whether whoever asked for what runs now has gone away. A computation that holds its thread for more than 5 ms asks it
 * now and then and gives up; between two effects nobody needs to ask.
 */
export class Cancelled extends Context.Reference<Cancelled>()("clew/Store/Cancelled", {
  defaultValue: (): (() => boolean) => () => false
}) {}
