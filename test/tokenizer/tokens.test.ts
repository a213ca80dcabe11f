import { assert, it } from "@effect/vitest"
import { charactersOf, learned, scripts, tokensOf, usualRates } from "../../src/tokenizer/tokens.ts"

it("counts characters by what models cut alike", () => {
  const of = (text: string) => Object.fromEntries(scripts.map((script, at) => [script, charactersOf(text)[at]]))
  assert.deepInclude(of("Où est 42?\n"), { latin: 7, digits: 2, signs: 2 })
  assert.deepInclude(of("Где ключ"), { cyrillic: 7, latin: 1 })
  assert.deepInclude(of("北風とカギ 열쇠"), { cjk: 7, latin: 1 })
  assert.deepInclude(of("مفتاح"), { other: 5 })
})

it("learns each script's rate from what a model made of texts, and of no other script's", () => {
  const model = [0.2, 1, 0.5, 0.35, 0.8, 1]
  const texts = [
    "The key lies under the mat. ".repeat(20),
    "北風吹過港口。".repeat(30),
    "Ключ лежит под ковриком. ".repeat(20)
  ]
  const [english, chinese, russian] = texts.map(charactersOf)
  const tokens = (characters: ReadonlyArray<number>) => tokensOf(characters, model)
  const once = learned(usualRates, english!, tokens(english!), 1)
  assert.closeTo(tokensOf(english!, once), tokens(english!), 2)
  assert.strictEqual(once[4], usualRates[4])
  let rates = usualRates
  for (let n = 0; n < 20; n++) {
    for (const each of [english!, chinese!, russian!]) rates = learned(rates, each, tokens(each), n === 0 ? 1 : 0.3)
  }
  const mixed = charactersOf(texts.join("\n"))
  assert.closeTo(tokensOf(mixed, rates) / tokens(mixed), 1, 0.03)
})

it("believes no server that counts what no tokenizer makes", () => {
  const text = charactersOf("key")
  assert.isAtLeast(learned(usualRates, text, 1e9, 1)[0]!, 0.05)
  assert.isAtMost(learned(usualRates, text, 1e9, 1)[0]!, 4)
  assert.deepStrictEqual(learned(usualRates, charactersOf(""), 10, 1), usualRates)
  assert.deepStrictEqual(learned(usualRates, text, 0, 1), usualRates)
})
