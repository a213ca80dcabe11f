import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { stem } from "../../src/terms/stem.ts"

/** From the sample vocabulary of the algorithm's description, and the words it names as special. */
const samples =
  `consign consign consigned consign consigning consign consignment consign consist consist consistency consist
consistent consist consistently consist consolation consol consolatory consolatori consolingly consol consonant conson
conspicuous conspicu conspicuously conspicu conspiracy conspiraci conspirators conspir constable constabl constancy constanc
constant constant knack knack knackeries knackeri knavish knavish knead knead kneaded knead kneel kneel kneeling kneel knelt
knelt knew knew knick knick knif knif knife knife knight knight knightly knight knights knight knits knit knitted knit
knitting knit knives knive knob knob knobs knob knock knock knocked knock knocker knocker knocking knock knocks knock knopp
knopp knot knot knots knot skis ski skies sky dying die lying lie news news atlas atlas inning inning exceed exceed
generate generat generic generic communal communal arsenal arsenal hopping hop hoping hope luxuriated luxuri agreed agre
feed feed ties tie cries cri gas gas this this gaps gap kiwis kiwi cry cri by by say say relational relat rational ration
electrical electr hopefulness hope formative format adoption adopt controlling control roll roll bead bead`
    .split(/\s+/)
    .flatMap((word, i, all) => (i % 2 === 0 ? [[word, all[i + 1]] as const] : []))

describe("stem", () => {
  it("agrees with the algorithm's samples", () => {
    for (const [word, expected] of samples) assert.strictEqual(stem(word), expected, word)
  })

  it.prop(
    "is a word of lower-case letters no longer than its input",
    [FastCheck.stringMatching(/^[a-z]{1,20}$/)],
    ([word]) => assert.match(stem(word), new RegExp(`^[a-z]{1,${word.length}}$`))
  )
})
