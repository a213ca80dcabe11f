import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { readFileSync } from "node:fs"
import { supportOf } from "../src/Answer.ts"
import { make } from "../src/Embedder/Builtin.ts"
import { lexicalSupport } from "../src/text/citations.ts"
import { Verdict } from "../src/model/Verdict.ts"
import { verdictOf } from "../src/text/verdict.ts"
import { hit } from "../test/hits.ts"

const kinds = ["true", "paraphrase", "translated", "number", "negated", "name", "invented"] as const

const verdicts = Verdict.literals

type Source = { readonly source: string; readonly text: string } & Readonly<
  Record<(typeof kinds)[number], ReadonlyArray<string>>
>

const holds = new Set<string>(["true", "paraphrase", "translated"])

/** The verdicts on claims about real passages, labelled by hand: a table, and the precision of an alarm. */
const main = async (file: string | undefined): Promise<void> => {
  const path = file ?? new URL("claims/claims.json", import.meta.url)
  const sources = JSON.parse(readFileSync(path, "utf8")) as ReadonlyArray<Source>
  const { embedPassages } = Effect.runSync(make())
  const counts = new Map<string, number>()
  for (const source of sources) {
    const claims = kinds.flatMap((kind) => source[kind].map((sentence) => ({ kind, sentence })))
    const [passage, ...vectors] = await Effect.runPromise(
      embedPassages([source.text, ...claims.map(({ sentence }) => sentence)])
    )
    for (const [at, { kind, sentence }] of claims.entries()) {
      const cosine = Option.zipWith(passage!, vectors[at]!, (a, b) =>
        a.reduce((sum, value, n) => sum + value * b[n]!, 0)
      )
      const support = supportOf(lexicalSupport(sentence, hit({ text: source.text })), cosine)
      const verdict = verdictOf({ sentence, passage: source.text, support })
      counts.set(`${kind} ${verdict}`, (counts.get(`${kind} ${verdict}`) ?? 0) + 1)
      if (process.env["ALL"] === "1" && holds.has(kind) !== (verdict === "supported")) {
        process.stdout.write(`${kind}: ${verdict} (${support.toFixed(2)}) ${sentence}\n`)
      }
    }
  }
  const of = (kind: string, verdict: string) => counts.get(`${kind} ${verdict}`) ?? 0
  process.stdout.write(`| | ${verdicts.join(" | ")} |\n|---|${verdicts.map(() => "---:|").join("")}\n`)
  for (const kind of kinds) process.stdout.write(`| ${kind} | ${verdicts.map((it) => of(kind, it)).join(" | ")} |\n`)
  const alarms = (of: (kind: string) => boolean) =>
    kinds
      .filter(of)
      .reduce(
        (sum, kind) => sum + (counts.get(`${kind} not_found`) ?? 0) + (counts.get(`${kind} contradicted`) ?? 0),
        0
      )
  const right = alarms((kind) => !holds.has(kind))
  const wrong = alarms((kind) => holds.has(kind))
  const all = kinds
    .filter((kind) => !holds.has(kind))
    .reduce((sum, kind) => sum + sources.flatMap((it) => it[kind]).length, 0)
  process.stdout.write(
    `\nprecision of "not found" or "contradicted": ${(right / (right + wrong)).toFixed(3)} (${right} of ${right + wrong}); ` +
      `found of what is wrong: ${(right / all).toFixed(3)} (${right} of ${all})\n`
  )
}

await main(process.argv[2])
