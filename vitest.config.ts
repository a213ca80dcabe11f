import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Tests that start the built program. */
const program = [
  "test/cli/program/**/*.test.ts",
  "test/console/**/*.test.ts",
  "test/mcp/**/*.test.ts",
  "test/docs.test.ts",
  "test/packages.test.ts"
]

/** Kills, storms, full and failing disks, long fuzz, every command of the docs, every view in browsers, a server of PostgreSQL that is lost: `npm run test:deep`. */
const deep = ["test/deep/**/*.test.ts"]

/** Against a real cluster of OpenSearch, which takes minutes: `npm run test:opensearch`. */
const opensearch = ["test/opensearch/**/*.test.ts"]

/** The files that take longest: of those that begin last, the run would wait for one alone. */
const long = ["fullDisk", "commands", "durability", "console", "takeover", "recipes", "postgres", "mcpClients"]
  .concat("failingDisk", "storm")
  .map((name) => `/deep/${name}.test.ts`)

/** Begins with them. A fresh clone has no times of other runs, and vitest then begins with the largest files. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => long.some((name) => moduleId.endsWith(name))
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

/** One run of the tests, in which no source changes: worker threads are bundled once (scripts/sourceWorker.mjs). */
const env: Record<string, string> = {
  ...(process.argv.includes("run") ? { TEST_RUN_ID: Date.now().toString(36) } : {}),
  ...(process.argv.includes("--update") ? { TEST_PROVE: "all" } : {})
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^better-sqlite3$/, replacement: fileURLToPath(new URL("src/Store/sqlite/driver.ts", import.meta.url)) }
    ]
  },
  test: {
    env,
    server: { deps: { inline: ["@effect/sql-sqlite-node"] } },
    setupFiles: "test/setup.ts",
    sequence: { sequencer: LongestFirst },
    // Loading all modules anew for each file took half of the time; what they keep between files is caches.
    isolate: false,
    // From 1 MB, new objects would outgrow it again and again, and be copied: a twelfth of the processor time.
    poolOptions: { forks: { execArgv: ["--min-semi-space-size=16"] } },
    // Processes start slowly where many run at once.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // One more than the cores of a small machine, since many tests wait. As many from the start: tinypool ends with an
    // error where it drops a worker that is idle.
    minWorkers: 3,
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: "parts",
          include: ["test/**/*.test.ts"],
          exclude: [...program, ...deep, ...opensearch],
          globalSetup: "test/memory.ts"
        }
      },
      {
        extends: true,
        test: {
          name: "program",
          include: program,
          globalSetup: ["test/globalSetup.ts", "test/memory.ts"],
          setupFiles: ["test/setup.ts", "test/mcp/setup.ts"]
        }
      },
      { extends: true, test: { name: "deep", include: deep, globalSetup: "test/globalSetup.ts" } },
      {
        extends: true,
        test: {
          name: "opensearch",
          include: opensearch,
          globalSetup: ["test/globalSetup.ts", "test/opensearch/setup.ts"],
          fileParallelism: false
        }
      }
    ]
  }
})
