import { assert, it } from "@effect/vitest"
import { sameModel } from "../../src/model/Collection.ts"

it("to Ollama alone a model's name without a tag means :latest, also for a change of embedder that goes on", () => {
  const same = (backend: string) =>
    sameModel({ backend, model: "bge-m3", dimensions: 4 }, { backend, model: "bge-m3:latest", dimensions: 4 })
  assert.deepStrictEqual(["ollama", "openai"].map(same), [true, false])
})
