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

/** A program that makes pages, and by which files its folders are known: people keep a `doxygen.css` of their own. */
export const builders = {
  sphinx: ["searchindex.js"],
  doxygen: ["dynsections.js"],
  javadoc: ["package-summary.html", "element-list", "package-list"]
} as const
export type Builder = keyof typeof builders

/** What each builder adds to its pages: lists of links, and what its scripts read. */
const addedFiles: Readonly<Record<Builder, RegExp>> = {
  sphinx: /^(?:genindex(?:-[\w-]{1,20})?|search|modindex|py-modindex|http-routingtable)\.html?$/,
  doxygen: /\.js$|-members\.html$|^(?:classes|functions|globals|namespacemembers)(?:_[a-z0-9_]{1,20})?\.html$/,
  javadoc:
    /^(?:(?:member|module|package|tag|type)-search-index\.js|(?:index-all|allclasses(?:-index|-frame|-noframe)?|allpackages-index|(?:overview|package)-tree|package-use)\.html)$/
}
export const addedFolders: Readonly<Record<Builder, ReadonlySet<string>>> = {
  sphinx: new Set(["_sources", "_static"]),
  doxygen: new Set(["search"]),
  javadoc: new Set()
}

/** Why files of this name only bury what people wrote; `builder` wrote their folder. */
export const generated = (
  name: string,
  builder: Builder | undefined
): "lock file" | "generated" | "style sheet" | undefined => {
  const isAdded = builder !== undefined && addedFiles[builder].test(name)
  return locks.has(name)
    ? "lock file"
    : isAdded || endings.test(name) || searchIndexes.has(name)
      ? "generated"
      : name.endsWith(".css")
        ? "style sheet"
        : undefined
}
