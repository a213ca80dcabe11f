import { assert } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { strToU8, zipSync } from "fflate"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import {
  Loader,
  type Loaded,
  type LoadedDocument,
  type Unreadable,
  type Unsupported
} from "../../../src/files/Loader.ts"
import * as Files from "../../../src/files/Loader/Files.ts"
import { formats } from "../../../src/files/Loader/formats.ts"

export const layer = Files.layer({
  formats,
  maxFileBytes: 2_000_000,
  extraction: { parseTimeoutMs: 60_000, parseMemoryMb: 512 }
})

export const place = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/documents/${name}`, import.meta.url))

export const fixture = (name: string): Uint8Array => new Uint8Array(readFileSync(place(name)))

/** An archive of texts, as office formats are. */
export const zipped = (parts: Readonly<Record<string, string>>): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])))

/** How a part of an office file names others. */
export const related = (...links: ReadonlyArray<readonly [id: string, target: string]>): string =>
  `<Relationships>${links.map(([id, target]) => `<Relationship Id="${id}" Type="x" Target="${target}"/>`).join("")}</Relationships>`

/** What the loader makes of a file of this name and content. */
export const load = (
  name: string,
  bytes: Uint8Array
): Effect.Effect<ReadonlyArray<Loaded>, Unreadable | Unsupported, Loader> =>
  Effect.map(
    Effect.flatMap(Loader, ({ fromText }) => Stream.runCollect(fromText({ name: `/docs/${name}`, bytes }))),
    Chunk.toReadonlyArray
  )

export const document = (loaded: ReadonlyArray<Loaded>, index = 0): LoadedDocument => {
  const found = loaded[index]
  return found?._tag === "Loaded" ? found : assert.fail(`no document ${index} in ${JSON.stringify(loaded)}`)
}

/** Each once, in this order. */
export const inOrder = (text: string, ...parts: ReadonlyArray<string>): void => {
  let from = 0
  for (const part of parts) {
    const at = text.indexOf(part, from)
    assert.isAtLeast(
      at,
      0,
      `${JSON.stringify(part)} after ${JSON.stringify(text.slice(0, from).slice(-60))} in:\n${text}`
    )
    from = at + part.length
  }
}
