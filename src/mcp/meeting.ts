import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { version } from "../version.ts"
import { attempt } from "../model/attempt.ts"

// Loaded by processes that only pass bytes on: it imports next to nothing of the program.

/** What decides the engine that a process opens. */
export interface Wanted {
  readonly db: string | undefined
  readonly config: string | undefined
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What a process says that joins another, before the bytes of its client. */
export interface Hello {
  /** Its command line after the program's name. */
  readonly args: ReadonlyArray<string>
  readonly cwd: string
}

/** What the other says, if it serves such a client. */
export interface Welcome {
  /** Tools that write, so that a call of one is not repeated. */
  readonly writing: ReadonlyArray<string>
}

/** What it says otherwise. */
export const refusal = null

/** Characters of a hello at most, and bytes of its answer. */
export const longestHello = 262_144

/** The shell's working directory; it may be gone, and absolute paths still work then. */
export const workingDirectory = (env: Wanted["env"]): string => attempt(() => process.cwd()) ?? env["PWD"] ?? "/"

/** A flag's name in `--name=value`. */
export const nameOf = (arg: string): string => arg.split("=", 1)[0]!

/** The value of a flag as it stands in the command line. Who is joined reads the line by the flags' definitions. */
export const valueOf = (args: ReadonlyArray<string>, flag: string): string | undefined => {
  const at = args.findLastIndex((arg) => nameOf(arg) === flag)
  const given = args[at]
  return given === undefined ? undefined : given === flag ? args[at + 1] : given.slice(flag.length + 1)
}

/** The engine of this process, which others may join. */
export interface Meeting {
  readonly address: string
  /** Lets nobody join any more; those who have may stay. */
  readonly close: () => void
  /** Resolves once somebody joins. */
  readonly joined: Promise<void>
  /** Takes the connections, also those that came before. */
  readonly onJoin: (serve: (socket: net.Socket) => void) => void
  /** The process has no client of its own on standard input, but one that has joined, until this resolves. */
  readonly left?: Promise<void>
}

/** The configuration file that counts, as in Config/Load.ts. */
const configFile = ({ config, cwd, env }: Wanted, home: string): string | undefined => {
  const named = config ?? (env["CLEW_CONFIG"] || undefined)
  if (named !== undefined) return path.resolve(cwd, named.replace(/^~(?=\/)/, home))
  const base = path.isAbsolute(env["XDG_CONFIG_HOME"] ?? "") ? env["XDG_CONFIG_HOME"]! : path.join(home, ".config")
  return [path.join(cwd, "clew.toml"), path.join(base, "clew", "config.toml")].find((file) => fs.existsSync(file))
}

/** A file's path without links in its folder's, so that two names of one index meet. */
export const real = (file: string): string =>
  attempt(() => path.join(fs.realpathSync(path.dirname(file)), path.basename(file))) ?? file

/** This build of the program; another may answer differently. */
const build = (): string => {
  const size = fs.statSync(path.join(path.dirname(fileURLToPath(import.meta.url)), "program.cjs"), {
    throwIfNoEntry: false
  })?.size
  return `${version} ${size ?? process.pid}`
}

/** A folder in which processes of this user find each other, and that only they can enter; undefined if there is none. */
export const ownFolder = (): string | undefined => {
  const uid = process.getuid?.()
  if (uid === undefined) return undefined
  const folder = `/tmp/clew-${uid}`
  fs.mkdirSync(folder, { mode: 0o700, recursive: true })
  const found = fs.lstatSync(folder)
  return found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0 ? folder : undefined
}

/**
 * The socket of the processes that would open the same engine: the same index with the same configuration, by the same
 * build. What decides that gives it its name, so that others are not found at all. In /tmp, since clients start servers
 * without the variables that name another folder. Undefined if there can be none: on Windows, or if the folder is
 * somebody else's.
 */
export const socketOf = (wanted: Wanted): string | undefined => {
  const { cwd, db, env } = wanted
  try {
    const folder = ownFolder()
    if (folder === undefined) return undefined
    const home = env["HOME"] || env["USERPROFILE"] || ""
    const file = configFile(wanted, home)
    const text = file === undefined ? "" : fs.readFileSync(file, "utf8")
    // Those of PostgreSQL's own library too: they name its server and user where the address does not.
    const set = Object.keys(env).filter(
      (name) => (name.startsWith("CLEW_") || name.startsWith("PG")) && name !== "CLEW_CONFIG" && env[name]
    )
    const isDefault = !/\bstore\b/.test(text) && !set.some((name) => name.startsWith("CLEW_STORE_"))
    const data = path.isAbsolute(env["XDG_DATA_HOME"] ?? "") ? env["XDG_DATA_HOME"]! : path.join(home, ".local/share")
    const index = db ?? (isDefault ? path.join(data, "clew", "index.db") : undefined)
    const decides = [
      build(),
      index && real(path.resolve(cwd, index)),
      file,
      text,
      home,
      set.toSorted().map((name) => [name, env[name]]),
      // Paths in variables are relative to it.
      set.length > 0 && cwd
    ]
    return path.join(folder, `${createHash("sha256").update(JSON.stringify(decides)).digest("hex").slice(0, 32)}.sock`)
  } catch {
    return undefined
  }
}

/** How long another process may take to greet, while it starts or works. */
const patience = 5000

/**
 * Joins the process that listens there. "absent": none does; "gone": it has just ended; "refused": it serves no such
 * client, does not answer, or is not this user's.
 */
export const join = (
  file: string,
  hello: Hello
): Promise<{ readonly socket: net.Socket; readonly welcome: Welcome } | "absent" | "gone" | "refused"> =>
  new Promise((resolve) => {
    const found = fs.lstatSync(file, { throwIfNoEntry: false })
    if (found === undefined) return resolve("absent")
    if (!found.isSocket() || found.uid !== process.getuid?.()) return resolve("refused")
    const socket = net.connect(file)
    let received = Buffer.alloc(0)
    const end = (result: "absent" | "gone" | "refused") => {
      clearTimeout(timer)
      socket.destroy()
      resolve(result)
    }
    const timer = setTimeout(() => end("refused"), patience)
    const onError = ({ code }: NodeJS.ErrnoException) =>
      end(code === "ECONNREFUSED" || code === "ENOENT" ? "absent" : code === "EACCES" ? "refused" : "gone")
    const onEnd = () => end("gone")
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length > longestHello) return end("refused")
      if (!received.includes(0x0a)) return
      const welcome = attempt(() => JSON.parse(received.toString("utf8")) as Welcome | typeof refusal)
      if (welcome === undefined || welcome === refusal) return end("refused")
      clearTimeout(timer)
      socket.pause()
      socket.off("error", onError).off("end", onEnd).off("close", onEnd).off("data", onData)
      resolve({ socket, welcome })
    }
    socket.on("error", onError).on("end", onEnd).on("close", onEnd).on("data", onData)
    socket.write(`${JSON.stringify(hello)}\n`)
  })

const listen = (file: string): Promise<Meeting> =>
  new Promise((resolve, reject) => {
    const waiting: Array<net.Socket> = []
    const server = net.createServer({ pauseOnConnect: true })
    server.maxConnections = 256
    server.on("connection", (socket) => waiting.push(socket))
    const joined = new Promise<void>((found) => server.once("connection", () => found()))
    server.once("error", reject)
    server.listen(file, () => {
      server.off("error", reject).on("error", () => {})
      fs.chmodSync(file, 0o600)
      const { ctimeMs, ino } = fs.lstatSync(file)
      const remove = () => {
        const found = fs.lstatSync(file, { throwIfNoEntry: false })
        // Another process may listen there by now.
        if (found?.ino === ino && found.ctimeMs === ctimeMs) fs.rmSync(file, { force: true })
      }
      process.once("exit", remove)
      resolve({
        address: file,
        joined,
        close: () => {
          server.close()
          process.off("exit", remove)
          for (const socket of waiting.splice(0)) socket.destroy()
        },
        onJoin: (serve) => {
          server.removeAllListeners("connection").on("connection", serve)
          for (const socket of waiting.splice(0)) serve(socket)
        }
      })
    })
  })

/** Milliseconds after which a turn's folder was left by a process that was killed. */
const stale = 5000

/** Whether nobody listens there. A process that is too busy to take the connection still listens. */
const isRefused = (file: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(file)
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"))
    socket.once("connect", () => {
      socket.destroy()
      resolve(false)
    })
  })

/** Does this if no other process does it now, which a folder shows that only one of them can make; else undefined. */
const inTurn = async <A>(file: string, use: () => Promise<A>): Promise<A | undefined> => {
  const lock = `${file}.lock`
  try {
    fs.mkdirSync(lock)
  } catch {
    const since = fs.statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (since !== undefined && Date.now() - since > stale) fs.rmSync(lock, { recursive: true, force: true })
    return undefined
  }
  try {
    return await use()
  } catch {
    return undefined
  } finally {
    fs.rmSync(lock, { recursive: true, force: true })
  }
}

/** Whether the place is free, once the socket of a process that was killed is removed. */
const isFree = async (file: string): Promise<boolean> => {
  if (!fs.existsSync(file)) return true
  if (!(await isRefused(file))) return false
  fs.rmSync(file, { force: true })
  return true
}

/** How many other sockets are looked at, which killed processes may have left. */
const swept = 64

/** Listens there, unless another process does or begins to. Removes sockets that killed processes left in the folder. */
export const claim = async (file: string): Promise<Meeting | undefined> => {
  const meeting = await inTurn(file, async () => ((await isFree(file)) ? listen(file) : undefined))
  if (meeting === undefined) return undefined
  const folder = path.dirname(file)
  const others = fs.readdirSync(folder).filter((name) => name.includes(".sock") && name !== path.basename(file))
  const sweep = (name: string) => {
    const other = path.join(folder, path.basename(name, ".lock"))
    return inTurn(other, () => isFree(other))
  }
  await Promise.all(others.slice(0, swept).map(sweep))
  return meeting
}
