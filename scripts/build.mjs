import { build } from "esbuild"
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { chmodSync, copyFileSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { serialize } from "node:v8"
import { analyze } from "./analyze.mjs"
import { ascii } from "./ascii.mjs"
import { writeBytecode } from "./bytecode.mjs"
import { commonjs } from "./commonjs.mjs"
import { buildKernels } from "./kernels.mjs"
import { young } from "./young.mjs"

const root = fileURLToPath(new URL("..", import.meta.url))
process.chdir(root)
await buildKernels()

// Built beside the old output and swapped in at the end: running programs continue, and a failed build breaks nothing.
const outdir = mkdtempSync(`${root}node_modules/.dist-`)
process.on("exit", () => rmSync(outdir, { recursive: true, force: true }))
// Below node_modules, the package's own does not count: an older Node 20 would take the modules for CommonJS.
writeFileSync(`${outdir}/package.json`, '{"type":"module"}')

/** Packages that are bundled with the library, too: users install none of them. */
const within = {
  name: "within",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^@(?:orama\/stemmers|effect\/sql-sqlite-node)\// }, ({ path }) => ({
      path: fileURLToPath(import.meta.resolve(path))
    }))
    onResolve({ filter: /^(?:porter2$|saxes$|xmlchars\/)/ }, ({ importer, path }) => ({
      path: createRequire(importer).resolve(path)
    }))
  }
}

/** MCP's SDKs bring a validator of what users enter in forms, of which the program shows none (Server.ts, secondEra.ts). */
const formless = {
  name: "formless",
  setup: ({ onLoad }) => {
    onLoad({ filter: /ajv-?provider[-\w]*\.m?js$/i }, () => ({
      contents: "export class AjvJsonSchemaValidator {}; export { AjvJsonSchemaValidator as n }"
    }))
  }
}

/** The two megabytes that show the API's documentation stay beside the program, which every start reads whole. */
const aside = {
  name: "aside",
  setup: ({ onLoad }) => {
    onLoad({ filter: /internal[\\/]httpApiSwagger\.js$/ }, async ({ path }) => {
      const { css, javascript } = await import(pathToFileURL(path).href)
      writeFileSync(`${outdir}/swagger.json`, JSON.stringify({ css, javascript }))
      const read = 'JSON.parse(readFileSync(new URL("swagger.json", import.meta.url), "utf8"))'
      return { contents: `import { readFileSync } from "node:fs"; export const { css, javascript } = ${read}` }
    })
  }
}

/**
 * Effect looks at a stack trace to know whether V8 has kept a function of its own, which in one script of three megabytes
 * takes as long as loading a tenth of it. V8 has.
 */
const unprobed = {
  name: "unprobed",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]effect[\\/]dist[\\/]esm[\\/]Utils\.js$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8")
      const contents = source.replace(/(?<=const isNotOptimizedAway = ).*(?=;$)/m, "true")
      if (contents === source) throw new Error(`${path} has no probe: is it another version of effect?`)
      return { contents }
    })
  }
}

const addons = ["sqlite-vec"]
/** Which release of SQLite's driver is loaded is decided where the program runs. */
const driver = { "better-sqlite3": "./src/Store/sqlite/driver.ts" }

const common = {
  absWorkingDir: root,
  outdir,
  chunkNames: "chunk-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  // Otherwise esbuild turns a literal with such a feature into a call of RegExp each time it is reached.
  supported: { "regexp-unicode-property-escapes": true, "regexp-lookbehind-assertions": true },
  legalComments: "none",
  logLevel: "warning"
}

/** The page of the console: a script, a style sheet and the mark, each with its digest in its name, and a page that loads them. */
const buildConsole = async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: "src/console/main.tsx", out: "clew" },
      { in: "src/console/style.css", out: "style" },
      { in: "src/console/mark.svg", out: "mark" }
    ],
    outdir: `${outdir}/console`,
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".svg": "copy" },
    bundle: true,
    format: "esm",
    platform: "browser",
    target: ["chrome109", "firefox115", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
    metafile: true
  })
  const files = Object.keys(metafile.outputs).map((path) => basename(path))
  // As an address within the folder of the views, which may be below a proxy's path.
  const named = (kind) => `assets/${files.find((name) => name.endsWith(kind))}`
  const page = readFileSync("src/console/page.html", "utf8").replace(/\{(\.\w+)\}/g, (_, kind) => named(kind))
  writeFileSync(`${outdir}/console/page.html`, page)
}

/** Writes the packaged tokenizer's vocabulary as the table that finds its tokens, which every start would make anew. */
const packTokenizer = async () => {
  const { outputFiles } = await build({ ...common, entryPoints: ["src/tokenizer/vocabulary.ts"], write: false })
  const code = Buffer.from(outputFiles[0].contents).toString("base64")
  const { pack } = await import(`data:text/javascript;base64,${code}`)
  const folder = `${outdir}/assets/clew-static-en-v1`
  writeFileSync(`${folder}/tokenizer.${serialize(0)[1]}.packed`, pack(readFileSync(`${folder}/tokenizer.json`)))
}

const url = 'require("node:url").pathToFileURL(__filename).href'

const [{ metafile }] = await Promise.all([
  // The program is one script, wrapped like a CommonJS module, and so is the store's thread; SQLite's addons cannot be
  // inside.
  build({
    ...common,
    entryPoints: [
      { in: "src/bin.ts", out: "program" },
      { in: "src/Store/threads/worker.ts", out: "storeWorker" }
    ],
    outExtension: { ".js": ".cjs" },
    splitting: false,
    format: "cjs",
    minify: true,
    external: addons,
    // Node would choose a module that requires its parts by names that the bundler cannot see.
    alias: { ...driver, "jsonc-parser": "./node_modules/jsonc-parser/lib/esm/main.js" },
    define: { "import.meta.url": "__url" },
    banner: {
      js: `(function(require,__filename,__meeting){const module={exports:{}},exports=module.exports,__url=${url};`
    },
    footer: { js: "})" },
    plugins: [formless, aside, unprobed],
    metafile: true
  }),
  build({
    ...common,
    entryPoints: [
      { in: "src/Chunker/chunkWorker.ts", out: "chunkWorker" },
      { in: "src/onnx/worker.ts", out: "onnxWorker" },
      { in: "src/files/Loader/extractWorker.ts", out: "extractWorker" },
      { in: "src/mcp/relay.ts", out: "relay" }
    ],
    minify: true,
    alias: driver,
    plugins: [commonjs, unprobed],
    external: addons,
    // CommonJS packages in the bundle still call require.
    banner: {
      js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);'
    }
  }),
  // The library shares effect with the program that imports it: tags and fibers of two copies are incompatible.
  build({
    ...common,
    entryPoints: ["src/index.ts", "src/client.ts"],
    packages: "external",
    alias: driver,
    plugins: [within]
  }),
  buildConsole()
])
const scripts = [`${outdir}/program.cjs`, `${outdir}/storeWorker.cjs`]
for (const script of scripts) writeFileSync(script, young(ascii(readFileSync(script, "utf8"))))
copyFileSync("scripts/launcher.mjs", `${outdir}/bin.js`)
copyFileSync("scripts/threadLauncher.mjs", `${outdir}/storeWorker.js`)
const digest = createHash("sha256")
for (const script of scripts) digest.update(readFileSync(script))
const launched = readFileSync("scripts/compiled.mjs", "utf8")
writeFileSync(`${outdir}/compiled.js`, launched.replace("BUILD", digest.digest("hex").slice(0, 12)))
chmodSync(outdir, 0o755)
chmodSync(`${outdir}/bin.js`, 0o755)
cpSync("src/assets", `${outdir}/assets`, { recursive: true })
await packTokenizer()
await writeBytecode(outdir)

if (!process.argv.includes("--no-types")) {
  execFileSync("node_modules/.bin/tsc", ["--project", "tsconfig.build.json", "--outDir", `${outdir}/types`], {
    stdio: "inherit"
  })
}
rmSync(`${outdir}/package.json`)
rmSync("dist", { recursive: true, force: true })
renameSync(outdir, "dist")
if (process.argv.includes("--analyze")) console.log(analyze(metafile))
