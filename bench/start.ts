import { join } from "node:path"
import { corpusNamed, median, program, run, temporaryFolder } from "./program.ts"

const rounds = 15

const corpus = corpusNamed("start")
const clew = program()
const db = join(temporaryFolder(), "index.db")
run([clew, "index", corpus, "--quiet", "--db", db])

const commands: ReadonlyArray<readonly [name: string, args: ReadonlyArray<string>]> = [
  ["node -e 0", ["-e", "0"]],
  ["clew --help", [clew, "--help"]],
  ["clew query --alpha 0", [clew, "query", "how is it measured", "--alpha", "0", "--db", db]],
  ["clew query", [clew, "query", "how is it measured", "--db", db]],
  ["clew info", [clew, "info", "--db", db]]
]

// In turn, so that a busy moment of the machine falls on all of them.
const times = commands.map((): Array<number> => [])
for (let round = 0; round < rounds; round++) {
  for (const [index, [, args]] of commands.entries()) times[index]?.push(run(args).ms)
}
const base = median(times[0] ?? [])
const baseMin = Math.min(...(times[0] ?? []))
for (const [index, [name]] of commands.entries()) {
  const own = times[index] ?? []
  const [mid, min] = [median(own), Math.min(...own)]
  console.log(
    `${name.padEnd(22)} median ${mid.toFixed(0).padStart(5)} ms (×${(mid / base).toFixed(1)})  ` +
      `least ${min.toFixed(0).padStart(5)} ms (×${(min / baseMin).toFixed(1)})`
  )
}
