import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { parse } from "smol-toml"
import { ListReport } from "../../../src/cli/list.ts"
import { ShowReport } from "../../../src/cli/show.ts"
import { WhyReport } from "../../../src/cli/why.ts"
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
    const { code, stderr } = await box.run(args)
    assert.strictEqual(code, 0, stderr)
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
    assert.strictEqual((await box.run(["list", "none"])).code, 3)
  })
})

describe("init", () => {
  it("writes every key commented out, once", async () => {
    assert.strictEqual((await box.run(["init"])).code, 0)
    const text = readFileSync(box.path("clew.toml"), "utf8")
    for (const part of ["[embedding]", '# backend = "auto"', "# chunk_size = "]) assert.include(text, part)
    assert.deepStrictEqual(
      Object.values(parse(text)).filter((section) => Object.keys(section as object).length > 0),
      []
    )
    assert.strictEqual((await box.run(["info"])).code, 0)
    assert.strictEqual((await box.run(["init"])).code, 1)
    assert.strictEqual((await box.run(["init", "--force"])).code, 0)
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
      const why = await own.run(["why", "what keeps longer", id])
      assert.strictEqual(why.code, 0, why.stderr)
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
      const beyond = await box.run(["show", `docs/tides.md:${line}`])
      assert.strictEqual(beyond.code, 3)
      assert.include(beyond.stderr, `docs/tides.md has no line ${line}; it has lines 1 to 11`)
    }
    const { code, stderr } = await box.run(["show", "docs/none.md"])
    assert.strictEqual(code, 3)
    assert.include(stderr, "clew list")
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
    assert.strictEqual((await box.run(["index", "long.md", "short.md", "--db", "long.db"])).code, 0)
    assert.lengthOf(await shown("head -n 12"), 10)
    assert.lengthOf(await shown("head -n 1", "short.md"), 1)
    assert.lengthOf(await shown("no-such-pager"), 60)
    assert.lengthOf(await shown(""), 60)
    const piped = await box.run(["show", "long.md", "--db", "long.db"], { env: { PAGER: "head -n 12" } })
    assert.lengthOf(lines(piped.stdout), 60)
  })
})

describe("why", () => {
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
    const { stdout } = await box.run(["why", "spring tide", "docs/bread.md"])
    for (const part of ["meaning", "words     not found", "tide: does not occur", "Ranked above it:"])
      assert.include(stdout, part)
  })

  it("says that the filter excludes it, or why it is not indexed", async () => {
    const filtered = await box.json(WhyReport, ["why", "tide", "docs/tides.md", "--filter", "lang=de"])
    assert.isTrue(filtered.filtered_out)
    const mistyped = await box.run(["why", "tide", "docs/tides.md", "--filter", "sorce=de"])
    assert.include(mistyped.stdout, 'no document has the metadata key "sorce" (did you mean "source"?)')
    const { code, stderr } = await box.run(["why", "tide", "docs/empty.bin"])
    assert.strictEqual(code, 3)
    assert.match(stderr, /docs\/empty\.bin is not indexed: (skipped in collection default|no run has met it)/)
    assert.match((await box.run(["why", "tide", "none.md"])).stderr, /no such document and no such file/)
    box.write({ "docs/.hidden.md": "# Tide\n", "docs/later.md": "# Tide\n", "other/tide.md": "# Tide\n" })
    const reasonOf = async (file: string) => (await box.run(["why", "tide", file])).stderr
    assert.include(await reasonOf("docs/.hidden.md"), "skipped below docs: hidden")
    assert.include(await reasonOf("docs/later.md"), "clew index docs/later.md indexes it")
    assert.include(await reasonOf("other/tide.md"), "neither the file nor a folder above it was indexed")
    assert.include(await reasonOf("docs"), "it is a folder; clew list docs")
  })
})
