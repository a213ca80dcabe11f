import { assert, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Chunk from "effect/Chunk"
import type { StoredDocument } from "../../src/model/Stored.ts"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Builtin from "../../src/Embedder/Builtin.ts"
import * as Embedders from "../../src/Embedders.ts"
import { FileIndexer } from "../../src/files/FileIndexer.ts"
import { layer as files } from "../../src/files/Loader/Files.ts"
import { formats } from "../../src/files/Loader/formats.ts"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { Search } from "../../src/Search.ts"
import { whole } from "../../src/Store.ts"
import { Transfer } from "../../src/upkeep/Transfer.ts"
import { searchConfig, chunkerOf } from "../fakes.ts"
import { Indexer } from "../../src/Indexer.ts"
import { layerMemory } from "../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../folder.ts"

const fixtures = fileURLToPath(new URL("../fixtures/documents", import.meta.url))

const words = "tide moon harbour Ada Lovelace engine north spring water Otter Basin current".split(" ")
const sentence = (seed: number, length: number): string =>
  `${Array.from({ length }, (_, n) => words[(seed * 7 + n * n * 3 + n) % words.length]).join(" ")}.`

const two = (value: number) => String(value).padStart(2, "0")
const clock = (seconds: number) =>
  `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`

/** Subtitles whose cues are so long and so far apart. */
const subtitles = (cues: ReadonlyArray<readonly [gap: number, length: number]>, comma: string): string => {
  let at = 0
  return cues
    .map(([gap, length], n) => {
      const begin = at + gap
      at = begin + 2
      return `${n + 1}\n${clock(begin)}${comma}000 --> ${clock(at)}${comma}000\n${sentence(n, length)}\n`
    })
    .join("\n")
}

const cues = FastCheck.sample(
  FastCheck.array(FastCheck.tuple(FastCheck.integer({ min: 0, max: 12 }), FastCheck.integer({ min: 1, max: 30 })), {
    minLength: 20,
    maxLength: 120
  }),
  { numRuns: 24, seed: 14 }
)

const prose = (seed: number) => Array.from({ length: 30 }, (_, n) => sentence(seed + n, 20)).join(" ")

/** Formats that have no fixture, each with more than one passage. */
const written: Readonly<Record<string, string>> = {
  "a.md": `---\ntitle: Tides\ntags: [a, b]\nauthor: {name: Ada}\nnone: null\n---\n# Tides\n\n${prose(1)}\n\n## [Moon](b.adoc)\n\n${prose(2)}\n`,
  "b.adoc": `= Moon\n\n${prose(3)}\n\n== Phases\n\n${prose(4)}\n`,
  "c.rst": `Harbour\n=======\n\n${prose(5)}\n\nPiers\n-----\n\n${prose(6)}\n`,
  "d.org": `* Water\n${prose(7)}\n** Salt\n${prose(8)}\n`,
  "e.txt": `${prose(9)}\n\n${prose(10)}`,
  "f.ts": Array.from(
    { length: 60 },
    (_, n) => `/** ${sentence(n, 9)} */\nexport const tide${n} = (moon: number) => moon * ${n}\n`
  ).join("\n"),
  "g.json": JSON.stringify(
    { tides: Array.from({ length: 80 }, (_, n) => ({ place: sentence(n, 6), metres: n })) },
    null,
    2
  ),
  "h.jsonl": Array.from({ length: 12 }, (_, n) =>
    JSON.stringify({ _id: `r${n}`, title: `T${n}`, text: prose(n), year: n })
  ).join("\n"),
  "i.yaml": Array.from({ length: 80 }, (_, n) => `tide${n}:\n  place: ${sentence(n, 6)}`).join("\n"),
  "j.toml": Array.from({ length: 80 }, (_, n) => `[tide${n}]\nplace = "${sentence(n, 6)}"`).join("\n"),
  "k.xml": `<tides>${Array.from({ length: 80 }, (_, n) => `<tide n="${n}">${sentence(n, 6)}</tide>`).join("\n")}</tides>`,
  "l.tsv": ["place\tmetres", ...Array.from({ length: 200 }, (_, n) => `${sentence(n, 4)}\t${n}`)].join("\n"),
  "m.html": `<title>Engine</title><main><h1>Engine</h1><p>${prose(11)}</p><pre>${prose(12)}</pre></main>`,
  ...Object.fromEntries(
    cues.map((each, n) =>
      n % 2 === 0 ? [`${n}.srt`, subtitles(each, ",")] : [`${n}.vtt`, `WEBVTT\n\n${subtitles(each, ".")}`]
    )
  )
}

const questions = [
  "when is the spring tide highest",
  "Ada Lovelace engine",
  "water in the Otter Basin",
  "how do I save and restore",
  "installation of the program",
  "accounts of staff",
  "Grüße aus Köln",
  "東京",
  "moon phases harbour",
  "slides about the guide"
]

const chunker = chunkerOf(256, 32)
const embedders = Embedders.layerSingle.pipe(Layer.provide(Builtin.layer))
const loader = files({
  formats,
  maxFileBytes: 2 ** 24,
  extraction: { parseTimeoutMs: 600_000, parseMemoryMb: 512 }
}).pipe(Layer.provide(NodeFileSystem.layer))
const search = Search.Default.pipe(Layer.provide(Layer.merge(embedders, searchConfig())))
const index = Layer.mergeAll(
  search,
  Transfer.Default,
  FileIndexer.Default.pipe(Layer.provide(Indexer.Default), Layer.provide([chunker, loader, embedders]))
).pipe(Layer.provideMerge(layerMemory))

const asked = Effect.gen(function* () {
  const store = yield* whole
  const { run } = yield* Search
  const answers = []
  for (const graph of [false, true, "auto"] as const) {
    for (const alpha of [undefined, 0, 1]) {
      for (const query of questions) {
        const { hits } = yield* run({ query, topK: 10, graph, alpha })
        // When a document was indexed, and from what file, is the index's own.
        const own = new Set(["indexedAt", "file"])
        const shown = JSON.stringify(hits, (key, value: unknown) => (own.has(key) ? undefined : value))
        answers.push([graph, alpha, query, JSON.parse(shown) as unknown])
      }
    }
  }
  const documents = new Map<string, Omit<StoredDocument, "indexedAt">>()
  for (const { name } of yield* store.collections) {
    for (const { docId } of yield* store.list(name, { limit: 1000 })) {
      const { indexedAt: _, ...stored } = yield* store.get(name, docId)
      documents.set(`${name} ${docId}`, stored)
    }
  }
  return {
    answers,
    documents,
    linkages: yield* Effect.forEach(yield* store.collections, ({ name }) => store.linkage(name))
  }
})

const exported = Effect.flatMap(Transfer, ({ lines }) => Effect.map(Stream.runCollect(lines()), Chunk.toReadonlyArray))

it.scopedLive(
  "of every format and every fixture: what export writes, import takes, and it answers alike",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      for (const [name, text] of Object.entries(written)) fs.writeFileSync(path.join(folder, name), text)
      const [before, lines] = yield* Effect.gen(function* () {
        const { run } = yield* FileIndexer
        const read = (paths: ReadonlyArray<string>, collection = defaultCollection) =>
          Stream.runCollect(run({ paths, collection, prune: false, dryRun: false }))
        yield* read([fixtures, folder])
        yield* read([path.join(folder, "h.jsonl")], CollectionName.make("other"))
        // What changed is stored last.
        for (const name of ["a.md", "f.ts", "0.srt"]) fs.appendFileSync(path.join(folder, name), `\n${prose(20)}\n`)
        yield* read([folder])
        const store = yield* whole
        // Words that no other passage has: a model's answer holds for all passages of the same words.
        const page = yield* store.graphPassages(defaultCollection, { after: 0, limit: 1000 })
        const one = page.find(({ source }) => source.endsWith("a.md"))
        yield* store.keepSaid(defaultCollection, one!.id, "a model", {
          entities: ["Otter Basin"],
          relations: [{ subject: "Otter Basin", relation: "lies in", object: "Harbour" }]
        })
        return [yield* asked, yield* exported] as const
      }).pipe(Effect.provide(index))
      assert.isAbove(before.documents.size, 60)
      const { after, again } = yield* Effect.gen(function* () {
        yield* (yield* Transfer).take(Stream.fromIterable(lines))
        return { after: yield* asked, again: yield* exported }
      }).pipe(Effect.provide(index))
      assert.deepStrictEqual([...after.documents.keys()].sort(), [...before.documents.keys()].sort())
      // When it was stored is the import's time.
      const timeless = ({ file, ...document }: Omit<StoredDocument, "indexedAt">) => ({ ...document, path: file?.path })
      for (const [id, document] of before.documents) {
        assert.deepStrictEqual(timeless(after.documents.get(id)!), timeless(document))
      }
      assert.deepStrictEqual(after.linkages, before.linkages)
      for (const [at, answer] of before.answers.entries()) assert.deepStrictEqual(after.answers[at], answer)
      assert.deepStrictEqual(
        again.filter((line, at) => line !== lines[at]).map((line) => line.slice(0, 500)),
        []
      )
      assert.isTrue(lines.some((line) => line.includes('"said":{"model":"a model"')))
    }),
  300_000
)
