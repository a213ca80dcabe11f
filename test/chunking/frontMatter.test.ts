import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { frontMatterSpan } from "../../src/chunking/frontMatter.ts"

describe("frontMatterSpan", () => {
  const found: ReadonlyArray<readonly [string, string, string]> = [
    ["---\na: 1\n---\nrest", "a: 1\n", "rest"],
    ["---\na: 1\n...\nrest", "a: 1\n", "rest"],
    ["---  \r\na: 1\r\n---\t\r\nrest", "a: 1\r\n", "rest"],
    ["---\ra: 1\r---\rrest", "a: 1\r", "rest"],
    ["---\na: 1\n---", "a: 1\n", ""],
    ["---\n---\nrest", "", "rest"],
    [
      "---\n\n# note\n'a b': 1\n- x\n  y: z\n]\n---\nrest\n---\n",
      "\n# note\n'a b': 1\n- x\n  y: z\n]\n",
      "rest\n---\n"
    ],
    ["---\n{a: 1}\n---\n", "{a: 1}\n", ""],
    ["---\n# b: [draft\na.b: [x]\nc: T\n---\n", "# b: [draft\na.b: [x]\nc: T\n", ""],
    ["---\na: |\n  ---\n  text\n---\nrest", "a: |\n  ---\n  text\n", "rest"],
    ["+++\na = 1\n---\n+++\nrest", "a = 1\n---\n", "rest"],
    ["+++\n[a]\n+++\n", "[a]\n", ""]
  ]
  for (const [text, body, rest] of found) {
    it(JSON.stringify(text), () => {
      const front = frontMatterSpan(text)
      assert.deepInclude(front, { kind: text.startsWith("+") ? "toml" : "yaml", body })
      assert.strictEqual(text.slice(front!.end), rest)
    })
  }

  const none = [
    "",
    "---",
    "---\n",
    "\n---\na: 1\n---\n",
    " ---\na: 1\n---\n",
    "----\na: 1\n----\n",
    "---\na: 1\n",
    "---\na: 1\n+++\n",
    "---\nProse that is no key.\n---\n",
    "---\n# A heading\n---\n",
    "---\n- a list\n---\n",
    "---\nNote: a key, but then\nprose without one.\n\n---\n",
    '---\nNote: "a quote that\nends nowhere\n\n---\n',
    "---\nNote: [a link] and\nprose [b]\n\n---\n",
    "---\nhttp://example.org\n---\n",
    "+++\nprose\n+++\n"
  ]
  for (const text of none) it(`none in ${JSON.stringify(text)}`, () => assert.isUndefined(frontMatterSpan(text)))

  it.prop(
    "takes whole lines from the start, or nothing",
    [FastCheck.string({ unit: FastCheck.constantFrom(..."-+.a:= \n\r{") })],
    ([text]) => {
      for (const whole of [text, `---\n${text}`, `---\na: 1\n${text}\n---\n`]) {
        const front = frontMatterSpan(whole)
        if (front === undefined) continue
        assert.isTrue(/^(---|\+\+\+)/.test(whole) && front.end <= whole.length)
        assert.isTrue(front.end === whole.length || /[\r\n]$/.test(whole.slice(0, front.end)))
        assert.include(whole.slice(0, front.end), front.body)
      }
    }
  )

  it("takes time in proportion to the text", () => {
    for (const filler of ["\r\n", "a: 1\n", " ", ":", "---\r", "# c\r\n", "- [\n", 'a: "\n', "- '\n b\n"]) {
      for (const end of ["x", "\n---\n"]) {
        const text = `---\n${filler.repeat(200_000)}${end}`
        // In proportion to its square it would take minutes.
        assert.isAtMost(frontMatterSpan(text)?.end ?? 0, text.length)
      }
    }
  })
})
