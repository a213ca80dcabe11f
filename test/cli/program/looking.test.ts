import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { parse } from "smol-toml"
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { ListReport } from "../../../src/cli/list.ts"
import { Problem } from "../../../src/cli/report.ts"
import { ShowReport } from "../../../src/cli/show.ts"
import { WhyReport } from "../../../src/model/Why.ts"
import { library } from "./files.ts"
import { ended, program, Sandbox } from "./sandbox.ts"

/** Whether util-linux's `script` is there, which gives a program a terminal. */
const hasTerminal = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0

const box = new Sandbox({ ...library, "kitchen/rye.md": "# Rye\n\nRye bread keeps longer than wheat bread.\n" })
beforeAll(async () => {
  box.write({ "docs/empty.bin": "\u0000\u0001\u0002\u0000".repeat(100) })
  for (const args of [
    ["index", "docs"],
    ["index", "kitchen", "-c", "kitchen"]
  ]) {
    await box.ends(0, args)
  }
})
afterAll(() => box.remove())

describe("list", () => {
  it("names the documents of all collections with what there is to know of them", async () => {
    const { documents } = await box.json(ListReport, ["list"])
    assert.lengthOf(documents, 6)
    const rye = documents.find(({ collection }) => collection === "kitchen")!
    assert.deepInclude(rye, { chunks: 1, format: "md", source: box.path("kitchen/rye.md") })
    assert.isAbove(rye.characters, 30)
    const { stdout } = await box.run(["list"])
    assert.match(stdout, /passages\s+characters\s+format\s+indexed\s+collection\s+source/)
    assert.match(stdout, /\n +1 .* md .* kitchen +kitchen\/rye\.md\n/)
  })

  it("narrows by glob or folder, sorts, and ends with 3 where there is none", async () => {
    const sources = async (...args: ReadonlyArray<string>) =>
      (await box.json(ListReport, ["list", ...args])).documents.map(({ source }) => source)
    assert.deepStrictEqual(await sources("kitchen"), [box.path("kitchen/rye.md")])
    assert.deepStrictEqual(await sources("docs/b*.md", "-c", "default"), [
      box.path("docs/bread.md"),
      box.path("docs/brot.md")
    ])
    assert.strictEqual((await sources("--sort", "size"))[0], box.path("docs/tides.md"))
    await box.ends(3, ["list", "none"])
  })
})

describe("init", () => {
  it("writes every key commented out, once", async () => {
    await box.ends(0, ["init"])
    const text = readFileSync(box.path("clew.toml"), "utf8")
    for (const part of ["[embedding]", '# backend = "auto"', "# chunk_size = "]) assert.include(text, part)
    assert.deepStrictEqual(
      Object.values(parse(text)).filter((section) => Object.keys(section as object).length > 0),
      []
    )
    await box.ends(0, ["info"])
    assert.strictEqual((await box.run(["init"])).code, 1)
    await box.ends(0, ["init", "--force"])
  })
})

describe("show", () => {
  it("finds a document without a source by its id", async () => {
    const own = new Sandbox()
    try {
      await own.run(["index", "-"], { input: "Rye bread keeps longer." })
      const { documents } = await own.json(ListReport, ["list"])
      const id = documents[0]!.doc_id
      assert.strictEqual((await own.json(ShowReport, ["show", id])).text, "Rye bread keeps longer.")
      await own.ends(0, ["why", "what keeps longer", id])
    } finally {
      own.remove()
    }
  })

  it("shows a passage in its place, with its lines", async () => {
    const { stdout } = await box.run(["show", "docs/tides.md:11", "--context", "1"])
    assert.match(stdout, /^docs\/tides\.md\n/)
    assert.match(stdout, /> +11 {2}When sun and moon|> *\d+ {2}## Spring tides/)
    const { passage, text } = await box.json(ShowReport, ["show", "tides.md:7"])
    assert.isDefined(passage)
    assert.include(text, "The moon pulls the sea.")
    const whole = await box.json(ShowReport, ["show", "docs/tides.md"])
    assert.strictEqual(whole.text, library["docs/tides.md"])
    assert.include((await box.json(ShowReport, ["show", "kitchen/rye.md"])).text, "keeps longer")
    for (const line of ["0", "99"]) {
      await box.ends(3, ["show", `docs/tides.md:${line}`], `docs/tides.md has no line ${line}; it has lines 1 to 11`)
    }
    await box.ends(3, ["show", "docs/none.md"], "clew list")
  })

  it("numbers the lines of a small table and a page as in their files", async () => {
    const own = new Sandbox({
      "staff.csv": "name,town\nAda,Bath\nBea,York\nCleo,Ely\n",
      "page.html": "<html>\n<body>\n<p>The moon pulls the sea.</p>\n\n\n<p>Bread is baked.</p>\n</body></html>\n"
    })
    try {
      await own.ends(0, ["index", "."])
      const { stdout } = await own.run(["show", "staff.csv"])
      assert.match(stdout, / 2 {2}- name: Ada; town: Bath\n +3 {2}- name: Bea; town: York\n +4 {2}- name: Cleo/)
      const page = await own.run(["show", "page.html:6"])
      assert.match(page.stdout, /> 3 {2}The moon[^]*> {4}Bread is baked/)
    } finally {
      own.remove()
    }
  })

  it("says what is not there, or is there twice, as a problem in JSON with --json", async () => {
    for (const [args, says] of [
      [["show", "nope"], "nope is not indexed: "],
      [["similar", "nope"], "nope is not indexed: "],
      [["show", ".md"], 'several documents end in ".md"'],
      [["why", "tide", ".md"], 'several documents end in ".md"'],
      [["show", "docs/tides.md:999"], "has no line 999"],
      [["show", "docs/tides.md#page=9"], "has no such places"]
    ] as const) {
      const { stderr, stdout } = await box.ends(3, [...args, "--json"])
      const problem = Schema.decodeUnknownSync(Schema.parseJson(Problem))(stderr)
      assert.strictEqual(problem._tag, "NotFound")
      assert.include(problem.detail, says)
      assert.strictEqual(stdout, "")
    }
  })

  it("says of a file of records how they are named, and lists them", async () => {
    box.write({ "more/birds.jsonl": '{"id":1,"text":"a wren"}\n{"id":2,"text":"a gull"}\n{"id":3,"text":"a crane"}\n' })
    await box.ends(0, ["index", "more", "-c", "more"])
    const said = "each of its parts is a document of its own in collection more: end the name in #1, #2, …"
    for (const command of [["show"], ["why", "wren"]]) await box.ends(3, [...command, "more/birds.jsonl"], said)
    await box.ends(0, ["show", "more/birds.jsonl#2"])
    assert.lengthOf((await box.json(ListReport, ["list", "more/birds.jsonl"])).documents, 3)
    await box.ends(0, ["collections", "drop", "more", "--yes"])
  })

  it("says why it cannot show a folder, or a file that is not in the index", async () => {
    for (const folder of [".", "..", "docs", "docs/"]) {
      const said = `${folder} is not indexed: it is a folder; clew list ${folder} names the documents in it`
      await box.ends(3, ["show", folder], said)
      await box.ends(3, ["why", "tide", folder], said)
    }
    await box.ends(3, ["show", ".:3"], ". is not indexed: it is a folder")
    await box.ends(3, ["show", "docs/empty.bin"], "docs/empty.bin is not indexed: skipped in collection default")
    const long = `${"a".repeat(999)}😀`
    await box.ends(3, ["show", long], "there is no such document and no such file; clew")
    for (const command of [["show"], ["why", "tide"]]) {
      await box.ends(3, [...command, "docs/tdies.md"], "no such file (did you mean docs/tides.md?); clew list shows")
    }
    await box.ends(2, ["judge", "tide", "--grade", ".=1"], "no document")
  })

  it("says that there is no such page, and how many there are", async () => {
    const own = new Sandbox()
    const documents = fileURLToPath(new URL("../../fixtures/documents", import.meta.url))
    try {
      await own.run(["index", documents, "--include", "report.pdf", "--include", "slides.pptx"])
      for (const page of [0, 2, 9999]) {
        await own.ends(3, ["show", `report.pdf#page=${page}`], `report.pdf has no page ${page}; it has 1 page`)
      }
      assert.strictEqual((await own.ends(0, ["show", "report.pdf#page=1"])).stderr, "")
      await own.ends(0, ["show", "slides.pptx#slide=99"], "no passage begins at #slide=99; the last begins at #slide=4")
    } finally {
      own.remove()
    }
  })
})

describe("show on a terminal", () => {
  const lines = (stdout: string) => stdout.split("\n").filter((line) => line.includes("tides"))
  const shown = async (pager: string, name = "long.md") => {
    const command = `stty rows 24 cols 80; exec ${process.execPath} ${program} show ${name} --db long.db`
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      cwd: box.folder,
      env: { PATH: process.env["PATH"], HOME: box.path("home"), TERM: "xterm", PAGER: pager }
    })
    child.stdin.end()
    const { code, stdout } = await ended(child)
    assert.strictEqual(code, 0, stdout)
    return lines(stdout)
  }

  it.skipIf(!hasTerminal)("goes through the pager where it is longer than that, and else is printed", async () => {
    const long = Array.from({ length: 60 }, (_, n) => `line ${n} about tides\n`).join("")
    box.write({ "long.md": long, "short.md": "Two lines\nabout tides\n" })
    await box.ends(0, ["index", "long.md", "short.md", "--db", "long.db"])
    assert.lengthOf(await shown("head -n 12"), 10)
    assert.lengthOf(await shown("head -n 1", "short.md"), 1)
    assert.lengthOf(await shown("no-such-pager"), 60)
    assert.lengthOf(await shown(""), 60)
    const piped = await box.run(["show", "long.md", "--db", "long.db"], { env: { PAGER: "head -n 12" } })
    assert.lengthOf(lines(piped.stdout), 60)
  })
})

describe("why", () => {
  it("says that meaning was searched, and what the model lacks, for a query that it knows in part", async () => {
    const asked = ["why", "высокий прилив spring tide", "docs/tides.md"]
    const { stdout } = await box.run(asked)
    assert.match(stdout, /meaning +#1, score [\d.]+; the\s+embedding\s+model\s+knows\s+only/)
    assert.strictEqual((await box.json(WhyReport, asked)).vector?.rank, 1)
    assert.include((await box.run(["why", "прилив", "docs/tides.md"])).stdout, "not searched: ")
  })

  it("shows a document's rank in each leg, what the words add, and what ranks above it", async () => {
    const report = await box.json(WhyReport, ["why", "when is the spring tide highest", "docs/bread.md"])
    assert.isTrue(report.indexed)
    assert.isAbove(report.vector!.rank!, 1)
    assert.include(report.ahead![0]!.place, "tides.md")
    const tide = await box.json(WhyReport, ["why", "when is the spring tide highest", "docs/tides.md"])
    assert.strictEqual(tide.keyword!.rank, 1)
    assert.deepStrictEqual(
      tide.terms!.filter(({ score }) => score > 0).map(({ term }) => term),
      ["spring", "tide", "highest"]
    )
    // As query prints a place, and a compiler.
    const { stdout } = await box.run(["why", "spring tide", "docs/bread.md:1:2"])
    for (const part of ["meaning", "words     not found", "tide: does not occur", "Ranked above it:"])
      assert.include(stdout, part)
  })

  it("tells scores of this search only, whose parts add up, and who stands for a document that is folded", async () => {
    const text =
      "# Oak\n\nThe oaks of the northern forest are older than those of the valley, and the foresters count them."
    const own = new Sandbox({
      "a.md": text.replace("older", "older, older oaks"),
      "b.md": text,
      "many.jsonl": Array.from({ length: 130 }, (_, n) =>
        JSON.stringify({
          _id: `n${n}`,
          text: `Oak number ${n} is one of the oaks that stand at gate ${n}, ${"an oak ".repeat(n % 7)}`
        })
      ).join("\n"),
      "far.md": "Birches are white."
    })
    try {
      await own.ends(0, ["index", "."])
      const ask = ["why", "which oaks and which oak are older"]
      const best = await own.json(WhyReport, [...ask, "a.md"])
      const sum = best.terms!.reduce((all, { score }) => all + score, 0)
      assert.closeTo(sum, best.keyword!.score!, 1e-6)
      assert.isNumber(best.relevance)
      const { stdout } = await own.ends(0, [...ask, "a.md"])
      const [, fused, ...parts] =
        /score (\S+)\n {2}(\S+) by meaning \+ (\S+) by words \+ (\S+) for words like the question's\nrelevance 0\.\d\d/.exec(
          stdout
        ) ?? []
      assert.closeTo(
        parts.reduce((sum, part) => sum + Number(part), 0),
        Number(fused),
        0.0016
      )
      const folded = await own.json(WhyReport, [...ask, "b.md"])
      assert.match(folded.folded_into!, /a\.md/)
      assert.strictEqual(folded.hybrid!.rank, best.hybrid!.rank)
      assert.isUndefined(folded.hybrid!.score)
      assert.include((await own.ends(0, [...ask, "b.md"])).stdout, "where a.md:1 says the same")
      const far = await own.json(WhyReport, [...ask, "far.md"])
      assert.deepStrictEqual(far.hybrid, {})
      assert.include((await own.ends(0, [...ask, "far.md"])).stdout, "fused     not in the top 100\n")
    } finally {
      own.remove()
    }
  })

  it("names what stands for a copy where few passages match", async () => {
    const same =
      "# Oaks\n\nThe oak at the gate is three hundred years old, and older than any other tree of the village.\n"
    const own = new Sandbox({
      "a.md": same,
      "b.md": same,
      "c.md": "# Elms\n\nNo elm of the village is older than the oak.\n"
    })
    try {
      await own.ends(0, ["index", "."])
      const reports = await Promise.all(
        ["a.md", "b.md"].map((source) => own.json(WhyReport, ["why", "how old is the oak", source]))
      )
      assert.deepStrictEqual(
        reports.map(({ hybrid, keyword, vector }) => [hybrid!.rank, keyword!.rank, vector!.rank]),
        [
          [1, 1, 1],
          [1, 1, 1]
        ]
      )
      assert.lengthOf(
        reports.filter(({ folded_into }) => folded_into !== undefined),
        1
      )
    } finally {
      own.remove()
    }
  })

  it("says that the filter excludes it, or why it is not indexed", async () => {
    const filtered = await box.json(WhyReport, ["why", "tide", "docs/tides.md", "--filter", "lang=de"])
    assert.isTrue(filtered.filtered_out)
    const mistyped = await box.run(["why", "tide", "docs/tides.md", "--filter", "sorce=de"])
    assert.include(mistyped.stdout, 'no document has the metadata key "sorce" (did you mean "source"?)')
    await box.ends(
      3,
      ["why", "tide", "docs/empty.bin"],
      /docs\/empty\.bin is not indexed: (skipped in collection default|no run has met it)/
    )
    assert.match((await box.run(["why", "tide", "none.md"])).stderr, /no such document and no such file/)
    box.write({ "docs/.hidden.md": "# Tide\n", "docs/later.md": "# Tide\n", "other/tide.md": "# Tide\n" })
    const reasonOf = async (file: string) => (await box.run(["why", "tide", file])).stderr
    assert.include(await reasonOf("docs/.hidden.md"), "skipped below docs: hidden")
    assert.include(await reasonOf("docs/later.md"), "clew index docs/later.md indexes it")
    assert.include(await reasonOf("other/tide.md"), "neither the file nor a folder above it was indexed")
    assert.include(await reasonOf("docs"), "it is a folder; clew list docs")
  })
})
