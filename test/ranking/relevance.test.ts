import { it } from "@effect/vitest"
import { assert, describe } from "vitest"
import * as Effect from "effect/Effect"
import { learned } from "../../src/terms/stemmers.ts"
import { relevance, weakBelow } from "../../src/ranking/relevance.ts"

const tides = { title: "Tides", heading: "Spring tides", text: "At new moon the sun and the moon pull together." }
const bread = { title: "", heading: "", text: "Let the dough rise for two hours." }

describe("relevance", () => {
  it("rises with the share of words and with the similarity, within 0 and 1", () => {
    const judge = relevance("why are spring tides high at new moon")
    assert.isAbove(judge(tides, undefined), judge(bread, undefined))
    assert.isAbove(judge(tides, 0.6), judge(tides, 0.3))
    for (const similarity of [-1, 0, 1, undefined]) {
      for (const passage of [tides, bread]) {
        assert.isAbove(judge(passage, similarity), 0)
        assert.isBelow(judge(passage, similarity), 1)
      }
    }
  })

  it("calls what has neither words nor meaning in common weak, and what has all words not", () => {
    const judge = relevance("spring tides at new moon")
    assert.isBelow(judge(bread, 0.1), weakBelow)
    assert.isBelow(judge(bread, undefined), weakBelow)
    assert.isAbove(judge(tides, 0.1), weakBelow)
    assert.isAbove(judge(tides, undefined), weakBelow)
    assert.isAbove(relevance("moon")(tides, undefined), weakBelow)
    assert.isBelow(relevance("?!")(tides, undefined), weakBelow)
  })

  it("does not count the words of grammar that a question in another language has in common with a passage", () => {
    const text = "Wie man die Sicherung im Archiv ablegt, und wann man das soll."
    const passage = { title: "", heading: "Sicherung", text }
    assert.isBelow(relevance("Wie und wann soll man das im Ofen backen?")(passage, undefined), weakBelow)
    assert.isAbove(relevance("Wie und wann soll man die Sicherung ablegen?")(passage, undefined), weakBelow)
    assert.isAbove(relevance("Wie man das soll")(passage, undefined), weakBelow)
    const office = { title: "", heading: "", text: "The office is open." }
    assert.isBelow(relevance("met office")(office, undefined), 0.3)
  })

  it("takes a near spelling for the word that it stands in for", () => {
    const near = [{ word: "sprnig", term: "spring" }]
    const judged = relevance("sprnig tides", near)(tides, undefined)
    assert.strictEqual(judged, relevance("spring tides")(tides, undefined))
    assert.isAbove(judged, relevance("sprnig tides")(tides, undefined))
  })

  it.effect("knows other forms of a question's words in a passage's language, and not its grammar", () =>
    Effect.gen(function* () {
      yield* learned(["ru"])
      const branch = { title: "", heading: "", text: "Ветки серверов и команды для них." }
      const question = "Какими командами можно на сервере делать ветку?"
      assert.isBelow(relevance(question)(branch, undefined), weakBelow)
      assert.isAbove(relevance(question)(branch, undefined, "meaning", "ru"), 3 * weakBelow)
      assert.isBelow(relevance("Как и на чем печь хлеб?")(branch, undefined, "meaning", "ru"), weakBelow)
    })
  )
})
