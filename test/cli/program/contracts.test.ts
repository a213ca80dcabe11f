import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import type { layerOf } from "../../../src/App.ts"
import { storeContract } from "../../contracts/Store.ts"

const library = fileURLToPath(new URL("../../../dist/index.js", import.meta.url))

/** As the packaged program opens it: read in the package's bundle, written in its worker. */
storeContract(
  "the built package",
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const path = `${yield* files.makeTempDirectoryScoped()}/index.db`
      const built = (yield* Effect.promise(() => import(library))) as { readonly layerOf: typeof layerOf }
      return built.layerOf({ store: { path }, embedding: { backend: "builtin" } })
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))
)
