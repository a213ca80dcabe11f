import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll } from "vitest"
import { execFile, execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { Examiner } from "../../../src/Store.ts"
import * as Postgres from "../../../src/Store/Postgres.ts"
import * as PostgresExaminer from "../../../src/Store/PostgresExaminer.ts"

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

/** Runs one of PostgreSQL's tools on a server, which may wait for what this process has begun there. */
export const tool = (name: string, { folder }: Server, ...args: ReadonlyArray<string>) =>
  Effect.promise(() => promisify(execFile)(path.join(found!, name), ["-h", folder, "-U", "postgres", ...args]))

const run = ([program, ...args]: ReadonlyArray<string>) =>
  execFileSync(program!, args, { stdio: "ignore", env: { ...process.env, HOME: os.tmpdir() } })

/** A server of its own, reached by a socket in its folder. */
export interface Server {
  readonly url: string
  readonly folder: string
  /** Ends it at once, as a crash does. */
  readonly kill: () => void
  readonly start: () => void
  /** Makes a standby the primary. */
  readonly promote: () => void
}

const settings = (folder: string): string =>
  `listen_addresses = ''\nunix_socket_directories = '${folder}'\nmax_connections = 80\nshared_buffers = 32MB\n`

/** A server whose data are in a folder; made if there are none: empty, or a standby of another server. */
export const serverIn = (folder: string, { more = "", of }: { readonly of?: Server; readonly more?: string } = {}) => {
  const data = path.join(folder, "data")
  if (!fs.existsSync(data)) {
    if (process.getuid?.() === 0) fs.chownSync(folder, 65534, 65534)
    if (of === undefined) {
      run(asUser("initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"))
    } else run(asUser("pg_basebackup", "-h", of.folder, "-U", "postgres", "-D", data, "-R", "-c", "fast"))
    fs.appendFileSync(path.join(data, "postgresql.conf"), settings(folder) + more)
  }
  const control = (...args: ReadonlyArray<string>) =>
    run(asUser("pg_ctl", "-D", data, "-l", path.join(folder, "log"), "-w", ...args))
  const start = () => control("start")
  start()
  return {
    url: `postgres://postgres@/postgres?host=${encodeURIComponent(folder)}`,
    folder,
    kill: () => control("-m", "immediate", "stop"),
    start,
    promote: () => control("promote"),
    stop: () => control("-m", "fast", "stop")
  } satisfies Server & { readonly stop: () => void }
}

const owned = (of?: Server) =>
  Effect.acquireRelease(
    Effect.sync(() => serverIn(fs.mkdtempSync(path.join(os.tmpdir(), "clew-pg-")), of && { of })),
    ({ folder, kill }) =>
      Effect.sync(() => {
        try {
          kill()
        } catch {
          // It was stopped already.
        }
        fs.rmSync(folder, { recursive: true, force: true })
      })
  )

/** Whether tests may stop and start servers. */
export const hasOwn = given === undefined && hasPostgres

/** The given server, or one that ends with the scope. */
export const server: Effect.Effect<Server, never, Scope.Scope> =
  given === undefined
    ? owned()
    : Effect.succeed({ url: given, folder: "", kill: () => {}, start: () => {}, promote: () => {} })

/** A server for all tests of a file, each of which has a schema of its own. */
export const serverOfFile = (): Effect.Effect<Server> => {
  const scope = Effect.runSync(Scope.make())
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.runSync(Effect.cached(Scope.extend(server, scope)))
}

/** A server that repeats what another one does; it ends with the scope. */
export const standby = (of: Server): Effect.Effect<Server, never, Scope.Scope> => owned(of)

let made = 0

/** Options of a schema that nobody else has. */
export const fresh = ({ url }: Server): Postgres.DatabaseOptions => ({
  url: Redacted.make(url),
  schema: `t${process.pid}_${made++}`,
  pool: 6,
  mode: "create"
})

/** A new index on a server. */
export const newIndexOn = (server: Effect.Effect<Server>) =>
  Layer.unwrapEffect(Effect.map(server, (running) => Postgres.layer(fresh(running))))

/** What an examination finds wrong. */
export const faultsIn = (options: Postgres.DatabaseOptions) =>
  Effect.flatMap(Effect.provide(Examiner, PostgresExaminer.layer(options)), ({ examine }) =>
    Effect.map(
      examine(() => Effect.void),
      (all) => all.filter(({ status }) => status === "fail")
    )
  )
