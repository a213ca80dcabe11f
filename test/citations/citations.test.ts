import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { citationMarks, lexicalSupport, openFence, withoutMarks } from "../../src/citations/citations.ts"
import { hit } from "../hits.ts"

const marks = (answer: string) => citationMarks(answer).map(({ n, sentence }) => [n, sentence])

describe("citationMarks", () => {
  it("finds each mark with the sentence that it stands at", () => {
    assert.deepStrictEqual(
      marks("The moon pulls the sea [1]. Bread is baked.[2] Lava flows [3], fast.\n- Ice creeps. [4]"),
      [
        [1, "The moon pulls the sea."],
        [2, "Bread is baked."],
        [3, "Lava flows, fast."],
        [4, "- Ice creeps."]
      ]
    )
  })

  it("keeps the space before a name that begins with a full stop", () => {
    assert.deepStrictEqual(marks("It reads the .env file [1] . The threshold is .85 [2]."), [
      [1, "It reads the .env file."],
      [2, "The threshold is .85."]
    ])
  })

  it("a day before a month ends no sentence, in German neither", () => {
    for (const day of ["31. Dezember 2025", "1.\u00a0März", "3. Okt.", "31. december 2025", "31. prosince 2025"]) {
      const sentence = `Stichtag ist der ${day} für alle Anträge.`
      assert.deepStrictEqual(marks(`${sentence.slice(0, -1)} [1].`), [[1, sentence]])
    }
    assert.deepStrictEqual(marks("Es sind 31. Maine liegt dort [1]."), [[1, "Maine liegt dort."]])
  })

  it("a sentence goes on in the next line, unless one ends or begins something there", () => {
    assert.deepStrictEqual(marks("It is wrong to say that\nbees make honey [1].\nIce creeps [2]\nLava flows [3]"), [
      [1, "It is wrong to say that bees make honey."],
      [2, "Ice creeps"],
      [3, "Lava flows"]
    ])
    assert.deepStrictEqual(marks("**Bees**\nThey hum:\n- Ice\n  creeps [1]\n- Lava [2]\n```\nx\n```\nTides [3]"), [
      [1, "- Ice creeps"],
      [2, "- Lava"],
      [3, "Tides"]
    ])
    assert.deepStrictEqual(marks("Sources:\n[1] bees.md\n[2] tides.md"), [
      [1, "bees.md"],
      [2, "tides.md"]
    ])
  })

  it.each(["`tide.port` changes", "`git rm` removes", "tide.port changes", "--force removes", "iPhone users lift"])(
    "a sentence may begin with %s",
    (begin) => {
      assert.deepStrictEqual(marks(`Bees make honey [1]. ${begin} the mast [2].`), [
        [1, "Bees make honey."],
        [2, `${begin} the mast.`]
      ])
      assert.deepStrictEqual(marks(`Bees, e.g. ${begin} the mast [2].`), [[2, `Bees, e.g. ${begin} the mast.`]])
    }
  )

  it("reads several passages in one mark, and several marks in a row", () => {
    assert.deepStrictEqual(marks("Lava flows [1, 3][5]."), [
      [1, "Lava flows."],
      [3, "Lava flows."],
      [5, "Lava flows."]
    ])
    assert.deepStrictEqual(
      marks("Lava flows [2-4].").map(([n]) => n),
      [2, 3, 4]
    )
  })

  it("takes the brackets around marks for part of them", () => {
    for (const cited of ["(Source: [1])", "([1])", "(see [1])"])
      assert.deepStrictEqual(marks(`Call f() (twice) ${cited}.`), [[1, "Call f() (twice)."]])
    assert.deepStrictEqual(marks("Ice creeps (Sources: [1], [2])."), [
      [1, "Ice creeps."],
      [2, "Ice creeps."]
    ])
  })

  it("a mark on a line of its own belongs to the sentence before it", () => {
    assert.deepStrictEqual(marks("Lava flows.\n\n[2]\n"), [[2, "Lava flows."]])
    assert.deepStrictEqual(marks("[1]"), [[1, ""]])
  })

  it("takes as long as the answer is, whatever a model repeats", () => {
    const marks = citationMarks("Bees make honey [1] ".repeat(20_000))
    assert.strictEqual(marks.length, 20_000)
    assert.strictEqual(new Set(marks.map(({ sentence }) => sentence)).size, 1)
    assert.isAtMost(marks[0]!.sentence.length, 2000)
    assert.strictEqual(citationMarks("[1] ".repeat(20_000)).length, 20_000)
    assert.strictEqual(citationMarks("It is. [1]\n".repeat(20_000)).at(-1)!.sentence, "It is.")
  })

  it("takes no index in code for a citation", () => {
    assert.deepStrictEqual(marks("Use `list[1]` first [2].\n```\na[3] = b[4]\n```\n"), [[2, "Use `list[1]` first."]])
    assert.deepStrictEqual(
      marks("~~~\na[3]\n```\nb[4]\n~~~\n````\nc[5]\n```\nd[6]\n````\nUse ``a ` b[7]`` or ```c[8]``` [2].").map(
        ([n]) => n
      ),
      [2]
    )
  })

  it("a fence that is never closed hides no mark, however long the rest is", () => {
    assert.lengthOf(citationMarks(`${"```"}\n${"a\n".repeat(200_000)}It is so [1].`), 1)
    assert.deepStrictEqual(marks("```sh\nclew index docs\n\nLava flows [2]."), [[2, "Lava flows."]])
  })

  it("takes no link for a citation, and reads the brackets that some models write", () => {
    assert.deepStrictEqual(marks("The [2](http://x) moon pulls the sea [1]. Rivers [3][4] carve [5] (slowly) stone."), [
      [1, "The [2](http://x) moon pulls the sea."],
      [3, "Rivers carve (slowly) stone."],
      [4, "Rivers carve (slowly) stone."],
      [5, "Rivers carve (slowly) stone."]
    ])
    assert.deepStrictEqual(marks("Lava flows 【1】. Ice creeps【2, 3】."), [
      [1, "Lava flows."],
      [2, "Ice creeps."],
      [3, "Ice creeps."]
    ])
    assert.deepStrictEqual(
      marks("Lava flows 【1†source】. Ice creeps【2†L3-L5】. Bees hum ［3］. Rivers carve [ 4 ]."),
      [
        [1, "Lava flows."],
        [2, "Ice creeps."],
        [3, "Bees hum."],
        [4, "Rivers carve."]
      ]
    )
  })

  it("takes indented lines for code, but not those of a list", () => {
    assert.deepStrictEqual(
      marks("Write:\n\n    a[1] = 2\n\n    b[2]\n\n1. Lava flows.\n\n    It creeps [3].\n\nIce\n    melts [4].").map(
        ([n]) => n
      ),
      [3, 4]
    )
  })

  it("a sentence that says nothing of its own stands for the one before it", () => {
    assert.deepStrictEqual(marks("Lava flows. It is [1][2]. That is so [3]."), [
      [1, "Lava flows."],
      [2, "Lava flows."],
      [3, "Lava flows."]
    ])
    assert.deepStrictEqual(marks("It is [1]."), [[1, "It is."]])
  })

  it("leaves alone what is no number in brackets", () => {
    assert.deepStrictEqual(marks("[a] [1.5] [] [x1] [^1] (2) [12345]"), [])
  })

  it.prop(
    "says where each mark stands",
    { answer: FastCheck.string({ unit: FastCheck.constantFrom(..."[1] 2.,a\n`【】(") }) },
    ({ answer }) => {
      let before = 0
      for (const { end, n, start } of citationMarks(answer)) {
        assert.match(answer.slice(start, end), /^[[【][\d\s,;–-]+[\]】]$/)
        assert.include(answer.slice(start, end), String(n))
        assert.isAtLeast(start, before)
        before = start
      }
    }
  )
})

describe("lexicalSupport", () => {
  it("is the share of the sentence's content words that the passage has, stemmed, its title and headings too", () => {
    const tides = hit({ text: "The moon pulled the seas.", title: "Tides", heading: ["Gravity"] })
    assert.strictEqual(lexicalSupport("The moon pulls the sea.", tides), 1)
    assert.strictEqual(lexicalSupport("Gravity makes tides.", tides), 2 / 3)
    assert.strictEqual(lexicalSupport("Bread is baked.", tides), 0)
    assert.strictEqual(lexicalSupport("", tides), 0)
    assert.strictEqual(lexicalSupport("It is.", tides), 0)
    assert.strictEqual(lexicalSupport("It is the.", hit({ text: "It is the sea." })), 0)
  })
})

describe("withoutMarks", () => {
  it.each([
    ["Lava flows.[12] Ice creeps [3, 4].", "Lava flows.(12) Ice creeps (3, 4)."],
    ["【7】 says so", "(7) says so"],
    ["Ice creeps.【7†source】 Lava flows ［8］.", "Ice creeps.(7†source) Lava flows (8)."],
    ["ports = [80, 443] [7]", "ports = [80, 443] (7)"],
    [
      "Run `sed 's/[0-9]//g'` [7]:\n\n```toml\nports = \"[0-9]+\" # [1]",
      "Run `sed 's/[0-9]//g'` (7):\n\n```toml\nports = \"[0-9]+\" # [1]"
    ],
    ["rows[1] = list[2][3]; `[4]`; [5](http://x); [a]", "rows[1] = list[2][3]; `[4]`; [5](http://x); [a]"]
  ])("%j becomes %j", (text, wanted) => {
    assert.strictEqual(withoutMarks(text), wanted)
  })

  it("takes the line below a title for no fence", () => {
    assert.strictEqual(withoutMarks("Lamps\n~~~~~\n\nThey burn oil [1].\n"), "Lamps\n~~~~~\n\nThey burn oil (1).\n")
    assert.strictEqual(openFence("Lamps\n~~~~~\nThey burn oil"), undefined)
    assert.strictEqual(openFence("Like this:\n\n~~~~~\na[1]"), "~~~~~")
    assert.deepStrictEqual(marks("Lamps\n~~~~~\nThey burn\noil [1]."), [[1, "They burn oil."]])
  })

  it("takes a text that begins in code for code up to its fence", () => {
    const fence = openFence("Ports [1]:\n\n````yaml\n```\na: [1]")
    assert.strictEqual(fence, "````")
    assert.strictEqual(withoutMarks("b: [2, 3]\n````\nSo it is [4].", fence), "b: [2, 3]\n````\nSo it is (4).")
    assert.isUndefined(openFence("```\na\n```\n"))
  })
})
