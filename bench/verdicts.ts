import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { readFileSync } from "node:fs"
import { supportOf } from "../src/Answer.ts"
import { make } from "../src/Embedder/Builtin.ts"
import { Verdict } from "../src/model/SearchResult.ts"
import { lexicalSupport } from "../src/citations/citations.ts"
import { verdictOf } from "../src/citations/verdict.ts"
import { hit } from "../test/hits.ts"

const verdicts = Verdict.literals

interface Claim {
  readonly kind: string
  readonly holds: boolean
  readonly sentence: string
}

interface Source {
  readonly set: string
  readonly text: string
  readonly claims: ReadonlyArray<Claim>
}

const holding = new Set(["true", "paraphrase", "translated"])

const read = (name: string) => JSON.parse(readFileSync(new URL(`claims/${name}.json`, import.meta.url), "utf8"))

const claimsOf = (kinds: Readonly<Record<string, unknown>>): ReadonlyArray<Claim> =>
  Object.entries(kinds).flatMap(([kind, sentences]) =>
    Array.isArray(sentences) ? sentences.map((sentence: string) => ({ kind, holds: holding.has(kind), sentence })) : []
  )

/** The first set is of seven kinds; the second has two halves, and names what is wrong with each false claim. */
const sources = (): ReadonlyArray<Source> => [
  ...read("claims").map((it: { text: string }) => ({ set: "first", text: it.text, claims: claimsOf({ ...it }) })),
  ...read("binding").map(
    (it: { half: string; text: string; true: unknown; false: Readonly<Record<string, unknown>> }) => ({
      set: it.half,
      text: it.text,
      claims: claimsOf({ true: it.true, ...it.false })
    })
  )
]

const { embedPassages } = Effect.runSync(make())

const judged = async ({ claims, text }: Source) => {
  const [passage, ...vectors] = await Effect.runPromise(
    embedPassages([text, ...claims.map(({ sentence }) => sentence)])
  )
  return claims.map((claim, at) => {
    const cosine = Option.zipWith(passage!, vectors[at]!, (a, b) => a.reduce((sum, value, n) => sum + value * b[n]!, 0))
    const support = supportOf(lexicalSupport(claim.sentence, hit({ text })), cosine)
    return { ...claim, verdict: verdictOf({ sentence: claim.sentence, passage: text, support }) }
  })
}

const share = (part: number, all: number) => `${(part / all).toFixed(3)} (${part} of ${all})`

/** The verdicts on claims about real passages, labelled by hand, and how often "mentioned" and an alarm are right. */
const main = async (wanted: ReadonlyArray<string>): Promise<void> => {
  const all = sources()
  for (const set of wanted.length > 0 ? wanted : new Set(all.map((it) => it.set))) {
    const found = (await Promise.all(all.filter((it) => it.set === set).map(judged))).flat()
    const kinds = [...new Set(found.map(({ kind }) => kind))]
    const passages = all.filter((it) => it.set === set).length
    process.stdout.write(`${set}: ${found.length} claims about ${passages} passages\n\n`)
    process.stdout.write(`| | ${verdicts.join(" | ")} |\n|---|${verdicts.map(() => "---:|").join("")}\n`)
    for (const kind of kinds) {
      const counts = verdicts.map((it) => found.filter((one) => one.kind === kind && one.verdict === it).length)
      process.stdout.write(`| ${kind} | ${counts.join(" | ")} |\n`)
    }
    const isAlarm = (it: { verdict: string }) => it.verdict === "not_found" || it.verdict === "contradicted"
    const shown = found.filter(({ verdict }) => verdict === "mentioned")
    const held = found.filter(({ holds }) => holds)
    const wrong = found.filter(({ holds }) => !holds)
    const alarms = found.filter(isAlarm)
    process.stdout.write(
      `\nright of "mentioned": ${share(shown.filter(({ holds }) => holds).length, shown.length)}` +
        `; of what is true: ${share(shown.filter(({ holds }) => holds).length, held.length)}` +
        `\nright of "not found" and "contradicted": ${share(alarms.filter(({ holds }) => !holds).length, alarms.length)}` +
        `; of what is wrong: ${share(wrong.filter(isAlarm).length, wrong.length)}\n\n`
    )
    if (process.env["ALL"] !== "1") continue
    for (const { holds, kind, sentence, verdict } of found) {
      if (holds !== (verdict === "mentioned") && (holds || verdict === "mentioned" || process.env["QUIET"] !== "1")) {
        process.stdout.write(`${kind}: ${verdict}: ${sentence}\n`)
      }
    }
  }
}

await main(process.argv.slice(2))
