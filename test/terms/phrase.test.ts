import { assert, describe, it } from "@effect/vitest"
import { phraseTest, plainTerms, writes } from "../../src/terms/phrase.ts"
import { terms } from "../../src/terms/terms.ts"

describe("phraseTest", () => {
  it.each([
    ["borrow checker", "The **Borrow** Checker\nis"],
    ["spring tide", "a spring\n  tide."],
    ["don't", "You don\u2019t say"],
    ["U.S. policy", "of U.S. policy, 1990"],
    ["Angstrom law", "the Ångström law"],
    ["user id", "the user_id field"],
    ["user-id", "the user id"],
    ["getuser", "call getUser()"],
    ["C++", "C++ and C"],
    ["version 1.2.3", "in version 1.2.3."],
    ["v1.2", "since v1.2"],
    ["机器学习", "关于机器学习的书"],
    ["the boss's desk", "at the boss\u2019s desk"],
    ["œuvre d'art", "l\u2019œuvre d\u2019art du siècle"],
    ["art du siècle", "l\u2019œuvre d\u2019art du siècle"],
    ["arte moderna", "nell'arte moderna"],
    ["OBrien", "Mr O'Brien"],
    ["O'Brien", "Mr O\u2019Brien"],
    ["Donaudampfschifffahrt", "die Donau\u00addampf\u00adschifffahrt"],
    ["\u0645\u06cc\u200c\u0631\u0648\u062f", "\u0627\u0648 \u0645\u06cc\u200c\u0631\u0648\u062f"]
  ])("finds “%s” in “%s”, whose terms the passage has", (phrase, text) => {
    assert.isTrue(phraseTest(phrase)?.(text))
    const all = terms(text)
    for (const term of plainTerms(phrase)) assert.include(all, term)
  })

  it.each([
    ["spring tide", "the tide in spring"],
    ["spring tide", "spring tides"],
    ["tide", "tidewater"],
    ["C++", "C and B"],
    ["C", "C++ alone"],
    ["version 1.2", "version 1.2.3"],
    ["机器学习", "机器不学习"],
    ["a b", "a. x b"]
  ])("does not find “%s” in “%s”", (phrase, text) => {
    assert.isFalse(phraseTest(phrase)?.(text))
  })

  it("says where there is no word to look for", () => {
    assert.isUndefined(phraseTest("-- !"))
  })
})

describe("writes", () => {
  it("wants a word as it is written, and whole", () => {
    assert.isTrue(writes("java -jar app.jar", "-jar"))
    assert.isTrue(writes("`-jar`", "-jar"))
    for (const text of ["a jar", "--jar", "x-jar", "-jars", "-jar-file"]) assert.isFalse(writes(text, "-jar"), text)
  })
})
