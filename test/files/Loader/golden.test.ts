import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync, writeFileSync } from "node:fs"
import { fragment } from "../../../src/model/Locator.ts"
import type { Loaded } from "../../../src/files/Loader.ts"
import { fixture, layer, load, place } from "./loading.ts"

/** A document as a reader of this file wants to see it: what is known of it, its text, and where its parts stand. */
const shown = (loaded: Loaded): string => {
  if (loaded._tag === "Rejected") return `rejected, line ${loaded.line}: ${loaded.reason}\n`
  const { content, marks = [], metadata, record, title } = loaded
  const places = marks.map(({ line, locator, start }) => {
    const words = content.slice(start, start + 30).split("\n")[0]
    return `${locator === undefined ? `:${line}` : fragment(locator)} ${words}`
  })
  return [JSON.stringify({ record, title, ...metadata }), content, places.join("\n")].join("\n\n=====\n\n")
}

/** Each was held against its rendered page by eye; docs/loading.md says how. CLEW_WRITE_GOLDEN=1 writes them anew. */
it.layer(layer)("golden texts", (it) => {
  for (const name of [
    "accounts.ods",
    "accounts.xlsx",
    "calibre.epub",
    "form.pdf",
    "guide-ar.pdf",
    "guide-ja.pdf",
    "guide.1",
    "guide.doc",
    "guide.docx",
    "guide.epub",
    "guide.fb2",
    "guide.ipynb",
    "guide.odt",
    "guide.pdf",
    "guide.tex",
    "letter.eml",
    "list.mbox",
    "newsletter.eml",
    "page.html",
    "report.pdf",
    "slides.odp",
    "slides.pptx",
    "staff.csv",
    "staff.ods",
    "staff.xls",
    "staff.xlsx",
    "talk.srt",
    "twocolumn.pdf"
  ]) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const loaded = yield* load(name, fixture(name))
        const text = loaded.map(shown).join("\n\n=====\n\n")
        const golden = place(`golden/${name}.txt`)
        if (process.env["CLEW_WRITE_GOLDEN"] === "1") writeFileSync(golden, text)
        assert.strictEqual(text, readFileSync(golden, "utf8"))
      })
    )
  }

  const words = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

  /** Words of one text that another has in the same order, of all it has. */
  const inOrderShare = (made: ReadonlyArray<string>, read: ReadonlyArray<string>): number => {
    let row = new Uint16Array(read.length + 1)
    for (const word of made) {
      const next = new Uint16Array(read.length + 1)
      for (let i = 0; i < read.length; i++)
        next[i + 1] = word === read[i] ? row[i]! + 1 : Math.max(row[i + 1]!, next[i]!)
      row = next
    }
    return row[read.length]! / made.length
  }

  const source = readFileSync(place("sources/guide.md"), "utf8").replace(/^---[^]*?---/, "")
  for (const format of ["1", "docx", "epub", "fb2", "ipynb", "odt", "pdf", "tex"]) {
    it.effect(`guide.${format} has all words of its source, in their order but for notes`, () =>
      Effect.gen(function* () {
        const name = `guide.${format}`
        const [loaded] = yield* load(name, fixture(name))
        // The note's words stand where each format has its notes.
        const body = words(
          source
            .replace(/^\[\^1\].*$/m, "")
            .replaceAll("[^1]", "")
            .replaceAll("```python", "")
        )
        assert.isAtLeast(inOrderShare(body, words(loaded?._tag === "Loaded" ? loaded.content : "")), 0.98)
      })
    )
  }
})
