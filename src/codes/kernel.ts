import scan from "./scan.wasm.ts"

/** Memory shared between threads; structured cloning can transfer it. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
  readonly grow: (pages: number) => number
}

/** The exports of the compiled `scan.as.ts`; addresses are in bytes. */
export interface Kernel {
  readonly scan: (
    block: number,
    groups: number,
    lines: number,
    tables: number,
    base: number,
    step: number,
    least: number,
    mask: number,
    maskWords: number,
    finer: number,
    stride: number,
    state: number,
    out: number
  ) => void
  readonly refine: (
    query: number,
    groups: number,
    step: number,
    bases: number,
    wanted: number,
    state: number,
    out: number
  ) => void
  readonly cut: (state: number, out: number) => void
}

interface WebAssemblyNamespace {
  readonly Memory: new (descriptor: { initial: number; maximum: number; shared: true }) => SharedMemory
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: { env: { memory: SharedMemory } }) => { readonly exports: unknown }
}

// Neither Node's types nor the ECMAScript library's declare it.
const { Instance, Memory, Module } = (globalThis as unknown as { readonly WebAssembly: WebAssemblyNamespace })
  .WebAssembly

export const pageBytes = 65_536

/** A memory with this many initial pages; it grows up to 4 GB, which are reserved but only used as it grows. */
export const makeMemory = (initial: number): SharedMemory => new Memory({ initial, maximum: 65_536, shared: true })

let compiled: object | undefined

export const kernelOn = (memory: SharedMemory): Kernel =>
  new Instance((compiled ??= new Module(Buffer.from(scan, "base64"))), { env: { memory } }).exports as Kernel
