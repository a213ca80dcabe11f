import type { Mask } from "../model/Mask.ts"
import type { Runs } from "./runs.ts"

/** Up to 32 bits from an index; those beyond the bitmap are 0. */
const bitsAt = (bits: Uint32Array, place: number): number => {
  const word = Math.floor(place / 32)
  const shift = place % 32
  const low = word < bits.length ? (bits[word] as number) : 0
  if (shift === 0) return low
  const high = word + 1 < bits.length ? (bits[word + 1] as number) : 0
  return (low >>> shift) | (high << (32 - shift))
}

/** Writes to `out`, as bits, which ordinals are in a set of ids; false if none are. */
export const allowed = ({ bits }: Pick<Mask, "bits">, ids: Runs, out: Uint32Array): boolean => {
  out.fill(0)
  let any = 0
  for (let run = 0; run < ids.starts.length; run++) {
    const id = ids.starts[run] as number
    const ordinal = ids.ordinals[run] as number
    const length = ids.lengthOf(run)
    for (let done = 0; done < length; done += 32) {
      const left = length - done
      const taken = bitsAt(bits, id + done) & (left < 32 ? (1 << left) - 1 : -1)
      if (taken === 0) continue
      any = 1
      const word = (ordinal + done) >>> 5
      const shift = (ordinal + done) & 31
      out[word] = (out[word] as number) | (taken << shift)
      if (shift > 0 && word + 1 < out.length) out[word + 1] = (out[word + 1] as number) | (taken >>> (32 - shift))
    }
  }
  return any === 1
}
