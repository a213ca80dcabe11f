import * as Context from "effect/Context"

/**
 * Whether the caller of the running computation is gone. A computation that holds its thread for more than 5 ms polls
 * it and gives up; between two effects no check is needed.
 */
export class Cancelled extends Context.Reference<Cancelled>()("clew/Store/Cancelled", {
  defaultValue: (): (() => boolean) => () => false
}) {}
