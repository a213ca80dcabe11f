import type { Address } from "./address.ts"

export const Health = (_: Pick<Address, "given">) => <p>Health</p>
