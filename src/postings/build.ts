import { type SharedMemory, gibibyte, kernels, sharedMemory } from "../runtime/wasm.ts"
import { classOf } from "../terms/classes.ts"
import type { Language } from "../terms/languages.ts"
import { type SeenWords, scanOne, seenIn } from "../terms/scan.ts"
import type { Block, Head } from "./block.ts"
import { Runs } from "./runs.ts"
import wasm, { type Kernel } from "./segment.wasm.ts"

/** A kernel that has grown beyond this is left to the garbage collector. */
const mostBytes = 128 * 1024 * 1024
/** With this many words or terms, it forgets them all. */
const mostKnown = 1 << 16

/** Where the kernel expects a term, and the bytes it has for it; and the classes of UTF-16 units. */
const scratch = { at: 1024, bytes: 1024 }
const classesAt = 2048

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff

const kernelOn = kernels<Kernel>(wasm)

/** The fields of a passage, as the kernel numbers them. */
export const field = { title: 0, heading: 1, text: 2 } as const

/**
 * Counts the terms of a segment's passages, and writes them as blocks. It remembers words and their terms from segment
 * to segment, and asks the scanner only for those it does not know.
 */
export class Segmenter {
  private readonly kernel: Kernel
  private readonly memory: SharedMemory
  private readonly classes: Uint8Array
  private readonly term: Buffer
  private bytes: Buffer
  private readonly languages: Array<Language> = []
  private language: Language | undefined
  private words: SeenWords = seenIn("en")
  private readonly emit = (term: string): void => {
    // Most terms are ASCII and short: to call the encoder takes longer than to write them.
    let bytes = 0
    while (bytes < term.length) {
      const unit = term.charCodeAt(bytes)
      if (unit >= 128) break
      this.term[bytes++] = unit
    }
    this.kernel.emit(bytes === term.length ? bytes : this.term.write(term))
  }

  constructor() {
    this.memory = sharedMemory(16, gibibyte)
    this.kernel = kernelOn(this.memory)
    this.bytes = Buffer.from(this.memory.buffer)
    this.term = this.bytes.subarray(scratch.at, scratch.at + scratch.bytes)
    this.classes = new Uint8Array(this.memory.buffer, classesAt, 0x10000)
    for (let unit = 0; unit < 0x100; unit++) this.classes[unit] = 1 + classOf(unit)
  }

  /** Whether it holds more memory than another needs. */
  get isLarge(): boolean {
    return this.memory.buffer.byteLength > mostBytes
  }

  private view(): Buffer {
    if (this.bytes.length !== this.memory.buffer.byteLength) this.bytes = Buffer.from(this.memory.buffer)
    return this.bytes
  }

  /** Begins a segment. */
  begin(): void {
    this.kernel.begin(mostKnown)
  }

  /** Begins a passage in a language, which must be loaded. */
  passage(ordinal: number, language: Language = "en"): void {
    if (language !== this.language) {
      this.language = language
      this.words = seenIn(language)
    }
    let number = this.languages.indexOf(language)
    if (number < 0) number = this.languages.push(language) - 1
    this.kernel.passage(ordinal, number)
  }

  /** Terms of the passage so far, with repeats. */
  get length(): number {
    return this.kernel.length()
  }

  /** Counts the terms of a field of the passage. */
  scan(text: string, field: number): void {
    if (text === "") return
    const { kernel } = this
    const at = kernel.space(text.length)
    const bytes = this.view()
    const written = bytes.write(text, at, 2 * text.length, "utf16le")
    bytes.fill(0, at + written, at + written + 4)
    let place = kernel.scan(text.length, field)
    if (place < 0) return
    // See `scan`: a flat string that ends with a separator.
    const ended = [text, "\0"].join("")
    while (place >= 0) {
      const after = scanOne(ended, place, this.words, this.emit)
      for (let i = place; i <= after && i < text.length; i++) this.know(text.charCodeAt(i))
      if (after + 1 < text.length) this.know(text.charCodeAt(after + 1))
      kernel.learn(after)
      place = kernel.resume(after)
    }
  }

  private know(unit: number): void {
    if (this.classes[unit] === 0 && !isSurrogate(unit)) this.classes[unit] = 1 + classOf(unit)
  }

  /** The segment's blocks. */
  blocks(): ReadonlyArray<Block> {
    const { kernel } = this
    const blocks: Array<Block> = []
    kernel.sort()
    for (;;) {
      const length = kernel.nextBlock()
      if (length === 0) return blocks
      const bytes = this.view()
      const [at, firstAt] = [kernel.blockAt(), kernel.firstAt()]
      blocks.push({
        first: Buffer.from(bytes.subarray(firstAt, firstAt + kernel.firstBytes())),
        data: Buffer.from(bytes.subarray(at, at + length))
      })
    }
  }
}

/** A passage in the form from which its terms are made. */
export interface KeywordRow {
  readonly id: number
  readonly title: string
  readonly heading: string
  readonly text: string
  /** Its document's language; default English. It must be loaded. */
  readonly language?: Language | undefined
}

let segmenter: Segmenter | undefined

/** Makes a segment of passages, given in order of their ids. */
export const buildSegment = (rows: ReadonlyArray<KeywordRow>): Head & { readonly blocks: ReadonlyArray<Block> } => {
  // After an error the kernel may be in any state.
  const current = segmenter === undefined || segmenter.isLarge ? new Segmenter() : segmenter
  segmenter = undefined
  current.begin()
  const lengths = new Uint32Array(rows.length)
  for (const [ordinal, { heading, language, text, title }] of rows.entries()) {
    current.passage(ordinal, language)
    current.scan(title, field.title)
    current.scan(heading, field.heading)
    current.scan(text, field.text)
    lengths[ordinal] = current.length
  }
  const blocks = current.blocks()
  segmenter = current
  return { ids: Runs.of(rows.map((row) => row.id)), lengths, firsts: blocks.map((block) => block.first), blocks }
}
