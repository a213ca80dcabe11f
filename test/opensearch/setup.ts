import type { TestProject } from "vitest/node"
import { hasTools, startCluster } from "./cluster/start.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly opensearch: string
  }
}

/** One node for all files that do not stop any: the one in CLEW_TEST_OPENSEARCH_URL, else one of its own. */
export default async (project: TestProject) => {
  const given = process.env.CLEW_TEST_OPENSEARCH_URL
  if (given !== undefined) return project.provide("opensearch", given)
  if (!hasTools) throw new Error("A JDK and Maven are needed to start a cluster; or set CLEW_TEST_OPENSEARCH_URL")
  const cluster = await startCluster(1)
  project.provide("opensearch", cluster.urls.join(","))
  return cluster.stop
}
