/** Fields of a request on which servers differ, by what this one has refused. */
export interface Differences {
  /** Use `max_completion_tokens`, since newer models refuse `max_tokens`. */
  readonly newLimit: boolean
  readonly noUsage: boolean
  readonly noTemperature: boolean
  /** Its template has no system role. */
  readonly noSystem: boolean
}

export const noDifferences: Differences = { newLimit: false, noUsage: false, noTemperature: false, noSystem: false }

/**
 * What to change after a refusal that names a field; undefined if already changed, or if it names none. A request's own
 * temperature is never dropped: the caller gets the error.
 */
export const differing = (known: Differences, reason: string, isTemperatureAsked: boolean): Differences | undefined => {
  if (!known.newLimit && reason.includes("max_completion_tokens")) return { ...known, newLimit: true }
  if (!known.noUsage && reason.includes("stream_options")) return { ...known, noUsage: true }
  if (!known.noTemperature && !isTemperatureAsked && reason.includes("temperature")) {
    return { ...known, noTemperature: true }
  }
  if (!known.noSystem && /system.{0,20}(?:role|message|prompt)|roles? must alternate/i.test(reason)) {
    return { ...known, noSystem: true }
  }
  return undefined
}
