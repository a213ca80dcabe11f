import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Stream from "effect/Stream"
import { type FileFormat, type Loaded, type SourceFile, Unreadable } from "../../src/files/Loader.ts"
import { headBytes, kindOf } from "../../src/files/Loader/read.ts"

/** A file that is only in memory, its stream cut into pieces of this size. */
export const sourceFile = (path: string, bytes: Uint8Array, piece = 7): Effect.Effect<SourceFile> =>
  Effect.map(kindOf(path, bytes.subarray(0, headBytes)), (kind) => ({
    path,
    size: bytes.length,
    head: bytes.subarray(0, headBytes),
    kind,
    bytes: Effect.succeed(bytes),
    stream: Stream.fromIterable(
      Array.from({ length: Math.ceil(bytes.length / piece) }, (_, i) => bytes.subarray(i * piece, (i + 1) * piece))
    )
  }))

export const loaded = (format: FileFormat, file: SourceFile) =>
  Effect.map(Stream.runCollect(format.load(file)), Chunk.toReadonlyArray)

interface Example {
  readonly path: string
  readonly bytes: Uint8Array
}

const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52)

const isJson = (value: unknown) => assert.deepStrictEqual(JSON.parse(JSON.stringify(value)), value)

const isSound = (record: Loaded) => {
  if (record._tag === "Rejected") {
    assert.isAtLeast(record.line, 1)
    assert.notMatch(record.reason, /\n|^$/)
    return
  }
  assert.include(["text", "markdown", "code", "data"], record.format)
  assert.notStrictEqual(record.content.charCodeAt(0), 0xfeff)
  assert.notMatch(record.content, /\p{Surrogate}/u)
  assert.notStrictEqual(record.title, "")
  assert.notProperty(record.metadata, "source")
  assert.notProperty(record.metadata, "title")
  isJson(record.metadata)
}

/** What holds for every kind of file: `takes` are files that it accepts and reads, `leaves` are not its own. */
export const fileFormatContract = (
  format: FileFormat,
  examples: { readonly takes: ReadonlyArray<Example>; readonly leaves: ReadonlyArray<Example> }
) =>
  describe(`a file format: ${format.name}`, () => {
    for (const { bytes, path } of examples.takes) {
      it.effect(`takes ${path} and reads it alike each time, however it is cut`, () =>
        Effect.gen(function* () {
          const file = yield* sourceFile(path, bytes)
          assert.isTrue(format.accepts(file))
          const first = yield* loaded(format, file)
          assert.isAbove(first.length, 0)
          first.forEach(isSound)
          assert.deepStrictEqual(yield* loaded(format, file), first)
          assert.deepStrictEqual(yield* loaded(format, yield* sourceFile(path, bytes, bytes.length)), first)
          const names = first.flatMap((each) => (each._tag === "Loaded" ? [each.record] : []))
          assert.strictEqual(new Set(names).size, names.length)
        })
      )

      it.effect(`leaves what calls itself ${path} but is a picture`, () =>
        Effect.gen(function* () {
          assert.isFalse(format.accepts(yield* sourceFile(path, png)))
        })
      )

      it.effect(`fails as reading ${path} fails`, () =>
        Effect.gen(function* () {
          const failure = new Unreadable({ path, reason: "the disk is gone" })
          const file = yield* sourceFile(path, bytes)
          const broken = { ...file, bytes: failure, stream: Stream.concat(file.stream, Stream.fail(failure)) }
          assert.strictEqual(yield* Effect.flip(loaded(format, broken)), failure)
        })
      )
    }

    for (const { bytes, path } of examples.leaves) {
      it.effect(`leaves ${path}`, () =>
        Effect.gen(function* () {
          assert.isFalse(format.accepts(yield* sourceFile(path, bytes)))
        })
      )
    }

    const bytes = FastCheck.oneof(
      FastCheck.uint8Array({ minLength: 1, maxLength: 200 }),
      FastCheck.string({ minLength: 1, unit: "binary" }).map((text) => new TextEncoder().encode(text))
    )
    const path = FastCheck.constantFrom(...examples.takes.map((each) => each.path))
    it.effect.prop(
      "reads whatever it accepts without a defect",
      [path, bytes],
      ([name, any]) =>
        Effect.gen(function* () {
          const file = yield* sourceFile(name, any)
          if (!format.accepts(file)) return
          // Of nothing but white space it says so.
          const read = Effect.catchTag(loaded(format, file), "Unsupported", ({ reason }) =>
            Effect.sync((): ReadonlyArray<Loaded> => (assert.include(reason, "no text"), []))
          )
          ;(yield* read).forEach(isSound)
        }),
      { fastCheck: { numRuns: 30 }, timeout: 30_000 }
    )
  })
