import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { load, type LoadOptions } from "../../src/Config/Load.ts"

/** Content by name; a name begins with `~`, the home folder, or `.`, the working directory. */
type Files = Readonly<Record<string, string | Uint8Array>>

/** A home and a working directory in a temporary place, and loading there. */
export const place = (files: Files = {}) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const root = yield* fs.makeTempDirectoryScoped()
    const at = (name: string) => path.normalize(name.replace(/^~/, `${root}/home`).replace(/^\./, `${root}/work`))
    yield* fs.makeDirectory(at("."))
    yield* fs.makeDirectory(at("~"))
    for (const [name, content] of Object.entries(files)) {
      yield* fs.makeDirectory(path.dirname(at(name)), { recursive: true })
      yield* fs.writeFile(at(name), typeof content === "string" ? new TextEncoder().encode(content) : content)
    }
    return {
      at,
      load: (over: Partial<LoadOptions> = {}) => load({ cwd: at("."), ...over, env: { HOME: at("~"), ...over.env } })
    }
  })

/** The problems that loading reports, line by line, with `~` and `.` for the temporary directories. */
export const problems = (files: Files, over?: Partial<LoadOptions>) =>
  Effect.gen(function* () {
    const { at, load } = yield* place(files)
    const error = yield* Effect.flip(load(over))
    return error.message.replaceAll(at("~"), "~").replaceAll(at("."), ".").split("\n")
  })

const platform = Layer.merge(NodeFileSystem.layer, NodePath.layer)

export const test = <E>(
  name: string,
  body: () => Effect.Effect<void, E, FileSystem.FileSystem | Path.Path | Scope.Scope>
) => it.scoped(name, () => Effect.provide(body(), platform))
