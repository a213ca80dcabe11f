import { assert, describe, it } from "vitest"
import { LineWalker } from "../../src/entries/scanning.ts"
import { eachParagraph } from "../../src/chunking/chunk/prose.ts"

/** A text that counts the characters that are looked at. */
const counting = (text: string) => {
  let looked = 0
  const counted = {
    length: text.length,
    charCodeAt: (at: number) => {
      looked++
      return text.charCodeAt(at)
    },
    indexOf: (part: string, from: number) => {
      const at = text.indexOf(part, from)
      looked += (at === -1 ? text.length : at) - from
      return at
    }
  }
  return { text: counted as unknown as string, looked: () => looked }
}

const lines = (text: string, from = 0, to = text.length) => {
  const found: Array<string> = []
  const walker = new LineWalker(text, from, to)
  while (walker.next()) found.push(text.slice(walker.start, walker.end))
  return found
}

describe("lines", () => {
  it("end at \\n, \\r\\n and a lone \\r", () => {
    assert.deepStrictEqual(lines("a\nb\r\nc\rd\n\r\n\n\re"), ["a", "b", "c", "d", "", "", "", "e"])
    assert.deepStrictEqual(lines("a\nbc\r\nd", 0, 3), ["a", "b"])
    assert.deepStrictEqual(lines("a\nbc\r\nd", 2, 4), ["bc"])
    assert.deepStrictEqual(lines(""), [])
  })

  // Each of many paragraphs looked for a \r in all that followed it: 50 MB took two minutes.
  for (const end of ["\n", "\r", "\r\n"]) {
    it(`of each paragraph are found without reading on, where they end with ${JSON.stringify(end)}`, () => {
      const whole = `One line.${end}Another one.${end}${end}`.repeat(2000)
      const { looked, text } = counting(whole)
      const paragraphs: Array<readonly [number, number]> = []
      eachParagraph(text, 0, text.length, (from, to) => paragraphs.push([from, to]))
      assert.lengthOf(paragraphs, 2000)
      for (const [from, to] of paragraphs) {
        const walker = new LineWalker(text, from, to)
        let count = 0
        while (walker.next()) count++
        assert.strictEqual(count, 2)
      }
      assert.isBelow(looked(), 10 * whole.length)
    })
  }
})
