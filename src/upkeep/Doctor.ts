import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Struct from "effect/Struct"
import type { Vector } from "../model/Passage.ts"
import type { CollectionSummary } from "../model/Collection.ts"
import { describeEmbedder, sameEmbedder } from "../model/Collection.ts"
import { type Check, fail, ok, warn } from "../model/Check.ts"
import type { Embedder } from "../Embedder.ts"
import { Embedders } from "../Embedders.ts"
import { embeddedText } from "../chunking/embedded.ts"
import { type Cure, Examiner, type Finding, type StoreUnavailable, type Told } from "../Store.ts"
import { dot } from "../model/numbers.ts"

const page = 256

/** The least cosine of two vectors of one text by one model, which differ only by rounding. */
const closeEnough = 0.999

const cosine = (a: Vector, b: Vector): number => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))

export interface Report {
  readonly checks: ReadonlyArray<Check>
  /** With `fix`: the copy made before, and what was done. */
  readonly copy?: string | undefined
  readonly fixed: ReadonlyArray<string>
}

type Service = Embedder["Type"]

interface Options {
  /** Embeds every passage again and compares. */
  readonly deep: boolean
  /** Repairs, then checks again. */
  readonly fix: boolean
  /** Hears of the progress. */
  readonly told: Told
}

type Asked = Omit<Options, "told"> & { readonly told?: Told | undefined }

/** Only an index of this version is salvaged, or one that can be brought up to date. */
const tooDamaged = fail(
  "repair",
  "the index is of an older Clew, and too damaged to be brought up to date; its documents are as they were",
  "restore a backup, or index into a new file"
)

/** Examines an index, checks its embedders, and repairs what can be rebuilt. It never deletes a document. */
export class Doctor extends Effect.Service<Doctor>()("clew/Doctor", {
  effect: Effect.gen(function* () {
    const examiner = yield* Examiner
    const embedders = yield* Embedders

    const embed = (
      service: Service,
      { making }: CollectionSummary["embedder"],
      passages: ReadonlyArray<Parameters<typeof embeddedText>[1] & { readonly title: string | undefined }>
    ) => service.embedPassages(passages.map((passage) => embeddedText(passage.title, passage, making)))

    /** What to record of passages without a vector: the one they should have, or that they rightly have none. */
    const unrecorded = Effect.fnUntraced(function* (
      service: Service,
      { embedder, id, name }: CollectionSummary,
      told: Told
    ) {
      const missing: Array<Parameters<typeof examiner.putVectors>[1][number] & { readonly isKnown: boolean }> = []
      for (let after = 0; ;) {
        const passages = yield* examiner.unembedded(id, after, page)
        const last = passages.at(-1)
        if (last === undefined) return missing
        after = last.id
        yield* told(`passages of ${name} without a vector`)
        const vectors = yield* embed(service, embedder, passages)
        passages.forEach(({ id, isKnown }, at) => {
          const vector = vectors[at]!
          if (Option.isSome(vector) || !isKnown) missing.push({ id, isKnown, vector })
        })
      }
    })

    /** Passages whose vector differs from what the embedder gives for their text. */
    const deviating = Effect.fnUntraced(function* (
      service: Service,
      { embedder, id, name, passages: total }: CollectionSummary,
      told: Told
    ) {
      const found: Array<number> = []
      let done = 0
      for (let after = -1; ;) {
        const passages = yield* examiner.embedded(id, after, page)
        const last = passages.at(-1)
        if (last === undefined) return found
        after = last.id
        yield* told(`vectors of ${name}, embedded again`, { done: (done += passages.length), total })
        const vectors = yield* embed(service, embedder, passages)
        passages.forEach((passage, at) => {
          const vector = Option.getOrUndefined(vectors[at]!)
          if (vector === undefined || !(cosine(vector, passage.vector) >= closeEnough)) found.push(passage.id)
        })
      }
    })

    const vectorsOf = (collection: CollectionSummary, { deep, fix, told }: Options) =>
      Effect.gen(function* () {
        const { embedder, name } = collection
        yield* told(`embedder of ${name}`)
        const service = yield* embedders.forCollection(collection)
        const missing = yield* unrecorded(service, collection, told)
        if (fix && missing.length > 0) yield* examiner.putVectors(collection.id, missing)
        const wrong = deep ? yield* deviating(service, collection, told) : []
        const cure: Cure = { _tag: "Vectors", collection: collection.id, passages: wrong }
        const languages =
          embedder.backend === "onnx" ? yield* service.languages ?? Effect.succeed(undefined) : undefined
        const ofLanguages =
          languages === undefined ? "" : `; its model card names the languages ${languages.join(", ")}`
        const findings: Array<Finding> = [
          ok("embedder", `collection ${name}: ${describeEmbedder(embedder)} answers${ofLanguages}`)
        ]
        if (embedder.making !== undefined) {
          findings.push(
            warn(
              "embedder",
              `collection ${name}: its vectors are made as an older Clew made them, the new ones too`,
              `run \`clew reindex -c ${name}\`, which makes all of them as they are made now`
            )
          )
        }
        const usual = embedders.prefixesOf(embedder)
        for (const [of, recorded, expected] of [
          ["questions", embedder.queryPrefix, usual.query],
          ["passages", embedder.passagePrefix, usual.passage]
        ] as const) {
          if (recorded === expected) continue
          findings.push(
            warn(
              "embedder",
              `collection ${name}: ${JSON.stringify(recorded)} stands before ${of}, in a new collection ${JSON.stringify(expected)} would`,
              "if that is right, set it in [embedding]; else run `clew reindex`"
            )
          )
        }
        if (missing.length > 0 && !fix) {
          const fixing = "run `clew doctor --fix`"
          const lacking = `collection ${name}: ${missing.length} passages have no vector`
          findings.push(
            embedder.making !== undefined && missing.every(({ isKnown }) => isKnown)
              ? warn("vectors", `${lacking}: an older Clew made none, or lost them`, fixing)
              : missing.some(({ vector }) => Option.isSome(vector))
                ? fail("vectors", lacking, fixing)
                : fail(
                    "vectors",
                    `collection ${name}: ${missing.length} passages without a vector are not recorded as such`,
                    fixing
                  )
          )
        }
        if (wrong.length > 0) {
          const detail = `collection ${name}: ${wrong.length} vectors differ from what the embedder gives for their texts`
          findings.push({ ...fail("vectors", detail, "run `clew doctor --deep --fix`"), cure })
        }
        return { findings, made: fix ? missing.length : 0 }
      }).pipe(
        Effect.catchAll((error) =>
          Effect.succeed({
            findings: [
              fail(
                error._tag === "StoreUnavailable" ? "vectors" : "embedder",
                `collection ${collection.name}: ${error.message}`,
                error._tag === "StoreUnavailable"
                  ? "run `clew doctor --fix`"
                  : "start the embedder, or set [embedding] in the configuration; `clew reindex` switches to another"
              )
            ] as ReadonlyArray<Finding>,
            made: 0
          })
        )
      )

    const embedderForNew = (known: ReadonlyArray<CollectionSummary>) =>
      Effect.match(embedders.configured.identity, {
        onSuccess: (identity): ReadonlyArray<Finding> =>
          known.some(({ embedder }) => sameEmbedder(embedder, identity))
            ? []
            : [ok("embedder", `the embedder for new collections, ${describeEmbedder(identity)}, answers`)],
        onFailure: ({ message }): ReadonlyArray<Finding> => [
          fail(
            "embedder",
            `the embedder for new collections: ${message}`,
            "start the embedder, or set [embedding] in the configuration"
          )
        ]
      })

    const examine = Effect.fnUntraced(function* (options: Options) {
      const findings: Array<Finding> = [...(yield* examiner.examine(options.told))]
      // If the index cannot be read, skip its vectors.
      const known = yield* Effect.orElseSucceed(examiner.collections, () => [])
      let made = 0
      for (const collection of known) {
        const vectors = yield* vectorsOf(collection, options)
        findings.push(...vectors.findings)
        made += vectors.made
      }
      // A collection's embedder that does not answer is already reported.
      if (!findings.some(({ name, status }) => name === "embedder" && status === "fail")) {
        findings.push(...(yield* embedderForNew(known)))
      }
      return { findings, made }
    })

    const checksOf = (findings: ReadonlyArray<Finding>): ReadonlyArray<Check> => findings.map(Struct.omit("cure"))

    const curesOf = (findings: ReadonlyArray<Finding>): ReadonlyArray<Cure> =>
      findings.flatMap(({ cure }) => (cure === undefined ? [] : [cure]))

    const mended = Effect.fnUntraced(function* (cures: ReadonlyArray<Cure>, deep: boolean, told: Told) {
      yield* told("repairs")
      // Of whom documents become whose collection is lost.
      const configured = cures.some(({ _tag }) => _tag === "Rows")
        ? Option.getOrUndefined(yield* Effect.option(embedders.configured.identity))
        : undefined
      const done = cures.length > 0 ? yield* examiner.mend(cures, configured) : []
      const { made } = yield* examine({ deep: false, fix: true, told })
      const last = yield* examine({ deep, fix: false, told })
      return {
        checks: checksOf(last.findings),
        done: made > 0 ? [...done, `${made} vectors were embedded again`] : done
      }
    })

    /** Examines and repairs; an index of an older version must be brought up to date before anything else is repaired. */
    const look = (options: Options, copied?: string): Effect.Effect<Report, StoreUnavailable> =>
      Effect.gen(function* () {
        const { deep, fix, told } = options
        const { findings } = yield* examine({ deep, fix: false, told })
        const isWell = findings.every(({ status }) => status === "ok")
        const cures = curesOf(findings)
        const lacksVectors = findings.some(({ cure, name, status }) => name === "vectors" && status !== "ok" && !cure)
        if (!fix || isWell || (cures.length === 0 && !lacksVectors)) return { checks: checksOf(findings), fixed: [] }
        return yield* Effect.gen(function* () {
          if (cures.some(({ _tag }) => _tag === "Migrate")) {
            const copy = yield* examiner.copy
            if (!(yield* examiner.migrate)) return { checks: [...checksOf(findings), tooDamaged], copy, fixed: [] }
            const report = yield* look(options, copy)
            return { ...report, copy, fixed: ["the index of an older version was brought up to date", ...report.fixed] }
          }
          if (cures.some(({ _tag }) => _tag === "Salvage")) {
            const salvaged = yield* examiner.salvage
            const left = yield* examine({ deep: false, fix: false, told })
            const { checks, done } = yield* mended(curesOf(left.findings), deep, told)
            return { checks, copy: salvaged.kept, fixed: [...salvaged.done, ...done] }
          }
          const copy = copied ?? (yield* examiner.copy)
          const { checks, done } = yield* mended(cures, deep, told)
          return { checks, copy, fixed: done }
        }).pipe(
          Effect.catchTag("StoreUnavailable", ({ reason }) =>
            Effect.succeed({ checks: [...checksOf(findings), fail("repair", `it broke off: ${reason}`)], fixed: [] })
          )
        )
      })

    const run = Effect.fn("Doctor.run")(({ told = () => Effect.void, ...options }: Asked) => look({ ...options, told }))

    return { run, origins: examiner.origins }
  })
}) {}
