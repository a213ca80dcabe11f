import { it } from "@effect/vitest"

const { effect, flakyTest, layer, prop, scoped } = it

/**
 * What `it` has at first. `it.layer` writes that of its layer into it, and a process has one `it` for all of its files:
 * each later file would build the layers of all before, and run in them.
 */
export const asAtFirst = () => Object.assign(it, { effect, flakyTest, layer, prop, scoped })
