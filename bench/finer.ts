// How well finer codes rank: of each question's exact best 200 passages, the place of the last one by finer codes.
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"
import { meanOf, offset } from "../src/codes/encoder.ts"
import { finer } from "../src/codes/finer.ts"
import { make } from "../src/Embedder/Builtin.ts"
import { percentile } from "../src/measuring/Benchmark.ts"
import { vectorsIn } from "../src/Store/sql/codes.ts"
import { connect } from "../src/Store/sqlite/connect.ts"

const [index, questions] = process.argv.slice(2)
if (index === undefined || questions === undefined) {
  console.error("usage: npm run bench -- finer INDEX QUERIES.jsonl\n\nINDEX holds vectors of the packaged model.")
  process.exit(2)
}

const [width, best, asked, most] = [256, 200, 200, 200_000]
const Question = Schema.parseJson(Schema.Struct({ text: Schema.String }))
const texts = readFileSync(questions, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .slice(0, asked)
  .map((line) => Schema.decodeSync(Question)(line).text)

const byFallingScore = (scores: Float64Array): ReadonlyArray<number> =>
  Array.from(scores.keys()).sort((a, b) => scores[b]! - scores[a]!)

await Effect.runPromise(
  Effect.gen(function* () {
    const sql = yield* connect({ filename: index, mode: "readonly" })
    const rows = yield* vectorsIn(sql, "vectors_1", { collection: 1, generation: "current" }).after(0, most, width)
    const vectors = rows.map(({ vector }) => vector)
    const centroid = meanOf(vectors, width)
    const { prepare, rowOf, stride } = finer({ width, seed: 1 })
    const codes = new Uint8Array(vectors.length * stride)
    vectors.forEach((vector, row) => codes.set(rowOf(vector, centroid, 1), row * stride))
    const view = new DataView(codes.buffer)
    const lengths = vectors.map((vector) => Math.hypot(...vector))
    const embedder = yield* make()
    const places: Array<number> = []
    for (const query of yield* embedder.embedPassages(texts)) {
      if (Option.isNone(query)) continue
      const given = query.value
      const { groups, step, values } = prepare(given)
      const base = offset(given, centroid)
      const exact = Float64Array.from(vectors, (vector, row) => {
        let dot = 0
        for (let d = 0; d < width; d++) dot += vector[d]! * given[d]!
        return dot / lengths[row]!
      })
      const estimates = Float64Array.from(vectors, (_, row) => {
        let sum = 0
        for (let g = 0; g < groups; g++) {
          for (let i = 0; i < 16; i++) {
            const byte = codes[row * stride + 8 + g * 16 + i]!
            sum += (2 * (byte & 15) - 15) * values[g * 32 + i]! + (2 * (byte >> 4) - 15) * values[g * 32 + 16 + i]!
          }
        }
        return base + view.getFloat32(row * stride, true) * step * sum
      })
      const placeOf = new Map(byFallingScore(estimates).map((row, at) => [row, at + 1]))
      places.push(
        Math.max(
          ...byFallingScore(exact)
            .slice(0, best)
            .map((row) => placeOf.get(row)!)
        )
      )
    }
    places.sort((a, b) => a - b)
    const at = (share: number) => percentile(places, share)
    console.log(
      `${vectors.length} passages, ${places.length} questions: the last of the best ${best} has place ` +
        `${at(0.5)} by finer codes (p90 ${at(0.9)}, p99 ${at(0.99)})`
    )
  }).pipe(Effect.scoped)
)
