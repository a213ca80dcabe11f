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

/** 16-bit floats with this many bits of exponent and fraction, as 32-bit ones. */
const widened = (bits: Uint16Array, exponentBits: number, fractionBits: number): Float32Array => {
  const bias = 2 ** (exponentBits - 1) - 1
  const special = 2 ** exponentBits - 1
  const table = Float32Array.from({ length: 65_536 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1
    const exponent = (bits & 0x7fff) >> fractionBits
    const fraction = (bits & (2 ** fractionBits - 1)) / 2 ** fractionBits
    if (exponent === special) return fraction === 0 ? sign * Infinity : NaN
    return sign * (exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias))
  })
  const values = new Float32Array(bits.length)
  for (let i = 0; i < bits.length; i++) values[i] = table[bits[i]!]!
  return values
}

export type Numbers = Int8Array | Float32Array | Float64Array

export const floatTypes = "F32, F16, BF16, F64"

/** A tensor of real numbers; undefined for any other element type. */
export const numbersOf = ({ bytes: { buffer, byteLength, byteOffset }, dtype }: Tensor): Numbers | undefined => {
  switch (dtype) {
    case "I8":
      return new Int8Array(buffer, byteOffset, byteLength)
    case "F32":
      return new Float32Array(buffer, byteOffset, byteLength / 4)
    case "F64":
      return new Float64Array(buffer, byteOffset, byteLength / 8)
    case "F16":
      return widened(new Uint16Array(buffer, byteOffset, byteLength / 2), 5, 10)
    case "BF16":
      return widened(new Uint16Array(buffer, byteOffset, byteLength / 2), 8, 7)
    default:
      return undefined
  }
}

/** The index of the first NaN or infinite value, -1 without one. */
export const firstNotFinite = (values: Numbers): number => {
  if (values instanceof Int8Array) return -1
  for (let i = 0; i < values.length; i++) if (values[i]! - values[i]! !== 0) return i
  return -1
}

/** Token ids to rows; undefined if the tensor does not contain integers. */
export const integersOf = ({ bytes: { buffer, byteLength, byteOffset }, dtype }: Tensor): Int32Array | undefined => {
  if (dtype === "I32") return new Int32Array(buffer, byteOffset, byteLength / 4)
  if (dtype !== "I64") return undefined
  return Int32Array.from(new BigInt64Array(buffer, byteOffset, byteLength / 8), (value) =>
    value > 0x7fffffffn || value < -1n ? -1 : Number(value)
  )
}
