import { existsSync, readFileSync } from "node:fs"
import { dirname, extname, join } from "node:path"
import { pathToFileURL } from "node:url"

const namespace = "commonjs"
const isIdentifier = (name) => /^[A-Za-z_$][\w$]*$/.test(name) && !["default", "__esModule"].includes(name)

/**
 * Gives `import("package")` the names that Node gives it. With code splitting, esbuild leaves a CommonJS package only its
 * default export.
 */
export const commonjs = {
  name: "commonjs",
  setup(build) {
    build.onResolve({ filter: /^[\w@]/ }, async ({ importer, kind, path, pluginData, resolveDir }) => {
      if (kind !== "dynamic-import" || pluginData === namespace || path.startsWith("node:")) return undefined
      const { external, path: file } = await build.resolve(path, { importer, kind, pluginData: namespace, resolveDir })
      if (external || file === "" || !isCommonJs(file)) return undefined
      return { path: file, namespace, pluginData: { resolveDir } }
    })
    build.onLoad({ filter: /.*/, namespace }, async ({ path, pluginData: { resolveDir } }) => {
      const names = Object.keys(await import(pathToFileURL(path))).filter(isIdentifier)
      const contents = [
        `import * as all from ${JSON.stringify(path)}`,
        "export default all.default ?? all",
        ...names.map((name) => `export const ${name} = all[${JSON.stringify(name)}]`)
      ].join("\n")
      return { contents, resolveDir }
    })
  }
}

/** As Node decides: by the extension, else by the nearest package.json. */
const isCommonJs = (file) => {
  if (extname(file) !== ".js") return extname(file) === ".cjs"
  let folder = dirname(file)
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder)
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).type !== "module"
}
