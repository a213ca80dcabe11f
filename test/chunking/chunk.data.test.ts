import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { assertLaws, options, words } from "./chunkLaws.ts"

const cut = (language: string, content: string, size = 24) =>
  assertLaws(content, options({ format: "data", language, size, overlap: 4 }))

/** The heading of the passage that holds these words. */
const headingOf = (language: string, content: string, words: string, size?: number) => {
  const found = cut(language, content, size).find(({ text }) => text.includes(words))
  return found === undefined ? assert.fail(`no passage has ${words}`) : found.heading
}

describe("data is cut at its entries, under the keys that lead to them", () => {
  const settings = {
    name: "hive",
    scripts: { build: words(12), test: words(12) },
    server: { limits: { bodies: words(15), headers: { longest: words(12), most: 100 } } },
    people: [
      { id: 7, name: "Ada", about: words(15) },
      { id: 8, name: "Ben", about: words(15) }
    ]
  }
  for (const [kind, content] of [
    ["indented", JSON.stringify(settings, null, 2)],
    ["on one line", JSON.stringify(settings)]
  ] as const) {
    it(`JSON, ${kind}`, () => {
      assert.deepStrictEqual(headingOf("json", content, '"longest"').slice(0, 3), ["server", "limits", "headers"])
      assert.deepStrictEqual(headingOf("json", content, '"test"'), ["scripts", "test"])
      assert.deepStrictEqual(headingOf("json", content, '"Ben"').slice(0, 2), ["people", "[1] Ben"])
      assert.deepStrictEqual(headingOf("json", content, "hive", 500), [])
    })
  }

  it("JSON with comments: one above a key goes with it", () => {
    const content = `// settings\n{\n  /* "no": 1 */\n  a: 1,\n  // The way { out\n  'out': { deep: "${words(12)}", other: "${words(12)}" }, // last\n}`
    assert.deepStrictEqual(headingOf("jsonc", content, "deep"), ["out", "deep"])
    assert.include(cut("jsonc", content).find(({ text }) => text.includes("'out'"))?.text, "The way")
  })

  it("YAML: keys, lists in both indentations, block texts, flow and several documents", () => {
    const content = [
      "# The hive",
      "hive: &anchor",
      "  frames:",
      "  - name: Brood",
      `    about: ${words(14)}`,
      "    depth: 3",
      "  - name: Honey",
      `    about: ${words(14)}`,
      '  "quoted key":',
      "    note: |",
      "      not: a key",
      `      ${words(16)}`,
      `  flow: {one: ${words(9)}, two: [${words(9)}]}`
    ].join("\n")
    assert.deepStrictEqual(headingOf("yaml", content, "name: Honey"), ["hive", "frames", "[1] Honey"])
    assert.deepStrictEqual(headingOf("yaml", content, "not: a key"), ["hive", "quoted key", "note"])
    assert.deepStrictEqual(headingOf("yml", content, "two: ["), ["hive", "flow", "two"])
    const several = `---\nkind: Service\nname: queen\nspec: ${words(14)}\n---\nkind: Pod\nname: drone\nspec: ${words(18)}\n`
    assert.deepStrictEqual(headingOf("yaml", several, "kind: Pod").slice(0, 1), ["[1] drone"])
  })

  it("TOML: tables, lists of tables, texts over several lines", () => {
    const content = [
      'title = "Hive"',
      "[server.limits] # of all",
      `bodies = "${words(12)}"`,
      'note = """',
      "[no.table]",
      `${words(6)}"""`,
      "[[bees]]",
      `name = "${words(8)}"`,
      "[[bees]]",
      "jobs = [",
      '  ["nurse"],',
      `  ["${words(8)}"]`,
      "]",
      '[a."b.c"]',
      `d = "${words(12)}"`
    ].join("\n")
    assert.deepStrictEqual(headingOf("toml", content, "[no.table]"), ["server", "limits", "note"])
    assert.deepStrictEqual(headingOf("toml", content, '["nurse"]').slice(0, 2), ["bees", "[1]"])
    assert.deepStrictEqual(headingOf("toml", content, "d = ").slice(0, 2), ["a", "b.c"])
  })

  it("XML: elements with what they are called, whatever comments and types stand around", () => {
    const content = [
      '<?xml version="1.0"?>',
      '<!DOCTYPE hive [<!ENTITY e "<x>">]>',
      "<hive><!-- <no> -->",
      `  <frame id="f1"><about>${words(9)}</about></frame>`,
      `  <frame><title>Honey &amp; wax</title><about><![CDATA[</frame>]]> ${words(12)}</about></frame>`,
      `  <plain a="x > y"/><p>${words(9)} <b>bold</b> ${words(9)}</p>`,
      "</hive>"
    ].join("\n")
    assert.deepStrictEqual(headingOf("xml", content, "<title>").slice(0, 2), ["hive", "frame Honey &amp; wax"])
    assert.deepStrictEqual(headingOf("xml", content, 'id="f1"').slice(0, 2), ["hive", "frame f1"])
  })

  it("a list of numbers is cut between them, and nesting has no end", () => {
    assert.isAbove(cut("json", `[${Array.from({ length: 5000 }, (_, i) => i).join(",")}]`).length, 100)
    for (const deep of ["[", '{"a":', "[{"]) cut("json", deep.repeat(1000))
    cut("yaml", "- ".repeat(1000))
    cut("xml", "<a>".repeat(1000))
  })
})

const broken = FastCheck.array(
  FastCheck.constantFrom(
    ..."{}[]\"':,#-|<>/!=& \n\t".split(""),
    "\r\n",
    "key",
    "- ",
    "---\n",
    "  ",
    "<a>",
    "</a>",
    '"""',
    "é",
    "𝒳"
  )
)

for (const language of ["json", "yaml", "toml", "xml"]) {
  it.prop(`${language}: the laws hold, however broken it is`, [broken], ([parts]) => {
    cut(language, parts.join(""), 12)
  })
  it.prop(`${language}: the laws hold of JSON`, [FastCheck.json({ maxDepth: 5 })], ([text]) => {
    cut(language, text, 12)
  })
}
