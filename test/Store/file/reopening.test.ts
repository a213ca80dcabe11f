import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Whole } from "../../../src/Store.ts"
import { statOf } from "../../../src/Store/sqlite/file/place.ts"
import { reopening } from "../../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../../folder.ts"

it.scoped("follows its path also where the file was replaced while it was being opened", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const [filename, other] = [path.join(folder, "index.db"), path.join(folder, "other.db")]
    fs.writeFileSync(filename, "old")
    fs.writeFileSync(other, "new")
    const store = yield* reopening({ filename, mode: "existing" }, () =>
      Effect.sync(() => {
        const place = statOf(filename)
        const content = fs.readFileSync(filename, "utf8")
        if (content === "old") fs.renameSync(other, filename)
        return { store: { rebuilds: () => Effect.succeed(content) } as unknown as Whole, place }
      })
    )
    assert.strictEqual((yield* store.rebuilds()) as unknown, "new")
  })
)
