import { assert, describe, it } from "@effect/vitest"
import { folders } from "../../src/mcp/folders.ts"

describe("folders", () => {
  it("are those below what all sources have in common, the fullest first", () => {
    const sources = ["/home/me/notes/a.md", "/home/me/notes/b/c.md", "/home/me/papers/x.pdf", "/home/me/y.md"]
    assert.deepStrictEqual(folders(sources, 5), ["/home/me/notes/", "/home/me/", "/home/me/papers/"])
    assert.deepStrictEqual(folders(sources, 1), ["/home/me/notes/"])
    assert.deepStrictEqual(folders(["docs/a.md", "docs/b.md"], 5), ["docs/"])
    assert.deepStrictEqual(folders(["label", "another"], 5), [])
    assert.deepStrictEqual(folders([], 5), [])
  })
})
