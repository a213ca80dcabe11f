import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { availableParallelism } from "node:os"
import { normalize, sep } from "node:path"
import { replaced } from "../runtime/installation.ts"
import { once } from "../runtime/once.ts"
import { inPackage } from "../runtime/packaged.ts"
import { makeTurns } from "../runtime/Turn.ts"
import { oneByOne, startWorker } from "../runtime/workers.ts"
import { type ModelFolder, ModelUnusable, read } from "./folder.ts"

/** What the thread of a model gets. */
export interface Spec extends ModelFolder {
  readonly threads: number
  /** Dimensions to keep of each vector; undefined: all. */
  readonly dimensions: number | undefined
  /** Whether the model scores a query with a text, instead of embedding texts. */
  readonly scores: boolean
  /** The command that installs the package that runs it. */
  readonly install: string
}

/** What the thread does, by job and answer. */
export interface Jobs {
  open: {
    readonly of: true
    /** The hash is 8 hex digits over weights, tokenizer and what else determines a vector. */
    readonly gives: { readonly hash: string; readonly dimensions: number }
  }
  embed: {
    readonly of: { readonly prefix: string; readonly text: string }
    /**
     * The vector is L2-normalised, undefined without a direction; a text longer than the window is read in several parts,
     * each with the prefix.
     */
    readonly gives: { readonly vector: Float32Array | undefined; readonly parts: number }
  }
  /** The share of a text's tokens that the vocabulary knows, 0 to 1. */
  known: { readonly of: string; readonly gives: number }
  /** Tokens of texts, with the special ones. */
  count: { readonly of: ReadonlyArray<string>; readonly gives: ReadonlyArray<number> }
  /** How well a text answers a query. */
  score: { readonly of: { readonly query: string; readonly text: string }; readonly gives: number }
}
export interface Job<K extends keyof Jobs = keyof Jobs> {
  readonly kind: K
  readonly of: Jobs[K]["of"]
}
export type Answer = { readonly failed: string } | { readonly gives: Jobs[keyof Jobs]["gives"] }

export interface ModelOptions {
  /** A model's folder, or one .onnx file in it. */
  readonly folder: string
  /** Processor cores; auto: half of them, at most four. */
  readonly threads: number | "auto"
  readonly dimensions?: number | undefined
  readonly scores?: boolean
}

/** The package's major version that Clew is tested with. */
const runtime = "onnxruntime-node@1"

/** npm finds packages beside Clew's own folder, wherever it has put that. Its script would only download CUDA. */
const install = (): string => {
  const own = normalize(inPackage("."))
  const folders = own.split(sep)
  const at = folders.lastIndexOf("node_modules")
  const prefix = (folder: string) => `--prefix ${/\s/.test(folder) ? `"${folder}"` : folder}`
  const where =
    at === -1
      ? `--no-save ${prefix(own)}`
      : folders[at - 1] === "lib"
        ? "--global"
        : prefix(folders.slice(0, at).join(sep))
  return `npm install ${where} --ignore-scripts ${runtime}`
}

const entry = { source: "onnx/worker.ts", built: "onnxWorker.js" }

/** An opened model. */
export interface Model {
  readonly folder: ModelFolder
  readonly threads: number
  readonly hash: string
  readonly dimensions: number
  /** Before all that is asked patiently. Waiting can be interrupted. */
  readonly urgent: Ask
  readonly patient: Ask
}
type Ask = <K extends keyof Jobs>(kind: K, of: Jobs[K]["of"]) => Effect.Effect<Jobs[K]["gives"], ModelUnusable>

/**
 * A model that runs in a thread of its own, which starts at the first use. It reads one text at a time: that is as fast
 * as a batch, a vector does not depend on its neighbours, and a query waits for one text at most.
 */
export const make = (options: ModelOptions): Effect.Effect<Effect.Effect<Model, ModelUnusable>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) =>
    once(
      Effect.gen(function* () {
        const folder = yield* read(options.folder)
        const threads =
          options.threads === "auto" ? Math.min(4, Math.max(1, availableParallelism() >> 1)) : options.threads
        const spec: Spec = {
          ...folder,
          threads,
          dimensions: options.dimensions,
          scores: options.scores ?? false,
          install: install()
        }
        const run = yield* oneByOne<Job, Answer>({
          spawn: () => startWorker(entry, spec),
          broken: (why) => ({
            failed:
              replaced() ??
              `${folder.onnx}: its thread ended with ${typeof why === "number" ? `code ${why}` : why.message}`
          })
        })
        const turns = makeTurns(1)
        const ask =
          (turn: (typeof turns)["urgent"]): Ask =>
          <K extends keyof Jobs>(kind: K, of: Jobs[K]["of"]) =>
            // Interrupting a run would end the thread, and the next one would have to load the model again.
            turn(Effect.uninterruptible(run({ kind, of }))).pipe(
              Effect.flatMap((answer) =>
                "failed" in answer
                  ? new ModelUnusable({ reason: answer.failed })
                  : Effect.succeed(answer.gives as Jobs[K]["gives"])
              )
            )
        const urgent = ask(turns.urgent)
        return { folder, threads, ...(yield* urgent("open", true)), urgent, patient: ask(turns.patient) }
      }).pipe(Effect.provideService(Scope.Scope, scope))
    )
  )
