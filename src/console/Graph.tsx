import type { Address } from "./address.ts"

export const Graph = (_: Pick<Address, "given">) => <p>Graph</p>
