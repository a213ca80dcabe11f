import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const here = path.dirname(fileURLToPath(import.meta.url))

/** Whether this machine has what a cluster is made with. */
export const hasTools = ["javac", "mvn"].every((tool) => spawnSync(tool, ["-version"]).error === undefined)

const modules: ReadonlyArray<
  readonly [name: string, className: string, extended: string, jars: ReadonlyArray<string>]
> = [
  ["transport-netty4", "org.opensearch.transport.Netty4Plugin", "", ["transport-netty4-client-", "netty-"]],
  [
    "lang-painless",
    "org.opensearch.painless.PainlessPlugin",
    "",
    ["lang-painless-", "opensearch-scripting-painless-spi-", "antlr4-runtime-", "asm-"]
  ],
  ["analysis-common", "org.opensearch.analysis.common.CommonAnalysisPlugin", "lang-painless", ["analysis-common-"]],
  [
    "reindex",
    "org.opensearch.index.reindex.ReindexPlugin",
    "",
    [
      "reindex-client-",
      "opensearch-rest-client-",
      "opensearch-ssl-config-",
      "http",
      "commons-logging-",
      "commons-codec-"
    ]
  ]
]

/**
 * A home of OpenSearch with k-NN in the folder for what is made once, from Maven's repository: its jars in the places
 * where its launcher would have them.
 */
const home = (): string => {
  const version = /<os>([\d.]+)</.exec(readFileSync(path.join(here, "pom.xml"), "utf8"))![1]!
  const made = path.join(tmpdir(), `clew-opensearch-${version}`)
  if (existsSync(made)) return made
  const folder = mkdtempSync(path.join(tmpdir(), "clew-opensearch-"))
  const jars = path.join(folder, "jars")
  execFileSync("mvn", [
    "-q",
    "-B",
    "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
    "-f",
    path.join(here, "pom.xml"),
    "-DincludeScope=runtime",
    `-DoutputDirectory=${jars}`
  ])
  for (const name of ["lib", "config", "plugins/opensearch-knn"])
    mkdirSync(path.join(folder, name), { recursive: true })
  for (const [name, className, extended, prefixes] of modules) {
    const place = path.join(folder, "modules", name)
    mkdirSync(place, { recursive: true })
    for (const jar of readdirSync(jars).filter((file) => prefixes.some((prefix) => file.startsWith(prefix)))) {
      renameSync(path.join(jars, jar), path.join(place, jar))
    }
    const descriptor = {
      description: name,
      version,
      name,
      classname: className,
      "java.version": "11",
      "opensearch.version": version,
      "extended.plugins": extended,
      "has.native.controller": "false"
    }
    writeFileSync(
      path.join(place, "plugin-descriptor.properties"),
      Object.entries(descriptor)
        .map((pair) => `${pair.join("=")}\n`)
        .join("")
    )
  }
  const plugin = readdirSync(jars).find((file) => /^opensearch-knn-.*\.zip$/.test(file))!
  execFileSync("jar", ["xf", path.join(jars, plugin)], { cwd: path.join(folder, "plugins/opensearch-knn") })
  rmSync(path.join(jars, plugin))
  for (const jar of readdirSync(jars)) renameSync(path.join(jars, jar), path.join(folder, "lib", jar))
  execFileSync("javac", [
    "-cp",
    path.join(folder, "lib/*"),
    "-d",
    path.join(folder, "lib/start"),
    path.join(here, "Start.java")
  ])
  cpSync(path.join(here, "log4j2.properties"), path.join(folder, "config/log4j2.properties"))
  chmodSync(folder, 0o755)
  try {
    renameSync(folder, made)
  } catch {
    // Another run made it meanwhile.
    rmSync(folder, { recursive: true })
  }
  return made
}

/** A node that runs, and can be ended in every way. */
export interface Node {
  readonly name: string
  readonly url: string
  readonly process: ChildProcess
  readonly start: () => void
}

export interface Cluster {
  readonly urls: ReadonlyArray<string>
  readonly nodes: ReadonlyArray<Node>
  readonly stop: () => Promise<void>
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const isUp = async (url: string, nodes: number): Promise<boolean> => {
  try {
    const answer = await fetch(`${url}/_cluster/health?wait_for_nodes=>=${nodes}&wait_for_status=yellow&timeout=2s`, {
      signal: AbortSignal.timeout(5000)
    })
    return answer.ok
  } catch {
    return false
  }
}

/** Starts nodes on loopback, each a process with a heap of 512 MB; `settings` go to all. */
export const startCluster = async (
  count: number,
  {
    port = 19_400,
    settings = {}
  }: { readonly port?: number; readonly settings?: Readonly<Record<string, string>> } = {}
): Promise<Cluster> => {
  const at = home()
  const data = mkdtempSync(path.join(tmpdir(), "clew-cluster-"))
  const all = Array.from({ length: count }, (_, n) => n)
  const run = (n: number): ChildProcess => {
    const log = openSync(path.join(data, `n${n}.log`), "a")
    const options = {
      "path.home": at,
      "path.data": path.join(data, `data${n}`),
      "path.logs": data,
      "node.name": `n${n}`,
      "cluster.name": path.basename(data),
      "network.host": "127.0.0.1",
      "http.port": port + n,
      "transport.port": port + 100 + n,
      "discovery.seed_hosts": all.map((other) => `127.0.0.1:${port + 100 + other}`).join(","),
      "cluster.initial_cluster_manager_nodes": all.map((other) => `n${other}`).join(","),
      "node.store.allow_mmap": "false",
      "action.auto_create_index": "false",
      "cluster.routing.allocation.disk.threshold_enabled": "false",
      ...settings
    }
    const flags = [
      "-Xms512m",
      "-Xmx512m",
      "-XX:MaxDirectMemorySize=128m",
      "-Djava.awt.headless=true",
      "-Dio.netty.noUnsafe=true",
      "-Dlog4j2.disable.jmx=true",
      "-Dlog4j.shutdownHookEnabled=false",
      `-Dlog4j2.configurationFile=${path.join(at, "config/log4j2.properties")}`
    ]
    const classes = [path.join(at, "lib/start"), path.join(at, "lib/*")].join(path.delimiter)
    const child = spawn(
      "java",
      [...flags, "-cp", classes, "Start", ...Object.entries(options).map((pair) => pair.join("="))],
      { stdio: ["ignore", log, log] }
    )
    closeSync(log)
    return child
  }
  const processes = all.map(run)
  const nodes = all.map((n): Node => ({
    name: `n${n}`,
    url: `http://127.0.0.1:${port + n}`,
    get process() {
      return processes[n]!
    },
    start: () => {
      processes[n] = run(n)
    }
  }))
  const stop = async () => {
    for (const child of processes) child.kill("SIGCONT")
    for (const child of processes) child.kill("SIGTERM")
    for (
      let waited = 0;
      waited < 100 && processes.some(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
      waited++
    ) {
      await sleep(100)
    }
    for (const child of processes) child.kill("SIGKILL")
    rmSync(data, { recursive: true, force: true })
  }
  for (const { name, process: child, url } of nodes) {
    for (let waited = 0; !(await isUp(url, count)); waited++) {
      if (child.exitCode !== null || waited > 600) {
        const log = readFileSync(path.join(data, `${name}.log`), "utf8").slice(-4000)
        await stop()
        throw new Error(`Node ${name} of OpenSearch did not start:\n${log}`)
      }
      await sleep(200)
    }
  }
  return { urls: nodes.map(({ url }) => url), nodes, stop }
}
