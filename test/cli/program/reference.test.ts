import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Sandbox } from "./sandbox.ts"

/** The commands that a help text lists. */
const commandsIn = (help: string): ReadonlyArray<string> =>
  (/\nCommands\n((?: {2}.*\n)+)/.exec(help)?.[1] ?? "")
    .split("\n")
    .flatMap((line) => /^ {2}([a-z]+)\b/.exec(line)?.[1] ?? [])

it("README.md shows what its commands print, but for times and scores", () => {
  const script = fileURLToPath(new URL("../../../scripts/readme.mjs", import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" })
  assert.strictEqual(status, 0, stderr)
})

it("docs/cli.md has every command, and the completions of each shell know it", async () => {
  const box = new Sandbox()
  try {
    const names = commandsIn((await box.run(["--help"])).stdout)
    assert.isAbove(names.length, 10)
    const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8")
    const scripts = await Promise.all(
      ["bash", "zsh", "fish"].map(async (shell) => (await box.run(["--completions", shell])).stdout)
    )
    for (const name of names) {
      assert.match(page, new RegExp(`^\\| \`${name}[^|]*\` +\\|`, "m"), `docs/cli.md has no row for ${name}`)
      for (const script of scripts) assert.match(script, new RegExp(`\\b${name}\\b`), name)
      // Choices of flags of some commands, and of one of all.
      for (const value of ["rrf", "indexed", "warning"]) {
        for (const script of scripts) assert.match(script, new RegExp(`\\b${value}\\b`), value)
      }
      const inner = commandsIn((await box.run([name, "--help"])).stdout)
      for (const sub of inner) {
        assert.include(page, `${name} ${sub}`)
        for (const script of scripts) assert.match(script, new RegExp(`\\b${sub}\\b`), sub)
      }
    }
  } finally {
    box.remove()
  }
})
