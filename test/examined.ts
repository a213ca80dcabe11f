import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { readFileSync, writeFileSync } from "node:fs"
import { Doctor } from "../src/upkeep/Doctor.ts"
import { CollectionName, defaultCollection } from "../src/model/Collection.ts"
import * as SqliteExaminer from "../src/Store/SqliteExaminer.ts"
import { document } from "./contracts/Store.ts"
import { compass, embeddersLayer, makeEmbedder, words } from "./fakes.ts"
import { type Told, whole } from "../src/Store.ts"
import * as Sqlite from "../src/Store/Sqlite.ts"

export const many = CollectionName.make("many")

/** Passages of a collection that has codes. */
const coded = 4200

/** A small index with postings, what a model said, tombstones, metadata, codes and centroids. */
const build = (filename: string, lengthOfMany: number) =>
  Effect.gen(function* () {
    const { embedder } = yield* makeEmbedder()
    const store = yield* whole
    const prepared = (content: string, source: string) =>
      Effect.map(embedder.embedPassages(content.split("\n")), (vectors) =>
        document(content, {
          source,
          title: `About ${source}`,
          metadata: { year: 2000 + source.length, tags: ["a", "b"], nested: { x: 1 } },
          vectors: vectors.map(Option.getOrUndefined)
        })
      )
    for (const name of [defaultCollection, many]) yield* store.createCollection(name, compass)
    for (let n = 0; n < 8; n++) {
      const lines = Array.from({ length: 5 }, (_, line) => `${words[(n + line) % 4]} of château ${n} at ${line}`)
      yield* store.put(defaultCollection, [yield* prepared(lines.join("\n"), `note${n}`)])
    }
    yield* store.deleteSource(defaultCollection, "note3")
    yield* store.put(defaultCollection, [yield* prepared("nothing of a compass", "wordless")])
    const roots = [{ path: "/gone", include: ["*.md"], exclude: [] }]
    const seenBy = yield* store.beginRun(defaultCollection, roots)
    const { passages, ...slides } = yield* prepared("east of Eden\nwest of it", "/gone/slides.pdf")
    const paged = passages.map((passage, page) => ({
      ...passage,
      locator: { _tag: "Page" as const, page },
      tableHeader: "Way | Name"
    }))
    const file = {
      path: "/gone/slides.pdf",
      stamp: { size: 1, modified: "2", changed: "3", inode: "4" },
      reader: "pdf 1",
      settings: "s",
      outcome: "indexed",
      documents: 1,
      many: false,
      expected: undefined
    } as const
    const found = { ...slides, passages: paged, origin: file.path, line: 3 }
    yield* store.put(defaultCollection, [found], { seenBy, files: [file] })
    const lines = Array.from({ length: lengthOfMany }, (_, n) => `${words[n % 4]} ${words[(n >> 2) % 4]} ${n % 97}`)
    yield* store.put(many, [yield* prepared(lines.join("\n"), "many"), yield* prepared("north once", "gone")])
    // So few of a segment's passages are deleted that no merge drops their tombstones meanwhile.
    yield* store.deleteSource(many, "gone")
    const { passages: unasked } = yield* store.graphUnasked(defaultCollection, "reader", 0, 2)
    for (const { id, text } of unasked) {
      const relations = [{ subject: text, relation: "is about", object: "château" }]
      yield* store.keepSaid(defaultCollection, id, "reader", { entities: ["château"], relations })
    }
  }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "create" })))

const doctor = (filename: string) =>
  Effect.gen(function* () {
    const { embedder } = yield* makeEmbedder()
    return Doctor.Default.pipe(Layer.provide(Layer.merge(SqliteExaminer.layer(filename), embeddersLayer(embedder))))
  }).pipe(Layer.unwrapEffect)

/** What doctor says of an index. */
export const run = (
  filename: string,
  options: { readonly deep?: boolean; readonly fix?: boolean; readonly told?: Told } = {}
) =>
  Effect.flatMap(Doctor, (it) => it.run({ deep: false, fix: false, ...options })).pipe(Effect.provide(doctor(filename)))

export const wrong = <C extends { readonly name: string; readonly status: string }>(report: {
  readonly checks: ReadonlyArray<C>
}) => report.checks.filter(({ status }) => status !== "ok")

/** The bytes of such an index, which takes a second: built once. */
const built = Effect.runSync(
  Effect.cachedFunction((passages: number) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
        yield* build(`${folder}/index.db`, passages)
        return readFileSync(`${folder}/index.db`)
      })
    )
  )
)

const inFolder = Effect.fnUntraced(function* (passages: number) {
  const files = yield* FileSystem.FileSystem
  const folder = yield* files.makeTempDirectoryScoped()
  const bytes = Buffer.from(yield* built(passages))
  writeFileSync(`${folder}/index.db`, bytes)
  return { folder, bytes }
})

/** An index in order, in a folder of its own. */
export const temporary = inFolder(coded)

/** One that has no codes. */
export const withoutCodes = inFolder(4)

/** What docs/doctor.md says cannot be told: when something was, where a line stands, names that are drawn at random. */
export const untold: Readonly<Record<string, ReadonlyArray<string>>> = {
  code_epochs: ["rows"],
  code_sets: ["sequence"],
  collections: ["name", "created_at", "changes"],
  documents: ["line", "seen_by", "seen_run"],
  file_mark: ["before", "now"],
  files: [
    "size",
    "modified_ns",
    "changed_ns",
    "inode",
    "reader",
    "settings",
    "outcome",
    "reason",
    "many",
    "run",
    "indexed_at"
  ],
  graph_answers: ["model"],
  graph_linkages: ["changes", "documents", "linkage"],
  graph_names: ["key"],
  keyword_segments: ["stamp", "version", "through", "inputs"],
  reserve: ["id", "body"],
  roots: ["collection_id", "path", "include", "exclude", "run"],
  run_numbers: ["last"],
  sqlite_sequence: ["seq"]
}
