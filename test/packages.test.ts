import { build } from "esbuild"
import { readdirSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const { dependencies, exports, types, typesVersions } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  readonly dependencies: Record<string, string>
  readonly exports: Record<string, { readonly types: string }>
  readonly types: string
  readonly typesVersions: { readonly "*": Record<string, ReadonlyArray<string>> }
}

/** Peers of the packages that the library imports; npm would bring the newest, which are of another Effect. */
const peers = ["@effect/cluster", "@effect/rpc", "@effect/workflow"]

/** The packages that the user asked for; of @effect/schema the successor. */
const card = [
  "effect",
  "effect/Schema",
  "@effect/platform",
  "@effect/platform-node",
  "@effect/cli",
  "@effect/sql-sqlite-node",
  "sqlite-vec",
  "@modelcontextprotocol/sdk",
  "ollama"
]

const packageOf = (path: string) =>
  path
    .split("/")
    .slice(0, path.startsWith("@") ? 2 : 1)
    .join("/")

/** The packages that the built files import when they run. */
const imported = async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["index.js", "client.js", "storeWorker.js", "chunkWorker.js"].map((name) => `dist/${name}`),
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    outdir: "unwritten",
    write: false,
    metafile: true
  })
  const paths = Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ external }) => external === true)
    .map(({ path }) => path)
  return new Set(paths.filter((path) => !path.startsWith("node:") && !builtinModules.includes(path)).map(packageOf))
}

describe("package.json", () => {
  it("has users install what the built program imports, and nothing that is bundled", async () => {
    assert.deepStrictEqual(Object.keys(dependencies).sort(), [...(await imported()), ...peers].sort())
  })

  it("has in it what the user's design card names, each used by the program", () => {
    const sources = readdirSync(`${root}src`, { encoding: "utf8", recursive: true })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => readFileSync(`${root}src/${path}`, "utf8"))
    const isUsed = (name: string) =>
      sources.some((text) => [`from "${name}`, `import("${name}`].some((start) => text.includes(start)))
    assert.deepStrictEqual(
      card.filter((name) => !isUsed(name)),
      []
    )
  })

  it("shows the same types to a TypeScript that does not read exports, as a new Next.js project's", () => {
    const found = Object.entries(typesVersions["*"]).map(([name, [path]]) => [`./${name}`, path])
    assert.deepStrictEqual(
      Object.entries(exports).map(([name, entry]) => [name, entry.types]),
      [[".", types], ...found]
    )
  })

  it("names no registry in the lock file", () => {
    assert.notInclude(readFileSync(`${root}package-lock.json`, "utf8"), '"resolved": "http')
  })
})

describe("the built program", () => {
  it("assigns no function to a property as it is written, which V8 would keep beyond its use", () => {
    for (const script of ["program", "storeWorker"]) {
      assert.notMatch(
        readFileSync(`${root}dist/${script}.cjs`, "utf8"),
        /[\w)\]]\.\w{1,99}=(?:async )?(?:\w+|\(\w*(?:,\w+)*\))=>/,
        script
      )
    }
  })
})
