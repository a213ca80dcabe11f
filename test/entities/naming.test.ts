import { assert, it } from "vitest"
import { searchedTitle } from "../../src/entities/mention.ts"

it("joins a title with the name of the file, where the source is one and says anything", () => {
  for (const [title, source, searched] of [
    [undefined, "/home/ada/docs/git-worktree.adoc", "git-worktree"],
    ["Worktrees", "docs\\\\git-worktree.adoc", "Worktrees\ngit-worktree"],
    [undefined, "guide/teleport/index.md", "teleport"],
    ["Title", "README.md", "Title"],
    [undefined, ".gitignore", ".gitignore"],
    [undefined, "/data/corpus.jsonl#17", ""],
    ["Title", undefined, "Title"],
    [null, null, ""],
    [undefined, "notes about tides. And more of them", "notes about tides. And more of them"]
  ] as const)
    assert.strictEqual(searchedTitle(title, source), searched)
})
