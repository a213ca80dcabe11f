// Runs the Dockerfile's steps without a container engine: each stage in its own bare Debian root, under chroot. Then
// tests the CLI, MCP and HTTP there, as the image's user, on a read-only root file system.
//
//   sudo node scripts/container.mjs [FOLDER]
//
// Needs Debian's debootstrap. The mirror is the one that this system uses.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const project = fileURLToPath(new URL("..", import.meta.url))
const folder = realpathSync(process.argv[2] ?? mkdtempSync(join(tmpdir(), "clew-container-")))
const run = (command, args, options = {}) => execFileSync(command, args, { stdio: "inherit", ...options })
const say = (text) => console.log(`\n== ${text}`)

if (process.getuid() !== 0) throw new Error("chroot needs root: run it with sudo")

/** Deletes a folder, unless something is mounted at or below it, whose files would be deleted too. */
const remove = (path) => {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n")
  if (mounts.some((line) => `${line.split(" ")[4]}/`.startsWith(`${path}/`))) {
    throw new Error(`Something is mounted below ${path}; unmount it first`)
  }
  rmSync(path, { recursive: true, force: true })
}

if (process.env.CLEW_CONTAINER_INSIDE === undefined) {
  // All mounts are in the mount namespace of a child process, and disappear when it ends.
  const { status } = spawnSync(
    "unshare",
    ["--mount", "--propagation", "private", process.execPath, fileURLToPath(import.meta.url), folder],
    { stdio: "inherit", env: { ...process.env, CLEW_CONTAINER_INSIDE: "1" } }
  )
  if (process.argv[2] === undefined) remove(folder)
  process.exit(status ?? 1)
}

/** A Debian root with this system's Node in the same place as in the official image. */
const base = join(folder, "base")
const debian = () => {
  if (existsSync(join(base, "usr/bin/node"))) return
  say("FROM: a bare Debian root")
  const targets = execFileSync("apt-get", ["indextargets", "--format", "$(REPO_URI)"], { encoding: "utf8" })
  run("debootstrap", ["--variant=minbase", "--include=ca-certificates", "bookworm", base, targets.split("\n")[0]], {
    stdio: "ignore"
  })
  spawnSync("umount", [join(base, "proc")], { stdio: "ignore" })
  const node = realpathSync(process.execPath)
  const npm = join(dirname(node), "../lib/node_modules/npm")
  cpSync(node, join(base, "usr/bin/node"))
  cpSync(npm, join(base, "usr/lib/node_modules/npm"), { recursive: true })
  const headers = join(dirname(node), "../include/node")
  if (existsSync(headers)) cpSync(headers, join(base, "usr/include/node"), { recursive: true })
  for (const tool of ["npm", "npx"]) {
    run("ln", ["-sf", `../lib/node_modules/npm/bin/${tool}-cli.js`, join(base, "usr/bin", tool)])
  }
  run("chroot", [base, "useradd", "--uid", "1000", "--user-group", "--create-home", "node"])
}

/** This system's access to the package registries: names, certificates, npm's settings. */
const network = (root) => {
  for (const file of ["/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"]) {
    if (existsSync(file)) cpSync(realpathSync(file), join(root, file))
  }
  for (const file of ["/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/apt.conf.d"]) {
    rmSync(join(root, file), { recursive: true, force: true })
    if (existsSync(file)) cpSync(file, join(root, file), { recursive: true, dereference: true })
  }
  const npmrc = join(process.env.HOME ?? "/root", ".npmrc")
  if (existsSync(npmrc)) cpSync(npmrc, join(root, "root/.npmrc"))
}

/** One instruction a line; lines that end in a backslash are joined. */
const steps = readFileSync(join(project, "Dockerfile"), "utf8")
  .replaceAll(/\\\n\s*/g, " ")
  .split("\n")
  .filter((line) => line.trim() !== "" && !line.startsWith("#"))
  .map((line) => {
    const space = line.indexOf(" ")
    return [line.slice(0, space), line.slice(space + 1).trim()]
  })

const stages = new Map()
let stage

const inside = (root, { cwd = "/", env = {}, user = "root" }, command, options = {}) =>
  spawn(
    "chroot",
    [`--userspec=${user}:${user}`, root, "/usr/bin/env", "-i", "-C", cwd, ...variables(env), ...command],
    options
  )
const variables = (env) =>
  Object.entries({
    PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    HOME: "/root",
    NODE_EXTRA_CA_CERTS: "/etc/ssl/certs/ca-certificates.crt",
    ...env
  }).map(([name, value]) => `${name}=${value}`)

const ended = (child) => new Promise((resolve) => child.on("close", resolve))

const copy = (text) => {
  const words = text.split(/\s+/)
  const from = words[0].startsWith("--from=") ? stages.get(words.shift().slice(7)).root : undefined
  const target = words.pop()
  const to = join(stage.root, target.startsWith("/") ? target : join(stage.cwd, target))
  if (words[0] === ".") {
    const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: project,
      encoding: "utf8"
    })
    for (const file of files.split("\0").filter((name) => name !== "" && existsSync(join(project, name)))) {
      cpSync(join(project, file), join(to, file))
    }
    return
  }
  mkdirSync(target.endsWith("/") ? to : dirname(to), { recursive: true })
  for (const word of words) {
    const source = join(from ?? project, word)
    cpSync(source, target.endsWith("/") ? join(to, word.split("/").at(-1)) : to, {
      recursive: true,
      verbatimSymlinks: true
    })
  }
}

const perform = async (instruction, text) => {
  switch (instruction) {
    case "FROM": {
      const [, name = "image"] = / AS (\S+)/i.exec(text) ?? []
      const root = join(folder, name)
      remove(root)
      // With the device files that debootstrap made there, not this system's.
      run("cp", ["-a", base, root])
      network(root)
      run("mount", ["-t", "proc", "proc", join(root, "proc")])
      stage = { root, cwd: "/", env: {}, user: "root", entrypoint: [], health: [] }
      stages.set(name, stage)
      return
    }
    case "WORKDIR":
      stage.cwd = text
      mkdirSync(join(stage.root, text), { recursive: true })
      return
    case "COPY":
      return copy(text)
    case "RUN": {
      const code = await ended(inside(stage.root, stage, ["/bin/sh", "-c", text], { stdio: "inherit" }))
      if (code !== 0) throw new Error(`RUN ${text}: exit ${code}`)
      return
    }
    case "ENV": {
      const at = text.indexOf("=")
      stage.env[text.slice(0, at)] = text.slice(at + 1)
      return
    }
    case "USER":
      stage.user = text
      stage.env.HOME = `/home/${text}`
      return
    case "HEALTHCHECK":
      stage.health = JSON.parse(text.slice(text.indexOf("CMD") + 3))
      return
    case "ENTRYPOINT":
      stage.entrypoint = JSON.parse(text)
      return
    case "CMD":
    case "VOLUME":
    case "EXPOSE":
      return
    default:
      throw new Error(`${instruction} is not known here`)
  }
}

const check = (what, holds) => {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`)
  if (!holds) process.exitCode = 1
}

/** Mounts the image's root read-only, with a folder of this system as its volume. */
const container = () => {
  const data = join(folder, "data")
  remove(data)
  mkdirSync(data, { mode: 0o700 })
  run("chown", ["1000:1000", data])
  run("mount", ["--bind", stage.root, stage.root])
  run("mount", ["-o", "remount,ro,bind", stage.root])
  run("mount", ["--bind", data, join(stage.root, "data")])
  writeFileSync(join(data, "keys.md"), "# Keys\n\nRotate the keys every ninety days.\n", { mode: 0o644 })
}

const clew = (args, { env = {}, ...options } = {}) =>
  inside(
    stage.root,
    { ...stage, env: { ...stage.env, CLEW_EMBEDDING_BACKEND: "builtin", ...env } },
    [...stage.entrypoint, ...args],
    options
  )

const printed = async (child) => {
  let text = ""
  child.stdout.on("data", (chunk) => (text += chunk))
  const code = await ended(child)
  return { text, code }
}

const tryCommands = async () => {
  const index = await printed(clew(["index", "/data/keys.md"], { stdio: ["ignore", "pipe", "inherit"] }))
  check("index writes to the volume", index.code === 0 && existsSync(join(folder, "data/index.db")))
  const query = await printed(clew(["query", "how often to rotate keys"], { stdio: ["ignore", "pipe", "inherit"] }))
  check("query finds the passage", query.code === 0 && query.text.includes("ninety days"))
}

const tryMcp = async () => {
  const child = clew(["mcp", "--db", "/data/index.db"], { stdio: ["pipe", "pipe", "ignore"] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async (message) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
    return message.id === undefined ? undefined : JSON.parse((await lines.next()).value)
  }
  const client = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "container", version: "1" } }
  const hello = await ask({ id: 1, method: "initialize", params: client })
  check("mcp answers initialize", hello.result?.serverInfo !== undefined)
  await ask({ method: "notifications/initialized" })
  const found = await ask({
    id: 2,
    method: "tools/call",
    params: { name: "search", arguments: { query: "rotate keys" } }
  })
  check("mcp searches", JSON.stringify(found.result ?? {}).includes("ninety days"))
  child.stdin.end()
  check("mcp ends with its input", (await ended(child)) === 0)
}

const tryServe = async () => {
  const refused = await printed(clew(["serve", "--port", "0"], { stdio: ["ignore", "pipe", "ignore"] }))
  check("serve without a key refuses to listen beyond loopback", refused.code !== 0)
  const port = String(20_000 + Math.floor(Math.random() * 20_000))
  const env = { SERVICE_API_KEY: "container-key", CLEW_SERVER_PORT: port, CLEW_SERVER_HOST: "127.0.0.1" }
  const child = clew(["serve"], { env, stdio: ["ignore", "ignore", "ignore"] })
  const health = () => ended(inside(stage.root, { ...stage, env: { ...stage.env, ...env } }, stage.health))
  let healthy = false
  for (let tries = 0; !healthy && tries < 50; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    healthy = (await health()) === 0
  }
  check("HEALTHCHECK passes", healthy)
  const answer = await fetch(`http://127.0.0.1:${port}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer container-key" },
    body: JSON.stringify({ query: "rotate keys" })
  })
  check("serve answers a query", answer.ok && (await answer.text()).includes("ninety days"))
  child.kill("SIGTERM")
  check("serve ends with 0 on SIGTERM", (await ended(child)) === 0)
}

mkdirSync(folder, { recursive: true })
debian()
for (const [instruction, text] of steps) {
  say(`${instruction} ${text}`)
  await perform(instruction, text)
}
say("The image, as its user on a read-only root")
run("du", ["-sh", join(stage.root, "app")])
container()
await tryCommands()
await tryMcp()
await tryServe()
