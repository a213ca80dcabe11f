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

/** Whether programs write files of this name for programs: their words only bury what people wrote. */
export const generated = (name: string): "lock file" | "generated" | undefined =>
  locks.has(name) ? "lock file" : endings.test(name) ? "generated" : undefined
