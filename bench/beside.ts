import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as App from "../src/App.ts"
import { noApiKeys } from "../src/Config/Env.ts"
import { Settings, type SettingsEncoded } from "../src/Config/Settings.ts"
import { type Whole, whole } from "../src/Store.ts"

type Mode = "create" | "readonly"

/** Uses several stores at once, which this configuration opens; with the packaged embedder. */
export const besideEachOther =
  <Name extends string>(stores: Readonly<Record<Name, SettingsEncoded["store"]>>, graph: boolean) =>
  <A, E>(mode: Mode, use: (opened: Readonly<Record<Name, Whole>>) => Effect.Effect<A, E>): Promise<A> => {
    const opened = (store: SettingsEncoded["store"]) =>
      App.layer({
        settings: Schema.decodeSync(Settings)({ embedding: { backend: "builtin" }, graph: { enabled: graph }, store }),
        apiKeys: noApiKeys,
        store: mode,
        pooled: mode === "readonly"
      })
    return Effect.gen(function* () {
      const built = Object.entries<SettingsEncoded["store"]>(stores).map(([name, store]) =>
        Effect.map(
          Effect.flatMap(Layer.build(opened(store)), (context) => Effect.provide(whole, context)),
          (opened) => [name, opened] as const
        )
      )
      return yield* use(Object.fromEntries(yield* Effect.all(built)) as Record<Name, Whole>)
    }).pipe(Effect.scoped, Effect.runPromise)
  }
