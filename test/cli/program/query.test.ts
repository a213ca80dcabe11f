import { rmSync, utimesSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { QueryReport } from "../../../src/cli/query.ts"
import { ShowReport } from "../../../src/cli/show.ts"
import { SearchResponse } from "../../../src/model/SearchResult.ts"
import { library } from "./files.ts"
import { ended, Sandbox } from "./sandbox.ts"

const box = new Sandbox(library)
beforeAll(async () => {
  await box.ends(0, ["index", "docs"])
})
afterAll(() => box.remove())

const sources = async (...args: ReadonlyArray<string>) =>
  (await box.json(SearchResponse, ["query", ...args])).results.map(({ metadata }) =>
    metadata.source.replace(box.path(), "").slice(1)
  )

describe("query", () => {
  it("fuses several queries, and names those that found a passage", async () => {
    const { stdout } = await box.ends(0, ["query", "spring tide", "--also", "knead the dough", "-k", "5"])
    assert.match(stdout, /docs\/tides\.md[^]*found by "spring tide"/)
    assert.match(stdout, /docs\/bread\.md[^]*found by .*"knead the dough"/)
    const report = await box.json(SearchResponse, ["query", "spring tide", "--also", "dough"])
    assert.isTrue(report.results.every(({ found_by }) => found_by !== undefined))
    const six = Array.from({ length: 6 }, () => ["--also", "x"]).flat()
    assert.include((await box.ends(2, ["query", "x", ...six])).stderr, "--also may be given at most 5 times, got 6")
    assert.include((await box.ends(2, ["query", "x", "--also", " "])).stderr, "--also must not be empty")
  })

  it("finds and lists only what is new since a time", async () => {
    assert.isNotEmpty(await sources("tide", "--since", "1h"))
    await box.ends(3, ["query", "tide", "--since", "2099-01-01"])
    assert.include((await box.ends(0, ["list", "--since", "1d"])).stdout, "docs/tides.md")
    await box.ends(3, ["list", "--since", "2099-01-01"])
    for (const since of ["soon", "2026-02-30", "2026-02-29T10:00Z", "2026-13-01"]) {
      assert.include((await box.ends(2, ["list", "--since", since])).stderr, "--since must be a duration like")
    }
    assert.isNotEmpty(await sources("tide", "--since", "2024-02-29"))
  })

  it("finds passages like one, and like a text", async () => {
    const { stdout } = await box.ends(0, ["similar", "docs/bread.md:7", "-k", "1"])
    assert.match(stdout, /^1\. docs\/brot\.md:/)
    const like = await box.ends(0, ["similar", "--text", "the tide at new moon", "--files", "-k", "1"])
    assert.strictEqual(like.stdout.trim(), "docs/tides.md")
    const report = await box.json(QueryReport, ["similar", "docs/tides.md", "--chunk", "0"])
    assert.isTrue(
      report.results.every(({ metadata }) => metadata.chunk_index !== 0 || !metadata.source.endsWith("tides.md"))
    )
    assert.include((await box.ends(3, ["similar", "docs/tides.md:99"])).stderr, "No such passage")
    assert.include((await box.ends(3, ["similar", "docs/none.md"])).stderr, "is not indexed")
    assert.include((await box.ends(2, ["similar"])).stderr, "SOURCE:LINE, or a text")
    assert.include(
      (await box.ends(2, ["similar", "--text", "x", "--chunk", "1"])).stderr,
      "--chunk names a passage of a document"
    )
    const both = await box.ends(2, ["similar", "docs/bread.md:7", "--chunk", "1"])
    assert.include(both.stderr, "docs/bread.md:7 names a passage already: leave out --chunk")
  })

  it("shows source and line, headings and the passage", async () => {
    const { stderr, stdout } = await box.ends(0, ["query", "when is the spring tide highest", "-k", "1"])
    assert.match(stdout, /^1\. docs\/tides\.md:\d+ /)
    assert.include(stdout, "Tides\n")
    assert.include(stdout, "the spring tide is highest")
    assert.notInclude(stdout, "\u001b")
    assert.strictEqual(stderr, "")
  })

  it("shows paths from where you stand", async () => {
    const { stdout } = await box.run(["query", "spring tide", "-k", "1"], { cwd: box.path("docs") })
    assert.match(stdout, /^1\. tides\.md:/)
  })

  it("lists as many documents as are asked for, though one has all the best passages", async () => {
    const own = new Sandbox({
      "long.md": Array.from(
        { length: 12 },
        (_, i) => `# Tide ${i}\n\nThe tide of day ${i} was ${"very ".repeat(i)}high.\n`
      ).join("\n"),
      ...Object.fromEntries(
        ["a", "b", "c", "d"].map((name) => [`${name}.md`, `# ${name} sea\n\n${name}: no tide at ${name}.\n`])
      )
    })
    try {
      await own.ends(0, ["index", "."])
      const { stdout } = await own.ends(0, ["query", "-l", "-k", "5", "how high was the tide of each day"])
      const files = stdout.trim().split("\n")
      assert.strictEqual(files[0], "long.md")
      assert.deepStrictEqual(files.toSorted(), ["a.md", "b.md", "c.md", "d.md", "long.md"])
    } finally {
      own.remove()
    }
  })

  it("says of a result that its file has changed, or is gone, since it was indexed", async () => {
    const own = new Sandbox({
      "same.md": "# Tide\n\nThe tide is as it was.\n",
      "new.md": "# Tide\n\nThe tide is high.\n",
      "old.md": "# Tide\n\nThe tide is low.\n"
    })
    try {
      await own.ends(0, ["index", "."])
      own.write({ "new.md": "# Tide\n\nThe tide is higher.\n" })
      utimesSync(own.path("new.md"), new Date(), new Date())
      rmSync(own.path("old.md"))
      const { results } = await own.json(SearchResponse, ["query", "tide"])
      const told = results.map(({ changed, gone, indexed_at, metadata }) => {
        assert.closeTo(Date.parse(indexed_at), Date.now(), 60_000)
        return [metadata.source.replace(own.path(), ""), changed, gone]
      })
      assert.deepStrictEqual(told.toSorted(), [
        ["/new.md", true, undefined],
        ["/old.md", undefined, true],
        ["/same.md", undefined, undefined]
      ])
      const says = "1 file changed since being indexed, 1 file no longer exists; clew update"
      const { stdout } = await own.ends(0, ["query", "tide"], says)
      assert.match(stdout, /new\.md:1 .*file changed since it was indexed\n/)
      assert.match(stdout, /old\.md:1 .*file no longer exists\n/)
      await own.ends(0, ["show", "old.md"], "clew: the file no longer exists; what is shown is what was indexed")
      const shown = await own.json(ShowReport, ["show", "new.md"])
      assert.deepInclude(shown, { changed: true, text: "# Tide\n\nThe tide is high.\n" })
      const prompt = await own.ends(0, ["prompt", "tide"], says)
      assert.match(prompt.stdout, /\[\d\] \(score: [\d.]+, file changed since it was indexed\)\n```\nsource: new\.md/)
      const asked = await own.ends(0, ["ask", "how is the tide"], says)
      assert.match(asked.stdout, /old\.md:1-3 .*file no longer exists/)
      await own.ends(0, ["update", "--prune"])
      const now = await own.json(SearchResponse, ["query", "tide"])
      assert.deepStrictEqual(
        now.results.map(({ changed, gone }) => [changed, gone]),
        [
          [undefined, undefined],
          [undefined, undefined]
        ]
      )
    } finally {
      own.remove()
    }
  })

  it("takes several words without quotes", async () => {
    assert.strictEqual((await sources("spring", "tide", "-k1"))[0], "docs/tides.md")
  })

  it("prints the body of POST /query with --json", async () => {
    const { fusion, mode, results } = await box.json(SearchResponse, ["query", "lava", "--top-k", "2"])
    assert.strictEqual(mode, "hybrid")
    assert.strictEqual(fusion, "score")
    assert.strictEqual(results.length, 2)
    assert.strictEqual(results[0]?.metadata.title, "Volcano")
    assert.strictEqual(results[0]?.metadata.source, `${box.path("docs", "notes.jsonl")}#n1`)
    assert.strictEqual(results[0]?.metadata.start_line, 1)
  })

  it("runs the legs that are asked for", async () => {
    assert.strictEqual((await box.json(SearchResponse, ["query", "lava", "--no-hybrid"])).mode, "vector")
    assert.strictEqual((await box.json(SearchResponse, ["query", "lava", "--alpha", "0"])).mode, "keyword")
    assert.strictEqual((await box.json(SearchResponse, ["query", "lava", "--fusion", "score"])).mode, "hybrid")
  })

  it("says where there is nothing but weak matches, and leaves out what is less relevant than asked for", async () => {
    const { stdout } = await box.ends(3, ["query", "quarterly revenue of semiconductor companies"], "weak matches only")
    assert.match(stdout, /^1\. \S+ +\d\.\d{3} +relevance 0\.0\d/)
    const found = await box.json(SearchResponse, ["query", "spring tide", "--min-relevance", "0.3"])
    assert.isAbove(found.results.length, 0)
    for (const { relevance } of found.results) assert.isAtLeast(relevance!, 0.3)
    await box.ends(
      3,
      ["query", "spring tide", "--min-relevance", "0.99"],
      "nothing found: the best match has a relevance of 0."
    )
    for (const command of ["prompt", "ask"]) {
      const weak = await box.ends(3, [command, "quarterly revenue of semiconductor companies"], "weak matches only")
      assert.isNotEmpty(weak.stdout)
    }
    await box.ends(2, ["query", "spring tide", "--min-relevance", "2"])
    await box.ends(2, ["query", "tide", "--filter", '{"n":9007199254740993}'], "would change, being beyond 2^53")
    const filter = ["--filter", '{"lang":null}']
    await box.ends(2, ["query", "tide", ...filter], /^clew query: --filter lang: a condition must be .*, got null\n/m)
  })

  it("explains each leg's rank and score", async () => {
    const { results } = await box.json(QueryReport, ["query", "lava volcano", "--explain", "-k1"])
    assert.strictEqual(results[0]?.explain?.keyword?.rank, 1)
    assert.isNumber(results[0]?.explain?.vector?.score)
    const { stdout } = await box.run(["query", "lava volcano", "--explain", "-k1"])
    assert.match(stdout, /\d\.\d{3} by meaning: #\d+, score \d\.\d{3}.*; \d\.\d{3} by words: #1, score \d+\.\d{3}/)
  })

  it("says that a filter matches no document, and how to write the end of a path", async () => {
    const from = (cwd: string, ...args: ReadonlyArray<string>) => box.run(args, { cwd: box.path(cwd) })
    const none =
      /: no document matches the filter; no source is "docs\/\*".*: a filter compares the whole source, and "\*\/docs\/\*" would match/
    for (const command of ["query", "ask", "prompt", "judge"]) {
      const { code, stderr } = await from("home", command, "--filter", "source=docs/*", "water")
      assert.strictEqual(code, 3, stderr)
      assert.match(stderr, none, command)
    }
    const listed = await from("home", "list", "docs/*")
    assert.strictEqual(listed.code, 3)
    assert.match(listed.stderr, none)
    const why = await from("home", "why", "--filter", "source=docs/*", "water", box.path("docs/tides.md"))
    assert.match(why.stdout.replace(/\s+/g, " "), none)
    assert.strictEqual((await from("home", "query", "--filter", "source=*/docs/*", "water")).code, 0)
  }, 60_000)

  it("filters by source, metadata and ranges", async () => {
    assert.deepStrictEqual(new Set(await sources("water", "--filter", "source=docs/t*")), new Set(["docs/tides.md"]))
    assert.deepStrictEqual(new Set(await sources("oven", "--filter", "lang=de")), new Set(["docs/brot.md"]))
    assert.deepStrictEqual(
      new Set(await sources("oven", "-f", "year>=2016", "-f", "year<2020")),
      new Set(["docs/brot.md"])
    )
    assert.deepStrictEqual(
      new Set(await sources("oven", "-f", "year=2015,2019")),
      new Set(["docs/brot.md", "docs/bread.md"])
    )
  })

  it("reads quotes, -word and field:word, and says how", async () => {
    assert.deepStrictEqual(await sources('"hot oven"'), ["docs/bread.md"])
    assert.deepStrictEqual(new Set(await sources("oven lang:de")), new Set(["docs/brot.md"]))
    assert.notInclude(await sources("oven teig -crust", "-k", "20"), "docs/bread.md")
    assert.deepStrictEqual(new Set(await sources("water path:TIDES")), new Set(["docs/tides.md"]))
    const { stderr, stdout } = await box.run(["query", 'oven "hot oven" -teig', "-k1"])
    assert.include(stderr, "read as: oven hot oven (with “hot oven”, without “teig”)")
    assert.include(stdout, "hot oven")
    await box.ends(
      3,
      ["query", '"cold oven"'],
      "nothing found: no passage was found with “cold oven”; leave out quotes"
    )
    await box.ends(0, ["query", 'error: no "cold oven" is hot', "-k1"], "read as plain words")
    for (const command of ["ask", "prompt"]) {
      const { stderr } = await box.ends(0, [command, 'oven "hot oven"'])
      assert.include(stderr, "read as: oven hot oven", command)
    }
  })

  it("exits with 3 where nothing is found", async () => {
    const { stderr, stdout } = await box.ends(3, ["query", "zyzzyva", "--alpha", "0"])
    assert.strictEqual(stdout, "")
    assert.include(stderr, "nothing found")
    const json = await box.ends(3, ["query", "zyzzyva", "--alpha", "0", "--json"])
    assert.deepStrictEqual(JSON.parse(json.stdout).results, [])
  })

  it("says so when the query has no word that the model knows", async () => {
    const { stderr } = await box.run(["query", "\u{1F9F6}", "--filter", "lang=de"])
    assert.include(stderr, "answered by keyword search only")
  })

  it("fails where there is no such collection, or no index", async () => {
    await box.ends(1, ["query", "x", "--collection", "nope"], "No collection named nope")
    await box.ends(1, ["query", "x", "--db", "none.db"], "There is no index at")
  })

  it("is quiet and done when its reader goes away", async () => {
    const child = box.start(["query", "the", "-k", "50", "--json"])
    child.stdout?.destroy()
    const { code, stderr } = await ended(child)
    assert.strictEqual(code, 0)
    assert.strictEqual(stderr, "")
  })
})
