import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Postgres from "../../../src/Store/Postgres.ts"

const given = process.env["CLEW_TEST_POSTGRES_URL"]

/** The folder of PostgreSQL's programs: Debian's newest. */
const programs = (): string | undefined => {
  const root = "/usr/lib/postgresql"
  const versions = fs.existsSync(root) ? fs.readdirSync(root).filter((version) => /^\d+$/.test(version)) : []
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? undefined : path.join(root, newest, "bin")
}

const found = programs()

/** Whether a server can be had; tests are skipped without one, unless it is required. */
export const hasPostgres = given !== undefined || found !== undefined

if (!hasPostgres) {
  const what = "No PostgreSQL: set CLEW_TEST_POSTGRES_URL, or install Debian's postgresql"
  if (process.env["CLEW_REQUIRE_POSTGRES"] === "1") throw new Error(what)
  console.warn(`${what}; its tests are skipped`)
}

/** PostgreSQL refuses to run as root. */
const asUser = (program: string, ...args: ReadonlyArray<string>): ReadonlyArray<string> =>
  process.getuid?.() === 0
    ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", path.join(found!, program), ...args]
    : [path.join(found!, program), ...args]

const run = ([program, ...args]: ReadonlyArray<string>) =>
  execFileSync(program!, args, { stdio: "ignore", env: { ...process.env, HOME: os.tmpdir() } })

/** A server of its own, reached by a socket in its folder. */
export interface Server {
  readonly url: string
  /** Ends it at once, as a crash does. */
  readonly kill: () => void
  readonly start: () => void
}

const own = Effect.acquireRelease(
  Effect.sync((): Server & { readonly end: () => void } => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "clew-pg-"))
    if (process.getuid?.() === 0) fs.chownSync(folder, 65534, 65534)
    const data = path.join(folder, "data")
    run(asUser("initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"))
    fs.appendFileSync(
      path.join(data, "postgresql.conf"),
      `listen_addresses = ''\nunix_socket_directories = '${folder}'\nmax_connections = 80\nshared_buffers = 32MB\n`
    )
    const control = (...args: ReadonlyArray<string>) =>
      run(asUser("pg_ctl", "-D", data, "-l", path.join(folder, "log"), "-w", ...args))
    control("start")
    return {
      url: `postgres://postgres@/postgres?host=${encodeURIComponent(folder)}`,
      kill: () => control("-m", "immediate", "stop"),
      start: () => control("start"),
      end: () => {
        try {
          control("-m", "immediate", "stop")
        } catch {
          // It was stopped already.
        }
        fs.rmSync(folder, { recursive: true, force: true })
      }
    }
  }),
  (server) => Effect.sync(server.end)
)

/** The given server, or one that ends with the scope. */
export const server: Effect.Effect<Server, never, import("effect/Scope").Scope> =
  given === undefined ? own : Effect.succeed({ url: given, kill: () => {}, start: () => {} })

let made = 0

/** Options of a schema that nobody else has. */
export const fresh = ({ url }: Server): Postgres.DatabaseOptions => ({
  url: Redacted.make(url),
  schema: `t${process.pid}_${made++}`,
  pool: 6,
  mode: "create"
})

/** A new index on a server. */
export const newIndex = Layer.unwrapScoped(Effect.map(server, (running) => Postgres.layer(fresh(running))))
