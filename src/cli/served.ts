import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { indexName, isOnServer } from "../Config.ts"
import { ownFolder, real } from "../mcp/meeting.ts"
import { attempt } from "../model/attempt.ts"

type Store = Parameters<typeof indexName>[0]

/** Where a server on this index says at which address it listens; undefined if there is no folder of this user alone. */
const fileOf = (store: Store): string | undefined => {
  // On Windows each user has a temporary folder.
  const folder = process.platform === "win32" ? path.join(tmpdir(), "clew") : ownFolder()
  if (folder === undefined) return undefined
  const index = isOnServer(store) ? indexName(store) : real(store.path)
  return path.join(folder, `${createHash("sha256").update(index).digest("hex").slice(0, 32)}.http`)
}

const isRunning = (pid: number): boolean => attempt(() => process.kill(pid, 0)) === true

interface Served {
  readonly url: string
  readonly pid: number
}

/** What a file says; nobody's process if it was left half written. */
const servedIn = (file: string): Served =>
  attempt(() => JSON.parse(fs.readFileSync(file, "utf8")) as Served) ?? { url: "", pid: Number.NaN }

/** Files of servers that were killed are removed, so many at most at a time. */
const swept = 64

const sweep = (folder: string): void => {
  for (const name of fs
    .readdirSync(folder)
    .filter((name) => name.endsWith(".http"))
    .slice(0, swept)) {
    const file = path.join(folder, name)
    if (!isRunning(servedIn(file).pid)) fs.rmSync(file, { force: true })
  }
}

/**
 * Tells other processes of this user where this one serves the index, as long as it does. What cannot be told is not: then
 * nobody finds this server, and all else goes on.
 */
export const tellWhere = (store: Store, url: string): Effect.Effect<void, never, Scope.Scope> => {
  const tell = () => {
    const file = fileOf(store)
    const text = JSON.stringify({ url, pid: process.pid } satisfies Served)
    if (file === undefined) return undefined
    fs.mkdirSync(path.dirname(file), { recursive: true })
    sweep(path.dirname(file))
    fs.writeFileSync(file, text, { mode: 0o600 })
    return { file, text }
  }
  const forget = ({ file, text }: { readonly file: string; readonly text: string }) => {
    // Another server may have told of itself by now.
    if (fs.readFileSync(file, "utf8") === text) fs.rmSync(file)
  }
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => attempt(tell)),
      (told) => Effect.sync(() => told && attempt(() => forget(told)))
    )
  )
}

const patience = 2000

const answerOf = async (url: string, accept: string): Promise<Response> =>
  fetch(url, { headers: { accept }, signal: AbortSignal.timeout(patience), redirect: "error" })

/** The server of this user that serves the index now, if one answers. */
export const servedAt = (
  store: Store
): Effect.Effect<{ readonly url: string; readonly hasConsole: boolean } | undefined> =>
  Effect.orElseSucceed(
    Effect.tryPromise(async () => {
      const file = fileOf(store)
      if (file === undefined || !fs.existsSync(file)) return undefined
      const { pid, url } = servedIn(file)
      if (!isRunning(pid)) return undefined
      const health = (await (await answerOf(`${url}/health`, "application/json")).json()) as {
        readonly status?: unknown
      }
      if (health.status !== "ok") return undefined
      return { url, hasConsole: (await answerOf(`${url}/`, "text/html")).ok }
    }),
    () => undefined
  )

const openers: Partial<Readonly<Record<NodeJS.Platform, ReadonlyArray<string>>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""]
}

/** Opens an address in the browser, if there is a program for that; its address was printed in any case. */
export const browse = (url: string, env: Readonly<Record<string, string | undefined>>): Effect.Effect<void> =>
  Effect.async((resume) => {
    const [command, ...args] = openers[process.platform] ?? ["xdg-open"]
    const child = spawn(command!, [...args, url], { detached: true, stdio: "ignore", env })
    child.once("error", () => resume(Effect.logWarning(`No browser could be opened; open ${url} yourself`)))
    child.once("spawn", () => {
      child.unref()
      resume(Effect.void)
    })
  })
