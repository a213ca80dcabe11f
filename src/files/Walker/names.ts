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
