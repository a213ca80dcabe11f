import picomatch from "picomatch"

const locks = new Set([
  "bun.lock",
  "Cargo.lock",
  "Cartfile.resolved",
  "composer.lock",
  "conan.lock",
  "deno.lock",
  "flake.lock",
  "Gemfile.lock",
  "go.sum",
  "go.work.sum",
  "gradle.lockfile",
  "mix.lock",
  "npm-shrinkwrap.json",
  "Package.resolved",
  "package-lock.json",
  "packages.lock.json",
  "pdm.lock",
  "Pipfile.lock",
  "pixi.lock",
  "pnpm-lock.yaml",
  "Podfile.lock",
  "poetry.lock",
  "pubspec.lock",
  "rebar.lock",
  "stack.yaml.lock",
  "uv.lock",
  "yarn.lock"
])

const endings =
  /\.(?:min\.(?:js|mjs|cjs|css)|(?:js|mjs|cjs|css|ts)\.map|pb\.go|pb\.cc|pb\.h|g\.dart|freezed\.dart)$|_pb2(?:_grpc)?\.pyi?$/

const searchIndexes = new Set(["searchindex.js", "search_index.json", "search_index.js"])
/** Pages that Sphinx adds: they only list links. */
const addedPages = /^(?:genindex(?:-[\w-]{1,20})?|search|modindex|py-modindex|http-routingtable)\.html?$/

/** Why files of this name only bury what people wrote; `isBuilt` if Sphinx wrote their folder. */
export const generated = (name: string, isBuilt: boolean): "lock file" | "generated" | "style sheet" | undefined =>
  locks.has(name)
    ? "lock file"
    : endings.test(name) || searchIndexes.has(name) || (isBuilt && addedPages.test(name))
      ? "generated"
      : name.endsWith(".css")
        ? "style sheet"
        : undefined

/** Matches a path below the root; `name` is its last part. */
export type Glob = (path: string, name: string, isFolder: boolean) => boolean

/**
 * A glob below a root. Without a slash it matches names anywhere, else the path from the root; a final slash restricts it
 * to folders. `*` stays within a name, `**` crosses folders. Parentheses, `|` and a leading `!` stand for themselves: they
 * are frequent in names.
 */
const glob = (pattern: string): Glob => {
  const foldersOnly = pattern.length > 1 && pattern.endsWith("/")
  const body = foldersOnly ? pattern.slice(0, -1) : pattern
  const anchored = body.replace(/^(?:\.?\/)+/, "")
  const literal = anchored.replace(/\\?[()|]/g, (sign) => `\\${sign.slice(-1)}`)
  const matches = picomatch(literal === "" ? "**" : literal, { dot: true, nonegate: true })
  const byPath = body.includes("/")
  return (path, name, isFolder) => (!foldersOnly || isFolder) && matches(byPath ? path : name)
}

/** Whether any of the patterns matches. */
export const patterns = (globs: ReadonlyArray<string>): Glob => {
  const each = globs.filter((pattern) => pattern.trim() !== "").map(glob)
  return (path, name, isFolder) => each.some((matches) => matches(path, name, isFolder))
}
