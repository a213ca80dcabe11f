import { defineConfig } from "vitest/config"

/** Tests that start the built program. */
const program = [
  "test/cli/program/**/*.test.ts",
  "test/mcp/**/*.test.ts",
  "test/durability.test.ts",
  "test/durability.graph.test.ts",
  "test/docs.test.ts",
  "test/packages.test.ts"
]

/** One run of the tests, in which no source changes: worker threads are bundled once (scripts/sourceWorker.mjs). */
const env: Record<string, string> = process.argv.includes("run") ? { TEST_RUN_ID: Date.now().toString(36) } : {}

export default defineConfig({
  test: {
    env,
    // No module holds state that one test could leave to another; loading them all anew for each file took half of the time.
    isolate: false,
    // Processes start slowly where many run at once.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    minWorkers: 1,
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: "parts", include: ["test/**/*.test.ts"], exclude: program } },
      { extends: true, test: { name: "program", include: program, globalSetup: "test/globalSetup.ts" } }
    ]
  }
})
