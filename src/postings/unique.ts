import { randomBytes } from "node:crypto"

/** A unique number: 48 random bits. */
export const unique = (): number => randomBytes(6).readUIntBE(0, 6)
