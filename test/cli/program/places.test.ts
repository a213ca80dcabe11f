import { afterAll, assert, beforeAll, it } from "vitest"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ShowReport } from "../../../src/cli/show.ts"
import { SearchResponse } from "../../../src/model/SearchResult.ts"
import { Sandbox } from "./sandbox.ts"

const documents = fileURLToPath(new URL("../../fixtures/documents", import.meta.url))

const box = new Sandbox({ "notes.md": "# Notes\n\nNothing but lines.\n" })
beforeAll(async () => {
  await box.ends(0, ["index", documents, ".", "--include", "*.{pptx,xlsx,srt,md}"])
})
afterAll(() => box.remove())

it("shows the places that query prints of what is no text", async () => {
  const { stdout } = await box.run(["query", "oxalic acid"])
  assert.match(stdout, /slides\.pptx#slide=4/)
  for (const [place, words] of [
    ["slides.pptx#slide=4", "oxalic acid"],
    ["staff.xlsx#staff!A4", "Cleo Herbst"],
    ["talk.srt#t=00:12:31", "Oxalic acid is given"],
    ["talk.srt#t=752", "Oxalic acid is given"]
  ] as const) {
    const { passage, text } = await box.json(ShowReport, ["show", place, "--context", "0"])
    assert.isDefined(passage, place)
    assert.include(text, words)
    assert.isNotEmpty((await box.json(SearchResponse, ["similar", place])).results, place)
  }
})

it("gives back the text that was taken out: each passage is exactly what stands at its span", async () => {
  for (const name of ["slides.pptx", "staff.xlsx", "talk.srt"]) {
    const { text } = await box.json(ShowReport, ["show", join(documents, name)])
    const source = join(documents, name)
    const { results } = await box.json(SearchResponse, ["query", "winter", "--filter", `source=${source}`, "-k", "20"])
    assert.isNotEmpty(results, name)
    for (const { metadata, text: passage } of results)
      assert.strictEqual(text.slice(metadata.start as number, metadata.end as number), passage)
  }
})

it("names the places there are where one is not", async () => {
  await box.ends(
    3,
    ["show", "slides.pptx#page=3"],
    /no place "#page=3" in \S*slides\.pptx; its passages begin at #slide=1 to #slide=4/
  )
  assert.match((await box.run(["show", "notes.md#page=3"])).stderr, /has no such places; give a line/)
})
