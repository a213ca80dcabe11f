import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { packagedConfig } from "../packaged/model.ts"
import * as Cli from "./command.ts"
import { Place, displayPath } from "./engine.ts"
import { cannot, FileUnusable } from "./exit.ts"
import { printResult } from "./output.ts"

/** What `init --json` prints. */
const InitReport = Schema.Struct({ file: Schema.String }).annotations({ identifier: "InitReport" })

const head = `# Clew's configuration, read by every command in this folder. Each key is here with its default: remove the # and
# change what you want. An address (embedding.url, llm.url, rerank.url, telemetry.otlp_endpoint), server.keys and OAuth are
# allowed only in a file that you name with --config, or in ~/.config/clew/config.toml. See docs/configuration.md.
`

/** The reference with every key commented out, under a head for whoever edits it. */
const commented = (reference: string): string => {
  const body = reference.replace(/^(?:#.*\n)+/, "")
  return head + body.replace(/^(?![#[\s])(.+)$/gm, "# $1")
}

export const init = Cli.define(
  {
    name: "init",
    summary: "Write a clew.toml with every key, its default and what it does",
    positional: { name: "FILE", summary: "File to write (default: clew.toml)", min: 0, max: 1, paths: true },
    flags: { force: Cli.toggle("force", { summary: "Overwrite an existing file" }) },
    examples: ["clew init", "clew init ~/.config/clew/config.toml"]
  },
  function* ({ force }, [given = "clew.toml"]) {
    const { cwd } = yield* Place
    const file = path.resolve(cwd, given)
    yield* Effect.try({
      try: () =>
        fs.writeFileSync(file, commented(fs.readFileSync(packagedConfig, "utf8")), { flag: force ? "w" : "wx" }),
      catch: (error) =>
        (error as NodeJS.ErrnoException).code === "EEXIST"
          ? new FileUnusable({ message: `${displayPath(cwd, file)} already exists; --force overwrites it` })
          : cannot("write", displayPath(cwd, file))(error)
    })
    yield* printResult(InitReport, { file }, `Wrote ${displayPath(cwd, file)}; every key in it is commented out`)
  }
)
