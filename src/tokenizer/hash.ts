export const hashSeed = 0x811c9dc5 | 0

/** One step of FNV-1a: the hash after one more byte or UTF-16 unit. */
export const hashStep = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193)

/** The first slot to try in a table whose size is a power of two; `mask` is the size minus one. */
export const hashSlot = (hash: number, mask: number): number => (hash ^ (hash >>> 15)) & mask
