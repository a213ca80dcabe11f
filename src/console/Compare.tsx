import type { Address } from "./address.ts"

export const Compare = (_: Pick<Address, "given">) => <p>Compare</p>
