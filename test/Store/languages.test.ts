import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { defaultCollection } from "../../src/model/Collection.ts"
import { whole } from "../../src/Store.ts"
import { connect } from "../../src/Store/sqlite/connect.ts"
import { document, embedder } from "../contracts/Store.ts"
import { disagreements, indexFile } from "./opened.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

const texts = {
  "haus.md": "Das Haus hat ein Dach, und in den Zimmern stehen die Tische, an denen wir sitzen und zählen.",
  "referenz.md": "Eine Referenz zeigt auf einen Wert, und der Zähler sagt, wie viele davon es noch gibt.",
  "maison.md": "Les fichiers sont ignorés par la commande, et elle ne dit rien de ceux qui ont été modifiés.",
  "vetka.md": "Чтобы переименовать ветку, нужна команда, которая меняет имя ветки на сервере и у вас.",
  "gilka.md": "Щоб перейменувати гілку, потрібна команда, яка змінює назву гілки на сервері і у вас.",
  "dal.md": "Dalları silmek için komut vardır ve bu komut İÇERİĞİ de sunucudan kaldırır.",
  "shakhe.md": "برای پاک کردن شاخه‌ها از یک دستور استفاده کنید که نام شاخه را از پایگاه کد برمی‌دارد.",
  "house.md": "The houses are counted by the people that sit at the tables, and nobody configures anything."
}

const find = (query: string) =>
  Effect.gen(function* () {
    const store = yield* whole
    const hits = yield* ranked(store, { keyword: query, spelling: true, explain: true })
    for (const { explain, score } of hits) {
      const terms = explain!.keyword!.terms
      assert.approximately(
        terms.reduce((sum, term) => sum + term.score, 0),
        score,
        1e-9
      )
      for (const { heading, term, text, title } of terms) assert.isAbove(heading + text + title, 0, term)
    }
    return hits.map(({ document }) => document.source)
  })

const fill = Effect.gen(function* () {
  const store = yield* whole
  yield* store.createCollection(defaultCollection, embedder)
  for (const [source, text] of Object.entries(texts)) {
    yield* store.put(defaultCollection, [document(text, { source, title: undefined })])
  }
})

const finds = Effect.gen(function* () {
  assert.deepStrictEqual(yield* find("Wo sind die Häuser?"), ["haus.md"])
  assert.deepStrictEqual(yield* find("welches Zimmer mit Tisch"), ["haus.md"])
  assert.deepStrictEqual(yield* find("les fichiers ignorer"), ["maison.md"])
  assert.deepStrictEqual(yield* find("имена веткам"), ["vetka.md"])
  assert.deepStrictEqual(yield* find("назвами гілок"), ["gilka.md"])
  assert.deepStrictEqual(yield* find("Dal nasıl silinir?"), ["dal.md"])
  assert.deepStrictEqual(yield* find("içerikler"), ["dal.md"])
  assert.deepStrictEqual(yield* find("شاخه ها"), ["shakhe.md"])
  assert.deepStrictEqual(yield* find("what counts a house in configurations"), ["house.md"])
  // Neither part alone is the word, and no passage has it whole.
  assert.deepStrictEqual((yield* find("Wozu der Referenzzähler?"))[0], "referenz.md")
})

it.layer(Sqlite.layerMemory)("documents in several languages", (it) => {
  it.effect("are found by other forms of their words, and English as ever", () => Effect.zipRight(fill, finds))
})

describe("an index whose languages were never told", () => {
  it.scoped("answers as before until they are, step by step", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const opened = Effect.provide(Sqlite.layer({ filename, mode: "create" }))
      yield* fill.pipe(opened)
      yield* Effect.sync(() => {
        const db = new Database(filename)
        db.exec("UPDATE documents SET language = NULL; UPDATE keyword_segments SET languages = 'en', terms_version = 2")
        db.close()
      })
      yield* Effect.gen(function* () {
        const store = yield* whole
        assert.deepStrictEqual(yield* find("Haus"), ["haus.md"])
        assert.lengthOf(yield* store.rebuilds(), 1)
        while ((yield* store.rebuildStep()) !== undefined);
        yield* finds
      }).pipe(opened)
      const sql = yield* connect({ filename, mode: "readonly" })
      assert.deepStrictEqual(yield* disagreements(sql), [])
      const told = yield* sql.unsafe("SELECT source, language FROM documents ORDER BY source")
      assert.deepStrictEqual(told, [
        { source: "dal.md", language: "tr" },
        { source: "gilka.md", language: "uk" },
        { source: "haus.md", language: "de" },
        { source: "house.md", language: "en" },
        { source: "maison.md", language: "fr" },
        { source: "referenz.md", language: "de" },
        { source: "shakhe.md", language: "fa" },
        { source: "vetka.md", language: "ru" }
      ])
    })
  )
})
