import { createColors } from "picocolors"
import { assert, it } from "vitest"
import { tableOf } from "../../src/cli/list.ts"
import { widthOf } from "../../src/cli/wrap.ts"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"

const row = (source: string, collection = defaultCollection) => ({
  docId: DocumentId.make("d"),
  source,
  title: undefined,
  origin: undefined,
  collection,
  passages: 1234,
  characters: 1_234_567,
  indexedAt: 0
})
const face = (columns: number, isTerminal = true) => ({ isTerminal, columns, colors: createColors(false) })
const long = `/srv/${"deep/".repeat(9)}notes.md`

it("is a row a document where that fits, and in a file or a pipe always", () => {
  for (const out of [face(120), face(60, false)]) {
    const lines = tableOf([row(long)], { cwd: "/home", out, several: false }).split("\n")
    assert.lengthOf(lines, 2)
    assert.match(lines[0]!, /^passages +characters +format +indexed +source$/)
    assert.match(lines[1]!, new RegExp(`^ +1,234 +1,234,567 +md .* ${long}$`))
  }
})

it("keeps within a narrow terminal, each source in a line of its own", () => {
  for (const columns of [60, 80]) {
    const rows = [row(long), row("/srv/a.md", CollectionName.make("c".repeat(50)))]
    const lines = tableOf(rows, { cwd: "/home", out: face(columns), several: true }).split("\n")
    for (const line of lines) assert.isAtMost(widthOf(line), columns, line)
    assert.include(lines, long)
    assert.include(lines[1], "  1,234 passages, 1,234,567 characters, md, ")
    assert.include(lines.join(" ").replace(/ +/g, " "), `/srv/a.md 1,234 passages`)
    assert.match(lines.at(-1)!, /c{50}$/)
  }
})
