/** WebAssembly memory that threads may share; structured cloning can transfer it. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
  readonly grow: (pages: number) => number
}

/** Neither ECMAScript's types nor Node's declare all of it. */
const { Instance, Memory, Module } = (
  globalThis as unknown as {
    readonly WebAssembly: {
      readonly Memory: new (of: { initial: number; maximum: number; shared: true }) => SharedMemory
      readonly Module: new (bytes: Uint8Array) => object
      readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
    }
  }
).WebAssembly

export const pageBytes = 65_536

/** A gibibyte, of addresses only until it is used. */
export const gibibyte = 16_384

/** A memory of this many pages, and the most that it may grow to, which are reserved but only used as it grows. */
export const sharedMemory = (initial: number, maximum: number): SharedMemory =>
  new Memory({ initial, maximum, shared: true })

/** Instances of a kernel given in base64, which is compiled for the first one. */
export const kernels = <Kernel>(wasm: string): ((memory: SharedMemory) => Kernel) => {
  let compiled: object | undefined
  return (memory) =>
    new Instance((compiled ??= new Module(Buffer.from(wasm, "base64"))), { env: { memory } }).exports as Kernel
}
