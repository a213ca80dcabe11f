import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { type Caller, layerPermitting, NotPermitted, workingFor } from "../src/Caller.ts"
import { whole } from "../src/Store.ts"
import * as Sqlite from "../src/Store/Sqlite.ts"

const docs: Caller = { name: "docs", rights: new Set(["read"]), collections: new Set(["docs"]) }

/** Methods that name no collection, or of which the guard has an own form. */
const unnamed = new Set(
  [
    "recent",
    "metadataKeys",
    "about",
    "sizes",
    "rebuilds",
    "rebuildStep",
    "settle",
    "purge",
    "sweeping",
    "resume"
  ].concat("compact")
)

/** The first argument of those that take more than a name. */
const firsts: Readonly<Record<string, unknown>> = {
  filtered: ["docs", "secret"],
  written: ["docs", "secret"],
  suggest: ["docs", "secret"],
  find: { collection: "docs", others: [{ collection: "secret" }] }
}

it.effect("no method of the store reaches a collection that the caller may not use", () =>
  Effect.gen(function* () {
    const store = (yield* whole) as unknown as Record<string, unknown>
    const names = Object.keys(store).filter((name) => typeof store[name] === "function" && !unnamed.has(name))
    assert.isAbove(names.length, 25)
    for (const name of names) {
      const method = store[name] as (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>
      const exit = yield* Effect.exit(workingFor(docs)(method(firsts[name] ?? "secret", [], {})))
      const died = Exit.isFailure(exit) ? Cause.dieOption(exit.cause) : undefined
      assert.isTrue(died?._tag === "Some" && died.value instanceof NotPermitted, name)
    }
  }).pipe(Effect.provide(Layer.provide(layerPermitting, Sqlite.layerMemory)))
)
