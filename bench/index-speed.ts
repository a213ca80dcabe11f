import * as Schema from "effect/Schema"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { IndexReport } from "../src/cli/indexReport.ts"
import { corpusNamed, median, program, temporaryFolder } from "./program.ts"

const rounds = 3

const corpus = corpusNamed("index-speed")
const clew = program()
const folder = temporaryFolder()
const decode = Schema.decodeUnknownSync(Schema.parseJson(IndexReport))

// Only the child can read its own peak, so it prints it at exit.
const peak = "data:text/javascript,process.on('exit',()=>process.stderr.write('peak '+process.resourceUsage().maxRSS))"

const rates: Array<number> = []
for (let round = 0; round < rounds; round++) {
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ["--import", peak, clew, "index", corpus, "--quiet", "--json", "--db", join(folder, `${round}.db`)],
    { encoding: "utf8", env: { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin" } }
  )
  if (status !== 0) throw new Error(stderr)
  const { bytes, chunks, created, index_time_ms } = decode(stdout)
  const rate = (chunks * 1000) / index_time_ms
  rates.push(rate)
  const kilobytes = Number(/peak (\d+)/.exec(stderr)?.[1] ?? 0)
  console.log(
    `${created} documents, ${chunks} passages, ${(bytes / 1e6).toFixed(1)} MB in ${(index_time_ms / 1000).toFixed(1)} s: ` +
      `${rate.toFixed(0)} passages/s, peak ${(kilobytes / 1000).toFixed(0)} MB`
  )
}
console.log(`median ${median(rates).toFixed(0)} passages/s`)
