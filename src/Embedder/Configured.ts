import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EmbeddingConfig } from "../Config.ts"
import { Embedder, EmbedderUnavailable } from "../Embedder.ts"
import * as Embedders from "../Embedders.ts"
import { describeEmbedder, type EmbedderIdentity } from "../model/Collection.ts"
import { packagedModel } from "../packaged/model.ts"
import { makeTurns } from "../runtime/Turn.ts"
import * as Auto from "./Auto.ts"
import { isRemote, remote, type Shared } from "./backends.ts"
import { Breakers } from "./Breakers.ts"
import * as Builtin from "./Builtin.ts"
import { prefixesOf } from "./prefixes.ts"

/** A model folder's identity ends in a hash of its weights. */
const folderOf = ({ model }: EmbedderIdentity): string | undefined =>
  model === packagedModel ? undefined : model.replace(/@[0-9a-f]{8}$/, "")

/** The embedder if it has the configured dimensions; it cannot reduce them. */
const ofWidth = (embedder: Embedder["Type"], dimensions: number | undefined): Embedder["Type"] =>
  dimensions === undefined
    ? embedder
    : {
        ...embedder,
        identity: Effect.filterOrFail(
          embedder.identity,
          (identity) => identity.dimensions === dimensions,
          (identity) =>
            new EmbedderUnavailable({
              reason: `embedding.dimensions is ${dimensions}, but ${describeEmbedder(identity)} gives ${identity.dimensions} and cannot reduce them: remove the setting`
            })
        )
      }

/** The configured embedder, for new collections, and the embedders that collections record. */
export const layer = ({ keyVariable }: Pick<Shared, "keyVariable">) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const given = yield* EmbeddingConfig
      const config = { ...given, keyVariable, turns: makeTurns(given.concurrency), breakers: yield* Breakers }
      const { backend, model, passagePrefix, queryPrefix } = config
      const path = yield* Path.Path
      const isFolder = backend === "builtin" || (model !== undefined && path.isAbsolute(model))
      const made = yield* Builtin.make({ folder: isFolder ? model : undefined, queryPrefix, passagePrefix })
      const builtin = backend === "builtin" ? ofWidth(made, config.dimensions) : made
      const configured = isRemote(backend)
        ? yield* remote(config, backend)
        : backend === "builtin" || isFolder
          ? builtin
          : yield* Auto.make(config, builtin)

      const isBuiltin = (recorded: EmbedderIdentity) =>
        folderOf(recorded) === (isFolder ? model : undefined) &&
        recorded.queryPrefix === (queryPrefix ?? "") &&
        recorded.passagePrefix === (passagePrefix ?? "") &&
        recorded.making === undefined
      const open = (recorded: EmbedderIdentity): Effect.Effect<Embedder["Type"]> =>
        isRemote(recorded.backend)
          ? remote(config, recorded.backend, recorded)
          : isBuiltin(recorded)
            ? Effect.succeed(builtin)
            : Builtin.make({ ...recorded, folder: folderOf(recorded) })
      return Layer.provide(
        Embedders.layer({
          insists: backend !== "auto",
          // It needs no server, whatever embeds new collections.
          opensRecorded: (recorded) => recorded.backend === "builtin" && backend !== "builtin",
          prefixesOf: ({ backend, model }) =>
            isRemote(backend) ? prefixesOf(model, config) : { query: queryPrefix ?? "", passage: passagePrefix ?? "" },
          open
        }),
        Layer.succeed(Embedder, configured)
      )
    })
  ).pipe(Layer.provide(Breakers.Default))
