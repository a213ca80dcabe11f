import type { Address } from "./address.ts"

export const Documents = (_: Pick<Address, "given">) => <p>Documents</p>
