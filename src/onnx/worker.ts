import * as Either from "effect/Either"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"
import { parentPort, workerData } from "node:worker_threads"
import { numbersOf, parse as parseTensors } from "../packaged/model2vec/safetensors.ts"
import { parseWhole, type Template, type WholeTokenizer } from "../tokenizer/tokenizer.ts"
import type { Numbered } from "../runtime/workers.ts"
import type { Answer, Job, Jobs, Spec } from "./Model.ts"

/** What is used of onnxruntime-node. Its `run` is asynchronous by name only, hence this thread. */
interface Runtime {
  readonly Tensor: new (type: "int64", data: BigInt64Array, shape: ReadonlyArray<number>) => Tensor
  readonly InferenceSession: { readonly create: (file: string, options: object) => Promise<Session> }
}
interface Tensor {
  readonly type: string
  readonly dims: ReadonlyArray<number>
  readonly data: unknown
}
interface Session {
  readonly inputNames: ReadonlyArray<string>
  readonly outputNames: ReadonlyArray<string>
  readonly run: (feeds: Record<string, Tensor>, outputs: ReadonlyArray<string>) => Promise<Record<string, Tensor>>
}

/** A failure to tell the user as it is. */
class ModelFault extends Error {}

const spec = workerData as Spec

const runtimePackage = "onnxruntime-node"

const loadRuntime = (): Runtime => {
  try {
    // Not an import, so that NODE_PATH may name where it is.
    return createRequire(import.meta.url)(runtimePackage) as Runtime
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new ModelFault(
      code === "MODULE_NOT_FOUND"
        ? `${runtimePackage}, which runs models in ONNX, is not installed: run \`${spec.install}\` (300 MB)`
        : `${runtimePackage} cannot be loaded: ${message.split("\n")[0]}`
    )
  }
}

/** A linear layer: rows of weights, one for each dimension out. */
const loadDense = ({ file, tanh }: Spec["dense"][number]) => {
  const tensors = Either.getOrThrowWith(parseTensors(fs.readFileSync(file)), (why) => new ModelFault(`${file}: ${why}`))
  const floats = (name: string) => {
    const tensor = tensors.get(name)
    const numbers = tensor && numbersOf(tensor)
    return numbers && { shape: tensor.shape, values: new Float32Array(numbers) }
  }
  const weights = floats("linear.weight")
  const bias = floats("linear.bias")?.values
  const [rows = 0, columns = 0] = weights?.shape ?? []
  if (weights === undefined || weights.shape.length !== 2) throw new ModelFault(`${file} has no tensor linear.weight`)
  const apply = (vector: Float32Array): Float32Array => {
    if (vector.length !== columns) throw new ModelFault(`${file} takes ${columns} dimensions, not ${vector.length}`)
    return Float32Array.from({ length: rows }, (_, row) => {
      let sum = bias?.[row] ?? 0
      for (let at = 0; at < columns; at++) sum += weights.values[row * columns + at]! * vector[at]!
      return tanh ? Math.tanh(sum) : sum
    })
  }
  return { apply, isLinear: !tanh && bias === undefined }
}

const lengthOf = (vector: Float32Array): number => Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))

/** The sum of the rows of a [tokens, width] tensor, divided by `by`. */
const sumOf = (values: Float32Array, width: number, by: number): Float32Array => {
  const sums = new Float64Array(width)
  for (let at = 0; at < values.length; at += width) for (let d = 0; d < width; d++) sums[d]! += values[at + d]!
  return Float32Array.from(sums, (sum) => sum / by)
}

/** The texts of a template, with the special tokens around them. */
const filled = (template: Template, a: ReadonlyArray<number>, b: ReadonlyArray<number>) => {
  const ids: Array<number> = []
  const types: Array<number> = []
  for (const place of template) {
    const part = place.ids === "A" ? a : place.ids === "B" ? b : place.ids
    for (const id of part) {
      ids.push(id)
      types.push(place.type)
    }
  }
  return { ids, types }
}

const specialIn = (template: Template): number => filled(template, [], []).ids.length

/** Files that hold a model's weights beside it, by the names that exporters give them. */
const weightsBeside = (onnx: string): ReadonlyArray<string> =>
  fs
    .readdirSync(path.dirname(onnx))
    .filter((file) => file.startsWith(path.basename(onnx)))
    .filter((file) => /^[._]data(?:_\d+)?$/.test(file.slice(path.basename(onnx).length)))
    .sort()
    .map((file) => path.join(path.dirname(onnx), file))

/** SHA-256 over files and settings. */
const hashOf = async (files: ReadonlyArray<string>, settings: string): Promise<string> => {
  const hash = createHash("sha256").update(settings)
  for (const file of files) {
    // oxlint-disable-next-line no-await-in-loop -- one file after another
    for await (const piece of fs.createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(piece as Buffer)
  }
  return hash.digest("hex").slice(0, 8)
}

const inputsOf: Readonly<Record<string, (ids: ReadonlyArray<number>, types: ReadonlyArray<number>) => BigInt64Array>> =
  {
    input_ids: (ids) => BigInt64Array.from(ids, BigInt),
    attention_mask: (ids) => new BigInt64Array(ids.length).fill(1n),
    token_type_ids: (_, types) => BigInt64Array.from(types, BigInt),
    position_ids: (ids) => BigInt64Array.from(ids, (_, at) => BigInt(at))
  }

const load = async () => {
  const runtime = loadRuntime()
  let tokenizer: WholeTokenizer
  try {
    tokenizer = Either.getOrThrowWith(
      parseWhole(fs.readFileSync(spec.tokenizer)),
      ({ reason }) => new ModelFault(`${spec.tokenizer}: ${reason}`)
    )
  } catch (error) {
    throw error instanceof ModelFault
      ? error
      : new ModelFault(`${spec.tokenizer} cannot be read: ${(error as Error).message}`)
  }
  const files = [spec.onnx, ...weightsBeside(spec.onnx), spec.tokenizer]
  const dense = spec.dense.map(loadDense)
  // The size of the mean matters to other layers than linear ones. They once got the sum, hence another hash.
  const needsMean = spec.pooling === "mean" && !dense.every(({ isLinear }) => isLinear)
  const hash = await hashOf(
    [...files, ...spec.dense.map(({ file }) => file)],
    JSON.stringify([spec.pooling, spec.window, spec.dense.map(({ tanh }) => tanh), ...(needsMean ? ["divided"] : [])])
  )
  const session = await runtime.InferenceSession.create(spec.onnx, {
    executionProviders: ["cpu"],
    intraOpNumThreads: spec.threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
    extra: { session: { intra_op: { allow_spinning: "0" } } }
  })
  const unknown = session.inputNames.find((name) => !Object.hasOwn(inputsOf, name))
  if (unknown !== undefined) {
    throw new ModelFault(`${spec.onnx} asks for ${unknown}: it is not a model that embeds or compares texts`)
  }
  // Pooled already, where the export did so.
  const output = ["sentence_embedding", "last_hidden_state", "token_embeddings", "logits"].find((name) =>
    session.outputNames.includes(name)
  )
  return {
    tokenizer,
    hash,
    session,
    runtime,
    output: output ?? session.outputNames[0]!,
    dense,
    needsMean
  }
}

let loading: ReturnType<typeof load> | undefined
let isLoaded = false

const run = async (template: "single" | "pair", a: ReadonlyArray<number>, b: ReadonlyArray<number> = []) => {
  const { output, runtime, session, tokenizer } = await loading!
  const { ids, types } = filled(tokenizer[template], a, b)
  const feeds: Record<string, Tensor> = {}
  for (const name of session.inputNames) {
    feeds[name] = new runtime.Tensor("int64", inputsOf[name]!(ids, types), [1, ids.length])
  }
  const tensor = (await session.run(feeds, [output]))[output]!
  if (!(tensor.data instanceof Float32Array))
    throw new ModelFault(`${spec.onnx} gives ${tensor.type}; Clew reads float32`)
  return { values: tensor.data, dims: tensor.dims }
}

/** The vector of tokens that fit into the window; undefined if it has no direction. */
const vectorOf = async (ids: ReadonlyArray<number>): Promise<Float32Array> => {
  const { dense, needsMean } = await loading!
  const { dims, values } = await run("single", ids)
  const width = dims.at(-1) ?? 0
  const pooled =
    dims.length === 2
      ? values
      : spec.pooling === "cls"
        ? values.subarray(0, width)
        : spec.pooling === "last"
          ? values.subarray(values.length - width)
          : // As directions, the sum and the mean are the same.
            sumOf(values, width, needsMean ? values.length / width : 1)
  // An export that pools has these layers within.
  const whole = dims.length === 2 ? pooled : dense.reduce((vector, { apply }) => apply(vector), pooled)
  const length = lengthOf(whole)
  return length > 0 && length < Infinity ? whole.map((value) => value / length) : new Float32Array(whole.length)
}

/** The share of tokens that the vocabulary knows, 0 to 1; 1 without any. */
const knownIn = ({ unknownId }: WholeTokenizer, ids: ReadonlyArray<number>): number =>
  ids.length === 0 ? 1 : ids.filter((id) => id !== unknownId).length / ids.length

const embed = async ({ prefix, text }: Jobs["embed"]["of"]): Promise<Jobs["embed"]["gives"]> => {
  const { tokenizer } = await loading!
  const ids = tokenizer.encode(text)
  if (knownIn(tokenizer, ids) === 0) return { vector: undefined, parts: 1 }
  const whole = tokenizer.encode(prefix + text)
  const window = Math.max(1, spec.window - specialIn(tokenizer.single))
  const before = whole.length > window ? tokenizer.encode(prefix) : []
  const room = Math.max(1, window - before.length)
  const parts = whole.length > window ? Math.ceil(ids.length / room) : 1
  const size = Math.ceil(ids.length / parts)
  let sum: Float32Array | undefined
  for (let part = 0; part < parts; part++) {
    const some = parts === 1 ? whole : [...before, ...ids.slice(part * size, (part + 1) * size)]
    // oxlint-disable-next-line no-await-in-loop -- one run at a time
    const vector = await vectorOf(some)
    const weighed = parts === 1 ? vector : vector.map((value) => value * some.length)
    sum = sum === undefined ? weighed : sum.map((value, d) => value + weighed[d]!)
  }
  const vector = sum!.slice(0, spec.dimensions ?? sum!.length)
  const length = lengthOf(vector)
  return { vector: length > 0 ? vector.map((value) => value / length) : undefined, parts }
}

/** How well a text answers a query: the model's one logit, or the second less the first. */
const score = async ({ query, text }: Jobs["score"]["of"]): Promise<number> => {
  const { tokenizer } = await loading!
  const room = Math.max(2, spec.window - specialIn(tokenizer.pair))
  const question = tokenizer.encode(query).slice(0, room >> 1)
  const { dims, values } = await run("pair", question, tokenizer.encode(text).slice(0, room - question.length))
  if (dims.length > 2 || values.length > 2) {
    throw new ModelFault(`${spec.onnx} gives a tensor of ${dims.join(" × ")}: it does not score a query with a text`)
  }
  return values.length === 2 ? values[1]! - values[0]! : values[0]!
}

const open = async (): Promise<Jobs["open"]["gives"]> => {
  const { hash } = await loading!
  if (spec.scores) {
    await score({ query: "a", text: "b" })
    return { hash, dimensions: 1 }
  }
  const { dims } = await run("single", (await loading!).tokenizer.encode("width"))
  if ((await loading!).output === "logits" || (dims.length !== 2 && dims.length !== 3)) {
    throw new ModelFault(`${spec.onnx} gives a tensor of ${dims.join(" × ")}: it does not embed texts`)
  }
  const vector = await vectorOf((await loading!).tokenizer.encode("width"))
  if (vector.every((value) => value === 0)) {
    throw new ModelFault(`${spec.onnx} gives no direction for a text: the file is damaged, copy it again`)
  }
  return { hash, dimensions: vector.length }
}

const done: { readonly [K in keyof Jobs]: (of: Jobs[K]["of"]) => Promise<Jobs[K]["gives"]> } = {
  open,
  embed,
  score,
  known: async (text) => {
    const { tokenizer } = await loading!
    return knownIn(tokenizer, tokenizer.encode(text))
  },
  count: async (texts) => {
    const { tokenizer } = await loading!
    return texts.map((text) => tokenizer.encode(text).length + specialIn(tokenizer.single))
  }
}

const answer = async <K extends keyof Jobs>({ kind, of }: Job<K>): Promise<Answer> => {
  try {
    loading ??= load()
    await loading
    isLoaded = true
    return { gives: await done[kind](of) }
  } catch (error) {
    if (!isLoaded) loading = undefined
    if (error instanceof ModelFault) return { failed: error.message }
    const why = String((error as Error).message ?? error).split("\n")[0]!
    const next = why.includes("Protobuf parsing failed")
      ? "the file is not a model in ONNX, or is damaged (or a pointer of Git LFS: `git lfs pull` brings the file); copy it again"
      : why
    return { failed: `${spec.onnx} cannot be run: ${next}` }
  }
}

parentPort!.on("message", (job: Numbered<Job>) => {
  void answer(job).then((answered) => parentPort!.postMessage({ ...answered, id: job.id }))
})
