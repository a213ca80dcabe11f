import { mean } from "./evaluation.ts"
import { randomFrom } from "./sampling.ts"

/** A mean, and the bounds that contain 95 % of the means of resampled values. */
export interface Interval {
  readonly mean: number
  readonly low: number
  readonly high: number
}

const rounds = 2000

/** Efron's percentile bootstrap of the mean, deterministic for a seed; all 0 without values. */
export const bootstrap = (values: ReadonlyArray<number>, seed: number): Interval => {
  const random = randomFrom(seed)
  const means: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    let sum = 0
    for (let n = 0; n < values.length; n++) sum += values[Math.floor(random() * values.length)]!
    means.push(values.length === 0 ? 0 : sum / values.length)
  }
  means.sort((a, b) => a - b)
  return { mean: mean(values), low: means[Math.floor(0.025 * rounds)]!, high: means[Math.ceil(0.975 * rounds) - 1]! }
}
