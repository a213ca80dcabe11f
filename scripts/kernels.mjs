import { main } from "assemblyscript/asc"
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** The engines' kernels; other files with the same ending belong to one of them. */
const kernels = [
  "codes/scan",
  "codes/cosine",
  "postings/kernel",
  "postings/segment",
  "packaged/model2vec/products"
].map((name) => fileURLToPath(new URL(`../src/${name}.as.ts`, import.meta.url)))
const suffix = ".as.ts"

/** Options of all kernels: SIMD, a shared memory that the importer creates, no runtime. */
const options = ["-O3", "--runtime", "stub", "--importMemory", "--sharedMemory", "--maximumMemory", "65536"].concat(
  ["simd", "threads", "bulk-memory"].flatMap((feature) => ["--enable", feature]),
  ["--noExportMemory", "--use", "abort=", "--bindings", "raw"]
)

const isCurrent = (built, source) => {
  const made = statSync(built, { throwIfNoEntry: false })
  const parts = readdirSync(dirname(source)).filter((name) => name.endsWith(suffix))
  const sources = [fileURLToPath(import.meta.url), ...parts.map((part) => join(dirname(source), part))]
  return made !== undefined && sources.every((one) => made.mtimeMs > statSync(one).mtimeMs)
}

/** A kernel's exports as JavaScript calls them; a truth value is a number there. */
const interfaceOf = (declarations) => {
  const functions = [...declarations.matchAll(/export function (.*;)/g)]
  return `export interface Kernel { ${functions.map(([, one]) => one.replaceAll("boolean", "number")).join(" ")} }`
}

const compile = async (source) => {
  const file = basename(source)
  const built = source.replace(suffix, ".wasm.ts")
  if (isCurrent(built, source)) return
  const made = new Map()
  const { error, stderr } = await main([file, "--outFile", "out.wasm", "--baseDir", dirname(source), ...options], {
    readFile: (name, base) => {
      const found = statSync(join(base, name), { throwIfNoEntry: false })
      return found?.isFile() ? readFileSync(join(base, name), "utf8") : null
    },
    writeFile: (name, contents) => made.set(name, contents)
  })
  if (error !== null) throw new Error(`${file} does not compile: ${error.message}\n${stderr.toString()}`)
  const wasm = Buffer.from(made.get("out.wasm")).toString("base64")
  writeFileSync(built, `export default "${wasm}"\n${interfaceOf(made.get("out.d.ts"))}\n`)
}

/** Compiles each kernel, `NAME.as.ts` (AssemblyScript), to `NAME.wasm.ts`, which exports the module's bytes in base64 and their type. */
export const buildKernels = () => Promise.all(kernels.map(compile))

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildKernels()
