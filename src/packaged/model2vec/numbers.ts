import type { Tensor } from "./safetensors.ts"

/** The values of all 65,536 bit patterns of a 16-bit float with this many bits of exponent and fraction. */
const halves = (exponentBits: number, fractionBits: number): Float32Array => {
  const bias = 2 ** (exponentBits - 1) - 1
  const special = 2 ** exponentBits - 1
  return Float32Array.from({ length: 65_536 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1
    const exponent = (bits & 0x7fff) >> fractionBits
    const fraction = (bits & (2 ** fractionBits - 1)) / 2 ** fractionBits
    if (exponent === special) return fraction === 0 ? sign * Infinity : NaN
    return sign * (exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias))
  })
}

/** Numbers as in the file; with a table, they are indexes into it. */
export interface Numbers {
  readonly values: Int8Array | Uint16Array | Float32Array | Float64Array
  readonly table: Float32Array | undefined
}

export const floatTypes = "F32, F16, BF16, F64"

/** A tensor of real numbers, unconverted; undefined for any other element type. */
export const numbersOf = ({ bytes: { buffer, byteLength, byteOffset }, dtype }: Tensor): Numbers | undefined => {
  switch (dtype) {
    case "I8":
      return { values: new Int8Array(buffer, byteOffset, byteLength), table: undefined }
    case "F32":
      return { values: new Float32Array(buffer, byteOffset, byteLength / 4), table: undefined }
    case "F64":
      return { values: new Float64Array(buffer, byteOffset, byteLength / 8), table: undefined }
    case "F16":
      return { values: new Uint16Array(buffer, byteOffset, byteLength / 2), table: halves(5, 10) }
    case "BF16":
      return { values: new Uint16Array(buffer, byteOffset, byteLength / 2), table: halves(8, 7) }
    default:
      return undefined
  }
}

/** The index of the first NaN or infinite value, -1 without one. */
export const firstNotFinite = ({ table, values }: Numbers): number => {
  if (values instanceof Int8Array) return -1
  for (let i = 0; i < values.length; i++) {
    const value = table === undefined ? values[i]! : table[values[i]!]!
    if (value - value !== 0) return i
  }
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
