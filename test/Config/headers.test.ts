import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { place, test } from "./place.ts"

test("headers are lines with a name, from a file or the environment, and none that tell how a request is sent", () =>
  Effect.gen(function* () {
    const { load } = yield* place({
      "./a.toml": '[llm]\nheaders = ["api-key: se:cret", "X-Title:\\tClew"]\nstop = ["END", "###"]\nkeep_alive = "5m"',
      "./b.toml": '[llm]\nheaders = ["Host: evil"]\nkeep_alive = "soon"\nseed = -1\nthink = "much"'
    })
    const { settings } = yield* load({ config: "a.toml", env: { CLEW_EMBEDDING_HEADERS: "api-key: x, X-Y: z" } })
    assert.deepInclude(settings.llm, {
      headers: { "api-key": "se:cret", "X-Title": "Clew" },
      stop: ["END", "###"],
      keepAlive: "5m"
    })
    assert.deepStrictEqual(settings.embedding.headers, { "api-key": "x", "X-Y": "z" })
    const { message } = yield* Effect.flip(load({ config: "b.toml" }))
    for (const key of ["llm.headers", "llm.keep_alive", "llm.seed", "llm.think"]) assert.include(message, key)
  }))
