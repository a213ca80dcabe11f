import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** A folder that is gone with the scope. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "clew-test-")))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)
