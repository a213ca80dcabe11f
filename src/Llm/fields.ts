/** Fields of a request that servers differ about, by what this one has refused. */
export interface Differences {
  /** `max_completion_tokens` where newer models take no `max_tokens`. */
  readonly newLimit: boolean
  readonly noUsage: boolean
  readonly noTemperature: boolean
  /** Its template has no role for the system. */
  readonly noSystem: boolean
}

export const noDifferences: Differences = { newLimit: false, noUsage: false, noTemperature: false, noSystem: false }

/**
 * What to do differently after a refusal that names a field; none where that is done already, or it names none. A
 * temperature that a request gives is not dropped: its caller is told.
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
