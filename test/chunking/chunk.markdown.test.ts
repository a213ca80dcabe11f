import { assert, describe, it } from "vitest"
import { embeddedText } from "../../src/chunking/embedded.ts"
import { assertLaws, countTokens, options, sentences, words } from "./chunkLaws.ts"

const passages = (content: string, size = 64, overlap = 0) => assertLaws(content, options({ size, overlap }))

const headings = (content: string, size?: number) => passages(content, size).map(({ heading }) => heading.join(" > "))

describe("chunk, Markdown: headings", () => {
  it("cuts at headings, and each passage has the path to its own", () => {
    const content = `# Guide\n\n${words(20)}\n\n## Install\n\n${words(20)}\n\n### Linux ##\n\n${words(20)}\n\nSetext\n---\n\n${words(20)}\n`
    const found = passages(content)
    assert.deepStrictEqual(
      found.map(({ heading }) => heading),
      [["Guide"], ["Guide", "Install"], ["Guide", "Install", "Linux"], ["Guide", "Setext"]]
    )
    assert.isTrue(found[2]?.text.startsWith("### Linux ##"))
    assert.isTrue(found[3]?.text.startsWith("Setext\n---"))
    assert.strictEqual(found[3]?.startLine, 13)
  })
  it("skips levels without inventing headings", () => {
    assert.deepStrictEqual(headings(`# A\n\n${words(20)}\n\n#### D\n\n${words(20)}\n\n## B\n\n${words(20)}`), [
      "A",
      "A > D",
      "A > B"
    ])
  })
  it("takes markup out of a heading before its end is cut off, and badges alone for none", () => {
    const badge = (name: string) =>
      `[![${name}](https://img.example/${"a".repeat(90)}.svg)](https://ci.example/${name})`
    const tag = `<a href="https://ci.example"><img src="https://img.example/${"a".repeat(300)}.svg"></a>`
    const text = `\n\n${words(20)}\n\n`
    const found = (content: string) => [...new Set(headings(content))]
    const all = ["Version", "Licence", "Node.js CI", "Downloads"].map(badge)
    assert.deepStrictEqual(found(`# Tides ${tag} ${all.join(" ")}${text}## B${text}`), [
      "Tides Version Licence Node.js CI Downloads",
      "Tides Version Licence Node.js CI Downloads > B"
    ])
    assert.deepStrictEqual(found(`# ${all.join("\t")}${text}## B${text}`), ["", "B"])
    assert.deepStrictEqual(found(`# ![Build][ci] [![Tests][t]][u]${text}# ${badge("Tides")}${text}`), ["", "Tides"])
    const long = words(200)
    assert.deepStrictEqual(found(`# ${long}${text}`), [` ${long}`.slice(0, 300).trim()])
  })

  it("takes markup out of headings", () => {
    const head = "# **The** `fs_x*` [module](a.html) &amp; ~~all~~ its C# {#id} "
    assert.deepStrictEqual(headings(`${head}\n\n${words(20)}`), ["The fs_x* module & all its C#"])
    assert.deepStrictEqual(headings(`# A key {/*a-key*/}\n\n${words(20)}`), ["A key"])
    assert.deepStrictEqual(headings(`# &constructor; &copy;\n\n${words(20)}`), ["&constructor; &copy;"])
  })
  it("knows what is no heading", () => {
    const none = [
      "```sh\n# comment\n```",
      "~~~\n```\n# comment\n~~~",
      "    # indented code",
      "#hashtag",
      "<!--\n\n# commented out\n\n-->",
      "<pre>\n\n# preformatted\n</pre>",
      "<div>\n# in HTML\n</div>",
      "> # quoted",
      "- # in a list\n\n  # still in it",
      "####### seven",
      "- item\n---",
      "a | b\n--|--\n| # | #",
      `${"line\n".repeat(5)}---`
    ]
    for (const content of none) {
      const found = headings(`# Real\n\n${words(20)}\n\n${content}\n\n${words(20)}`, 256)
      assert.deepStrictEqual(found, ["Real"], content)
    }
  })
  it("goes on with headings after fences, lists, quotes and HTML", () => {
    const content = `# A\n\n- item\n\n  \`\`\`\n  code\n  \`\`\`\n# B\n\n> quote\n\n<p>\nhtml\n\n# C\n\n\`\`\`\nx\n\`\`\`\n# D\n\ntext`
    assert.deepStrictEqual(headings(content, 24), ["A", "B", "C", "D"])
  })
  it("keeps a heading with what follows it", () => {
    const head = `## Long heading ${words(12)}`
    const bodies = [
      sentences(6, 15),
      sentences(5, 11).replaceAll("word", "w"),
      `\`\`\`\n${`${words(5)}\n`.repeat(9)}\`\`\``,
      `| a | b |\n|---|---|${"\n| c | d |".repeat(7)}`
    ]
    for (const body of bodies)
      for (const { text } of passages(`# A\n\n${words(50)}\n\n${head}\n\n${body}`))
        assert.notMatch(text, /(^|\n)#[^\n]*$/, body)
  })
  it("joins headings without text to the next section, whose path the passage has", () => {
    const found = passages(`# API\n\n## Store\n\n### put\n\n${words(30)}\n\n## Last`)
    assert.deepStrictEqual(
      found.map(({ heading, text }) => [heading.join(" > "), text.slice(0, 5)]),
      [
        ["API > Store > put", "# API"],
        ["API > Last", "## La"]
      ]
    )
  })
  it("joins tiny sections beside and below each other, under what their paths have in common", () => {
    const releases = Array.from({ length: 8 }, (_, i) => `## 1.${i}\n\n- Fix\n`).join("\n")
    const found = passages(`# Changes\n\n${words(30)}\n\n${releases}`, 64)
    assert.isBelow(found.length, 9)
    for (const { heading } of found) assert.deepStrictEqual(heading, ["Changes"])
  })
  it("does not join a tiny section to a large one, nor to one above its level", () => {
    assert.deepStrictEqual(headings(`# A\n\nTiny.\n\n## B\n\n${words(50)}\n\n### C\n\nTiny.\n\n## D\n\nTiny.`), [
      "A",
      "A > B",
      "A > B > C",
      "A > D"
    ])
  })
})

describe("chunk, Markdown: blocks", () => {
  it("leaves front matter out, and counts its lines", () => {
    const [first] = passages("---\ntitle: A\n---\n\n# Real\n\ntext")
    assert.strictEqual(first?.text, "# Real\n\ntext")
    assert.deepStrictEqual([first?.start, first?.startLine, first?.endLine], [18, 5, 7])
    assert.strictEqual(passages("+++\na = 1\n+++\ntext")[0]?.text, "text")
  })
  it("keeps the description of front matter, at its place", () => {
    const toml = (line: string) => `+++\ntitle = "A"\n${line}\nn = 1\n+++\n\n# Real\n\ntext`
    const yaml = (line: string) => `---\ntitle: A\n${line}\ntags: [a]\n---\n\n# Real\n\ntext`
    for (const [text, said] of [
      [yaml("description: Cuts a string to a length."), "Cuts a string to a length."],
      [yaml("description: 'Cuts a string' # to do"), "Cuts a string"],
      [yaml("description: Cuts a C# string  # to do"), "Cuts a C# string"],
      [yaml("description: Cuts\n  a string"), "Cuts\n  a string"],
      [yaml('description: "Cuts \\"strings\\""'), 'Cuts \\"strings\\"'],
      [toml('Summary = "It\'s cut: # so"'), "It's cut: # so"]
    ] as const) {
      const [first, second] = passages(text)
      assert.deepInclude(first, { text: said, startLine: 3, heading: [], start: text.indexOf(said) })
      assert.strictEqual(second?.text, "# Real\n\ntext")
    }
    const folded = yaml("description: >-\n  Cuts: a # here\n  string")
    assert.deepInclude(passages(folded)[0], { text: "Cuts: a # here\n  string", startLine: 4, endLine: 5 })
    for (const line of [">-", "[a, b]", "", "''", "null", "~ # none", "null  "]) {
      assert.strictEqual(passages(`---\ntitle: A\ndescription: ${line}\n---\ntext`)[0]?.text, "text", line)
    }
    assert.strictEqual(passages("---\ndescriptions: no\n---\ntext")[0]?.text, "text")
  })
  it("says in the heading path whose item a passage continues", () => {
    const found = passages(
      [
        "# Options",
        `- \`--accept\` takes hosts\n\n  ${words(60)}\n\n  ${words(60)}`,
        `  - inner: ${words(3)}\n\n    ${words(60)}\n\n    ${words(60)}`,
        `  ${words(60)}`,
        `${words(60)}`
      ].join("\n\n")
    )
    assert.deepStrictEqual(
      [
        ...new Set(
          found.map(({ heading }) =>
            heading
              .slice(1)
              .map((term) => term.split(/:| takes/)[0])
              .join(" > ")
          )
        )
      ],
      ["", "--accept", "--accept > inner", "--accept", ""].filter((each, at, all) => all.indexOf(each) === at)
    )
    assert.deepStrictEqual(found.at(-1)?.heading, ["Options"])
    assert.deepStrictEqual(found.at(-2)?.heading, ["Options", "--accept takes hosts"])
  })
  it("keeps prose between rules at the head", () => {
    assert.isTrue(passages("---\n\nNot metadata at all.\n\n---\n")[0]?.text.includes("Not metadata"))
  })
  it("keeps code whole where it fits, and with what introduces it", () => {
    const code = `\`\`\`ts\n${"const a = 1\n\n".repeat(8)}\`\`\``
    const found = passages(`# A\n\n${words(40)}\n\nLike so:\n\n${code}\n\n${words(40)}`)
    assert.isTrue(found.some(({ text }) => text === `Like so:\n\n${code}`))
  })
  it("cuts code too large at blank lines, its fences with code", () => {
    const body = Array.from({ length: 12 }, (_, i) => `function f${i}() {\n  return g(${i})\n}\n`).join("\n")
    const found = passages(`# A\n\n\`\`\`js\n${body}\`\`\`\n`)
    assert.isAbove(found.length, 1)
    for (const { text } of found.slice(1)) assert.match(text, /^function/)
    assert.match(found[0]?.text ?? "", /```js\nfunction/)
    assert.match(found.at(-1)?.text ?? "", /}\n```$/)
  })
  it("cuts a table too large between rows, never behind its head", () => {
    const rows = Array.from({ length: 30 }, (_, i) => `| a${i} | b |`).join("\n")
    for (let before = 12; before < 64; before += 4) {
      const found = passages(`${words(before)}.\n\n| ${words(8)} | y |\n|-------|------|\n${rows}`)
      assert.isAbove(found.length, 2)
      for (const { text } of found) assert.match(text, /^(word0|\|).*[.|]$/s)
      assert.match(found.find(({ text }) => text.includes("|---"))?.text ?? "", /---\|\n\| a0/)
    }
  })
  it("counts no padding of a table's columns, so that rows stay with their head", () => {
    const row = (...cells: ReadonlyArray<string>) => `| ${cells.map((cell) => cell.padEnd(150)).join(" | ")} |`
    const table = [
      row("key", "does"),
      `| ${"-".repeat(150)} | ${"-".repeat(150)} |`,
      row("a", "north"),
      row("b", "south")
    ]
    const found = passages(`# A\n\n${table.join("\n")}\n\n${words(40)}\n\n${words(40)}`, 48)
    assert.deepStrictEqual(
      found.filter(({ text }) => text.includes("key")).map(({ text }) => text.includes("south")),
      [true]
    )
  })
  it("gives rows that are cut from a table's head its columns' names", () => {
    const rows = (name: string) => Array.from({ length: 30 }, (_, i) => `| ${name}${i} | b |`).join("\n")
    const tables = `| \`Flag\`  | What it does |\n|---|---|\n${rows("f")}\n\n${words(40)}\n\nKey|Default\n---|---\n${rows("k")}`
    const found = passages(`# A\n\n${tables}\n\n${words(60)}`)
    for (const { tableHeader, text } of found) {
      const names = text.startsWith("| f")
        ? "`Flag` | What it does"
        : text.startsWith("| k")
          ? "Key | Default"
          : undefined
      assert.strictEqual(tableHeader, names, text)
    }
    assert.isAbove(found.filter(({ tableHeader }) => tableHeader !== undefined).length, 2)
    const wide = passages(`| ${words(400)} |\n|---|\n${rows("w")}`).flatMap(({ tableHeader }) => tableHeader ?? [])
    for (const header of wide) assert.match(header, /^[^]{100,300}$/)
  })
  it("cuts lists between items, rather between outer ones", () => {
    const item = (i: number) => `- ${words(8, `item${i}x`)}\n  - ${words(8, `inner${i}x`)}`
    const found = passages(Array.from({ length: 9 }, (_, i) => item(i)).join("\n"))
    assert.isAbove(found.length, 2)
    for (const { text } of found) assert.match(text, /^- item/)
  })
  it("cuts a list's fence out of no item", () => {
    const content = Array.from(
      { length: 6 },
      (_, i) => `${i + 1}. ${words(10)}\n\n   \`\`\`\n   run ${i}\n   \`\`\`\n`
    ).join("\n")
    for (const { text } of passages(content, 40)) assert.match(text, /^\d\. .*```$/s)
  })
})

describe("chunk, Markdown: size", () => {
  it("makes one passage of what fits", () => {
    const content = `First paragraph.\n\n- a list\n\n| a | b |\n|---|---|\n`
    assert.strictEqual(passages(content, countTokens(content)).length, 1)
  })
  it("packs small paragraphs of a section, and cuts none that fits", () => {
    const content = `# A\n\n${Array.from({ length: 12 }, (_, i) => `P${i} ${words(18)}.`).join("\n\n")}`
    const found = passages(content)
    assert.isAtMost(found.length, 5)
    for (const { text } of found) assert.match(text, /^(# A|P\d).*\.$/s)
  })
  it("holds of a table as embedded, without what aligns its columns", () => {
    const rule = `| ${"-".repeat(120)} | ${"-".repeat(80)} |`
    const rows = Array.from({ length: 30 }, (_, n) => `| way ${n}${" ".repeat(110)} | ${words(5)}${" ".repeat(60)} |`)
    for (const passage of passages(
      `# Ways\n\n| Way${" ".repeat(118)} | Meaning |\n${rule}\n${rows.join("\n")}\n`,
      60
    )) {
      assert.isAtMost(countTokens(embeddedText(undefined, { ...passage, heading: [], tableHeader: undefined })), 60)
      assert.include(passage.text, "    |")
    }
  })
  it("makes passages of like size rather than a full one and a rest", () => {
    const sizes = passages(sentences(11, 8), 80).map(({ text }) => countTokens(text))
    assert.strictEqual(sizes.length, 2)
    assert.isAtLeast(Math.min(...sizes), 40)
  })
})
