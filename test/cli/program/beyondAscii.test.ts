import type { ChildProcess } from "node:child_process"
import { readFileSync } from "node:fs"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { beyondAscii } from "../../contracts/beyondAscii.ts"
import { SearchResponse } from "../../../src/model/SearchResult.ts"
import { ended, program, Sandbox, listening } from "./sandbox.ts"

let box: Sandbox
let child: ChildProcess | undefined
beforeEach(() => {
  box = new Sandbox(
    Object.fromEntries(Object.entries(beyondAscii).map(([name, { content }]) => [`docs/${name}`, content]))
  )
})
afterEach(() => {
  child?.kill("SIGKILL")
  child = undefined
  box.remove()
})

/** Asks by keywords alone, so many questions a document, and wants the one document each. */
const finds = async (most: number, ask: (question: string) => Promise<ReadonlyArray<string>>) => {
  for (const [name, { finds }] of Object.entries(beyondAscii)) {
    for (const question of finds.slice(0, most)) {
      const sources = await ask(question)
      assert.deepStrictEqual(
        sources.map((source) => source.split("/").at(-1)),
        [name],
        question
      )
    }
  }
}

const serve = (): Promise<string> => {
  child = box.start(["serve", "--port", "0"])
  return listening(child)
}

/** What the server's threads tokenized and what the program did must be found by either. */
describe("text beyond ASCII in the built program", () => {
  it("is a script of ASCII alone", () => {
    const script = readFileSync(program.replace("bin.js", "program.cjs"))
    assert.strictEqual(
      script.findIndex((byte) => byte > 0x7f),
      -1
    )
  })

  it("is found by the command line and by the server alike", async () => {
    await box.ends(0, ["index", "docs"])
    await finds(1, async (question) =>
      (await box.json(SearchResponse, ["query", "--alpha", "0", question])).results.map(
        ({ metadata }) => metadata.source!
      )
    )
    const url = await serve()
    await finds(Infinity, async (query) => {
      const response = await fetch(`${url}/query`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query, hybrid: true, alpha: 0 })
      })
      const { results } = (await response.json()) as typeof SearchResponse.Encoded
      return results.map(({ metadata }) => metadata.source!)
    })
    const end = ended(child!)
    child!.kill("SIGTERM")
    assert.strictEqual((await end).code, 0)
  })
})
