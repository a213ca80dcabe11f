import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

const widths = new Map(
  Object.entries({
    BOOL: 1,
    U8: 1,
    I8: 1,
    I16: 2,
    U16: 2,
    F16: 2,
    BF16: 2,
    I32: 4,
    U32: 4,
    F32: 4,
    I64: 8,
    U64: 8,
    F64: 8
  })
)

/** A tensor of a safetensors file; its bytes are little-endian, row by row, and aligned to its elements. */
export interface Tensor {
  readonly dtype: string
  readonly shape: ReadonlyArray<number>
  readonly bytes: Uint8Array
}

export const describe = ({ dtype, shape }: Pick<Tensor, "dtype" | "shape">): string => `${dtype} [${shape.join(", ")}]`

const decodeHeader = Schema.decodeUnknownEither(
  Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
)
const decodeEntry = Schema.decodeUnknownEither(
  Schema.Struct({
    dtype: Schema.String,
    shape: Schema.Array(Schema.NonNegativeInt),
    data_offsets: Schema.Tuple(Schema.NonNegativeInt, Schema.NonNegativeInt)
  })
)

const aligned = (bytes: Uint8Array, width: number): Uint8Array =>
  bytes.byteOffset % width === 0 ? bytes : new Uint8Array(bytes)

/**
 * The tensors of a safetensors file by name, as views of its bytes. The file is the header's length as u64, the header as
 * JSON, then the tensors. Left: the file's problem.
 */
export const parse = (file: Uint8Array): Either.Either<ReadonlyMap<string, Tensor>, string> => {
  const truncated = (needed: number) =>
    Either.left(`it has ${file.length} bytes, but its header asks for ${needed}: the file is truncated, copy it again`)
  if (file.length < 8) return Either.left(`it has ${file.length} bytes, and a safetensors file at least 8`)
  const headerLength = new DataView(file.buffer, file.byteOffset).getBigUint64(0, true)
  if (headerLength > 100_000_000n) return Either.left("it does not begin like a safetensors file")
  const start = 8 + Number(headerLength)
  if (start > file.length) return truncated(start)
  const header = decodeHeader(new TextDecoder().decode(file.subarray(8, start)))
  if (Either.isLeft(header)) return Either.left("its header is not a JSON object: this is not a safetensors file")

  const tensors = new Map<string, Tensor>()
  for (const [name, value] of Object.entries(header.right)) {
    if (name === "__metadata__") continue
    const entry = decodeEntry(value)
    if (Either.isLeft(entry)) return Either.left(`its header does not say the dtype, shape and offsets of ${name}`)
    const {
      data_offsets: [from, to],
      dtype,
      shape
    } = entry.right
    if (start + to > file.length) return truncated(start + to)
    const width = widths.get(dtype)
    const expected = shape.reduce((product, n) => product * n, width ?? 0)
    if (to < from || (width !== undefined && to - from !== expected)) {
      return Either.left(`its tensor ${name}, ${describe(entry.right)}, has ${to - from} bytes, expected ${expected}`)
    }
    tensors.set(name, { dtype, shape, bytes: aligned(file.subarray(start + from, start + to), width ?? 1) })
  }
  return Either.right(tensors)
}
