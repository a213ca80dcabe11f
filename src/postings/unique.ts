import { randomBytes } from "node:crypto"

/** A number that nothing else has: 48 random bits. */
export const unique = (): number => randomBytes(6).readUIntBE(0, 6)
