import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as path from "node:path"
import { servedAt, tellWhere } from "../../src/cli/served.ts"
import { Settings } from "../../src/Config/Settings.ts"
import { ownFolder } from "../../src/mcp/meeting.ts"
import { temporaryFolder } from "../folder.ts"

it.scopedLive("finds the server of an index, although one that was killed left half of its file", () =>
  Effect.gen(function* () {
    const { store } = Schema.decodeSync(Settings)({ store: { path: path.join(yield* temporaryFolder, "index.db") } })
    const half = path.join(ownFolder()!, `clew-test-${process.pid}.http`)
    yield* Effect.acquireRelease(
      Effect.sync(() => fs.writeFileSync(half, '{"url":"http')),
      () => Effect.sync(() => fs.rmSync(half, { force: true }))
    )
    const server = yield* Effect.acquireRelease(
      Effect.async<http.Server>((resume) => {
        const made = http.createServer((_, response) => response.end('{"status":"ok"}'))
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) => Effect.sync(() => made.close())
    )
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    yield* tellWhere(store, url)
    assert.deepStrictEqual(yield* servedAt(store), { url, hasConsole: true })
    assert.isFalse(fs.existsSync(half))
  })
)
