import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { inject } from "vitest"
import * as OpenSearch from "../../src/Store/OpenSearch.ts"

let made = 0

/** Options of an index that nobody else has, in the cluster of the tests. */
export const options = (given: Partial<OpenSearch.IndexOptions> = {}): OpenSearch.IndexOptions => ({
  urls: inject("opensearch").split(","),
  timeoutMs: 30_000,
  prefix: `t${process.pid}-${Date.now().toString(36)}-${made++}`,
  shards: 1,
  replicas: 0,
  refresh: "now",
  mode: "create",
  ...given
})

/** A request as an operator sends it. */
export const ask = async (method: string, path: string, body?: object) => {
  const [url] = inject("opensearch").split(",")
  const answer = await fetch(`${url}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } })
  })
  return (await answer.json()) as Record<string, never>
}

/** Removes everything of an index. */
export const removed = async (prefix: string) => {
  const found = (await ask("GET", `/_cat/indices/${prefix}-*?format=json&h=index`)) as unknown as ReadonlyArray<{
    readonly index: string
  }>
  for (const { index } of found) await ask("DELETE", `/${index}`)
  await ask("DELETE", `/_index_template/${prefix}-*`)
}

/** A new index, which is removed at the end. */
export const newIndex = Layer.unwrapScoped(
  Effect.suspend(() => {
    const given = options()
    return Effect.as(
      Effect.addFinalizer(() => Effect.promise(() => removed(given.prefix))),
      OpenSearch.layer(given)
    )
  })
)
