import { assert, it } from "@effect/vitest"
import { isEnglish } from "../../src/terms/languages.ts"

const texts: ReadonlyArray<readonly [isEnglish: boolean | undefined, text: string]> = [
  [true, "The tide rises twice a day, and what it leaves on the shore is gathered by those who wait for it."],
  [false, "Die Flut steigt zweimal am Tag, und was sie am Ufer lässt, wird von denen gesammelt, die auf sie warten."],
  [false, "La marée monte deux fois par jour, et ce qu'elle laisse sur le rivage est ramassé par ceux qui attendent."],
  [false, "La marea sube dos veces al día, y lo que deja en la orilla es recogido por los que esperan en la playa."],
  [false, "O mar sobe duas vezes por dia, e o que ele deixa na praia é recolhido por quem espera na areia."],
  [false, "潮は一日に二度満ちて、岸に残すものは待つ人々に集められる。海はいつも同じではない。月が満ちると潮も満ちる。"],
  [false, "Прилив поднимается два раза в день, и то, что он оставляет на берегу, собирают те, кто его ждёт."],
  [undefined, "const a = fn(b, c)\nexport const x = { y: 1, z: [q, r] }\nreturn map.get(key) ?? fallback(value)"],
  [undefined, "Short."],
  [undefined, ""]
]

it("tells English from other languages, and says nothing of code and of little", () => {
  for (const [expected, text] of texts) assert.strictEqual(isEnglish(text), expected, text)
})
