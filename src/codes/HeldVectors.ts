import { type SharedMemory, kernels, pageBytes, sharedMemory } from "../runtime/wasm.ts"
import wasm, { type Kernel } from "./cosine.wasm.ts"

const kernelOn = kernels<Kernel>(wasm)

/** Vectors that are scored at once. */
const batch = 1024

const free = -1

/** The sum of squares as the kernel sums them. */
const squareOf = (vector: Float32Array): number => {
  let sum = 0
  for (const value of vector) sum = Math.fround(sum + Math.fround(value * value))
  return sum
}

/** The width, filled up to a multiple of 4. */
const filledTo = (width: number): number => 4 * Math.ceil(width / 4)

/** How many vectors of a width there is room for in so many bytes. */
export const roomFor = (width: number, mostBytes: number): number =>
  Math.max(batch, Math.floor(mostBytes / (4 * filledTo(width))))

/** Vectors of one width in memory, by the numbers of their passages; a new one takes the place of the oldest. */
export class HeldVectors {
  /** How many there is room for. */
  readonly most: number
  private readonly places = new Map<number, number>()
  private readonly owners: Float64Array
  /** Each one's collection. */
  private readonly homes: Float64Array
  private readonly memory: SharedMemory
  private readonly kernel: Kernel
  private readonly filled: number
  private readonly base: number
  private readonly indexes = new Int32Array(batch)
  private bytes: Uint8Array
  private next = 0

  constructor(
    readonly width: number,
    mostBytes: number
  ) {
    this.filled = filledTo(width)
    this.most = roomFor(width, mostBytes)
    this.owners = new Float64Array(this.most).fill(free)
    this.homes = new Float64Array(this.most)
    // The query, what is taken off, the numbers of the rows, and for each its product and its square.
    this.base = 4 * (2 * this.filled + 3 * batch)
    const end = this.base + 4 * this.filled * this.most
    this.memory = sharedMemory(Math.ceil(this.base / pageBytes), Math.ceil(end / pageBytes))
    this.kernel = kernelOn(this.memory)
    this.bytes = new Uint8Array(this.memory.buffer)
  }

  /** Each passage's place here, if it is one of this collection; -1: it is not here. */
  placesOf(passages: ArrayLike<number>, home = 0): Int32Array {
    const places = new Int32Array(passages.length)
    for (let at = 0; at < places.length; at++) {
      const place = this.places.get(passages[at]!) ?? -1
      places[at] = place === -1 || this.homes[place] !== home ? -1 : place
    }
    return places
  }

  /** Forgets all. */
  clear(): void {
    this.places.clear()
    this.owners.fill(free)
    this.next = 0
  }

  /** A passage's place: its own, or the oldest one's. */
  private placeOf(passage: number): number {
    const known = this.places.get(passage)
    if (known !== undefined) return known
    const place = this.next
    this.next = (place + 1) % this.most
    const owner = this.owners[place]!
    if (owner !== free) this.places.delete(owner)
    this.owners[place] = passage
    this.places.set(passage, place)
    return place
  }

  /** Adds a vector, as little-endian bytes, of a passage of a collection. */
  add(passage: number, vector: Uint8Array, home = 0): void {
    const place = this.placeOf(passage)
    this.homes[place] = home
    const at = this.base + 4 * this.filled * place
    const end = at + 4 * this.filled
    if (end > this.bytes.length) {
      const missing = Math.ceil((end - this.bytes.length) / pageBytes)
      const whole = Math.ceil((this.base + 4 * this.filled * this.most - this.bytes.length) / pageBytes)
      this.memory.grow(Math.min(whole, Math.max(missing, Math.ceil(this.bytes.length / pageBytes / 4))))
      this.bytes = new Uint8Array(this.memory.buffer)
    }
    this.bytes.set(vector, at)
  }

  /**
   * The cosines of the vectors at these places, less `off`, with another; NaN without a direction. `use` gets the index of
   * each in the list, and its cosine; those that are not here are left out.
   */
  cosines(
    places: Int32Array,
    { off, toward }: { readonly toward: Float32Array; readonly off?: Float32Array | undefined },
    use: (at: number, cosine: number) => void
  ): void {
    const { base, filled, kernel } = this
    const [offAt, rowsAt] = [4 * filled, 8 * filled]
    const outAt = rowsAt + 4 * batch
    const floats = new Float32Array(this.memory.buffer, 0, base / 4)
    const rows = new Uint32Array(this.memory.buffer, rowsAt, batch)
    floats.set(toward)
    if (off !== undefined) floats.set(off, filled)
    const length = Math.sqrt(squareOf(toward))
    for (let from = 0; from < places.length;) {
      let count = 0
      for (; count < batch && from < places.length; from++) {
        if (places[from] === -1) continue
        this.indexes[count] = from
        rows[count++] = places[from]!
      }
      rows.fill(0, count, 4 * Math.ceil(count / 4))
      kernel.products(rowsAt, count, base, filled, 0, off === undefined ? 0 : offAt, outAt, batch)
      for (let row = 0; row < count; row++) {
        const both = floats[outAt / 4 + row]!
        const square = floats[outAt / 4 + batch + row]!
        // sqlite-vec gives the distance in single precision.
        use(this.indexes[row]!, 1 - Math.fround(1 - both / (Math.sqrt(square) * length)))
      }
    }
  }
}
