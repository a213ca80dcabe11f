import { execFileSync, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const hasNix = spawnSync("nix-instantiate", ["--version"]).status === 0

/** Evaluates without network and without a store; packages come from a stand-in for nixpkgs. */
const evaluate = (expression: string): unknown => {
  const bindings = `
    flake = import ./flake.nix;
    outputs = flake.outputs { self = outputs; nixpkgs = import ./test/flake/nixpkgs.nix; };
  `
  const options = ["--eval", "--strict", "--json", "--store", "dummy://"]
  const output = execFileSync("nix-instantiate", [...options, "--expr", `let ${bindings} in ${expression}`], {
    cwd: root,
    encoding: "utf8"
  })
  return JSON.parse(output)
}

const systems = ["aarch64-darwin", "aarch64-linux", "x86_64-darwin", "x86_64-linux"]

// Debian's nix-bin is enough.
describe.skipIf(!hasNix)("flake.nix", () => {
  it("has a development shell for every system, with what npm ci and npm test use", () => {
    const shells = evaluate(
      "builtins.mapAttrs (_: shells: map (package: package.name) shells.default.arguments.packages) outputs.devShells"
    )
    const packages = ["nodejs-22", "git", "python3", "gnumake", "cc"]
    assert.deepStrictEqual(shells, Object.fromEntries(systems.map((system) => [system, packages])))
  })

  it("has shells that are derivations of their system", () => {
    const shells = evaluate(
      "builtins.mapAttrs (_: shells: [ shells.default.system shells.default.drvPath ]) outputs.devShells"
    )
    for (const system of systems) {
      const [built, path] = (shells as Record<string, readonly [string, string]>)[system] ?? []
      assert.strictEqual(built, system)
      assert.match(path ?? "", /^\/nix\/store\/.*\.drv$/)
    }
  })

  it("compiles against the headers of its own Node", () => {
    const [headers, node] = evaluate(
      `let shell = outputs.devShells.x86_64-linux.default.arguments;
       in [ shell.npm_config_nodedir (builtins.head shell.packages).outPath ]`
    ) as ReadonlyArray<string>
    assert.strictEqual(headers, node)
  })

  it("takes nixpkgs from a release, not from a moving branch", () => {
    assert.match(String(evaluate("flake.inputs.nixpkgs.url")), /^github:NixOS\/nixpkgs\/nixos-\d\d\.\d\d$/)
  })
})
