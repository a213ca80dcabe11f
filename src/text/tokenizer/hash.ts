export const hashSeed = 0x811c9dc5 | 0

/** FNV-1a: the hash of a string that is one byte or UTF-16 unit longer. */
export const hashStep = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193)

/** The first place to look in a table of a power of two, `mask` being one less. */
export const hashSlot = (hash: number, mask: number): number => (hash ^ (hash >>> 15)) & mask
