import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { pdfOf } from "./pdfOf.ts"
import { document, inOrder, layer, load } from "./loading.ts"

const fixture = (name: string) =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(`../../fixtures/documents/${name}`, import.meta.url))))

const read = (name: string) => Effect.map(load(name, fixture(name)), (loaded) => document(loaded))

/** scripts/fixtures.sh says which program made which. */
it.layer(layer)("documents as real programs make them", (it) => {
  it.effect("a page that Chromium printed: its table, its items, its code", () =>
    Effect.gen(function* () {
      const { content, title } = yield* read("report.pdf")
      assert.strictEqual(title, "Hive report")
      inOrder(content, "# Hive report\n\nThe hives were opened", "first flow of honey,", "## Weights")
      inOrder(
        content,
        "| Hive | April | July | Gain |\n| --- | --- | --- | --- |\n| South meadow | 31.5 kg | 58.2 kg | 26.7 kg |",
        "| Quarry | 33.1 kg | 61.0 kg | 27.9 kg |"
      )
      inOrder(
        content,
        "to two of water\n\nNever after frost\n\n```\nweigh --hive south\nweigh --hive orchard --dry-run"
      )
    })
  )

  it.effect("Japanese: prose and no code, in the signs that people type, lines joined without a space", () =>
    Effect.gen(function* () {
      const { content } = yield* read("guide-ja.pdf")
      inOrder(
        content,
        "# 養蜂の手引き\n\n## 春の作業\n\n巣箱は四月に開けて、女王蜂が",
        "砂糖水を与えてください。雨の日"
      )
      inOrder(content, "## 冬の作業", "| 月 | 砂糖水 | 量 |", "| 十月 | 三対二 | 十二リットル |")
      assert.notMatch(content, /[\u2e80-\u2fdf]|```/)
    })
  )

  it.effect("Arabic: from right to left, numbers within it where they are read", () =>
    Effect.gen(function* () {
      const { content } = yield* read("guide-ar.pdf")
      inOrder(
        content,
        "# دليل النحال\n\nيعيش النحل في خلية.",
        "تتجاوز الحرارة 15 درجة.",
        "## الشتاء\n\nيعطى حمض الأكساليك"
      )
    })
  )

  it.effect("a form: what its fields were filled with, beside their names", () =>
    Effect.gen(function* () {
      const { content, metadata } = yield* read("form.pdf")
      assert.strictEqual(metadata["author"], "Beekeepers' Union")
      inOrder(content, "Name: Ada Winter", "Number of hives: 12", "Send me the newsletter ☑", "Terms")
      assert.notMatch(content, /^1$/m)
    })
  )

  it.effect("a running head is left out though its page's number stands apart from it", () =>
    Effect.gen(function* () {
      const pages = [1, 2].map((page) => [
        { text: "Chapter 2: Combs", y: 760 },
        { text: String(page), x: 500, y: 760 },
        { text: `Words of page ${page} about bees and their combs.`, y: 600 }
      ])
      const { content } = document(yield* load("book.pdf", pdfOf(pages)))
      assert.strictEqual(content, [1, 2].map((n) => `Words of page ${n} about bees and their combs.`).join("\n\n"))
    })
  )

  it.effect("a scan: reported as pictures", () =>
    Effect.gen(function* () {
      const { reason } = yield* Effect.flip(load("scan.pdf", fixture("scan.pdf")))
      assert.strictEqual(reason, "no text in its 1 pages: they are pictures; run OCR over it first")
    })
  )

  it.effect("a book by calibre: headings, lists, tables, and a note's number apart from the word before it", () =>
    Effect.gen(function* () {
      const { content, metadata, title } = yield* read("calibre.epub")
      assert.strictEqual(title, "Keeping bees")
      assert.deepInclude(metadata, { author: "Ada Winter", lang: "en" })
      inOrder(
        content,
        "# The hive",
        "## Frames and supers",
        "frames are covered[1].",
        "1. Smoke the entrance.",
        "## Feeding"
      )
      inOrder(
        content,
        "| Month | Syrup | Litres |",
        "| October | 3:2 | 12 |",
        "# Winter",
        "Some keepers wait for eight."
      )
    })
  )

  it.effect("a newsletter: its words without what is hidden or about the letter itself", () =>
    Effect.gen(function* () {
      const { content, metadata, title } = yield* read("newsletter.eml")
      assert.strictEqual(title, "Hive news: swarms in May 🐝")
      assert.strictEqual(metadata["date"], "2024-05-28T07:30:00.000Z")
      inOrder(
        content,
        "# Swarms in May",
        "hives every nine days",
        "## A new honey house",
        "## Prices",
        "| 500 g | 11.00 |"
      )
      for (const around of ["in browser", "Unsubscribe", "and a new honey house", "http"])
        assert.notInclude(content, around)
    })
  )

  for (const name of ["accounts.xlsx", "accounts.ods"]) {
    it.effect(`${name}: what formulas come to, days and times as such`, () =>
      Effect.gen(function* () {
        const { content } = yield* read(name)
        inOrder(
          content,
          "Hive: South; Opened: 2024-04-12; Frames: 11; Price: 4.5; Worth: 49.5; Sold: 2024-09-30T14:30:00",
          "Hive: Sum; Frames: 32; Worth: 144.75"
        )
      })
    )
  }
})
