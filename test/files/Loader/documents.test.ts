import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { strToU8 } from "fflate"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { LoadedDocument } from "../../../src/files/Loader.ts"
import * as Extractor from "../../../src/files/Loader/Extractor.ts"
import { formats } from "../../../src/files/Loader/formats.ts"
import { fragment, markAt } from "../../../src/model/Locator.ts"
import { sourceFile } from "../../contracts/FileFormat.ts"
import { pdfOf } from "./pdfOf.ts"
import { document, inOrder } from "./loading.ts"

const fixture = (name: string) =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(`../../fixtures/documents/${name}`, import.meta.url))))

const limits = { parseTimeoutMs: 60_000, parseMemoryMb: 512 }

/** What the first format that accepts the file gives, as the loader has it. */
const load = (name: string, bytes: Uint8Array = fixture(name), given = limits) =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = yield* sourceFile(`/docs/${name}`, bytes, 65_536)
      const format = yield* Effect.findFirst(formats(yield* Extractor.make(given)), (each) => each.accepts(file))
      return Chunk.toReadonlyArray(yield* Stream.runCollect((yield* format).load(file)))
    })
  )

/** How a stretch of the text is cited. */
const cited = ({ content, marks = [] }: LoadedDocument, words: string): string => {
  assert.include(content, words)
  const mark = markAt(marks, content.indexOf(words))
  return mark?.locator === undefined ? `:${mark?.line}` : fragment(mark.locator)
}

/** Share of a text's pairs of neighbouring words that another has, too. */
const agreement = (made: string, read: string): number => {
  const pairs = (text: string) => {
    const words = text.toLowerCase().match(/[a-z]{3,}/g) ?? []
    return words.slice(1).map((word, i) => `${words[i]} ${word}`)
  }
  const there = new Map<string, number>()
  for (const pair of pairs(read)) there.set(pair, (there.get(pair) ?? 0) + 1)
  const expected = pairs(made)
  const agreed = expected.filter((pair) => {
    const left = there.get(pair) ?? 0
    there.set(pair, left - 1)
    return left > 0
  })
  return agreed.length / expected.length
}

const guide = [
  "# The hive",
  "sixty thousand workers",
  "## Frames and supers",
  "Smoke the entrance.",
  "Slowly.",
  "## Feeding"
]
const feeding = ["| Month | Syrup | Litres |", "| October | 3:2 | 12 |"]

describe("documents", () => {
  it.effect("HTML: the main content, without what stands around it, each block with its line", () =>
    Effect.gen(function* () {
      const page = document(yield* load("page.html"))
      assert.strictEqual(page.title, "Rotating keys – Handbook")
      assert.strictEqual(page.metadata["description"], "How keys are rotated")
      inOrder(
        page.content,
        "# Rotating keys\n",
        "every ninety days. Use `keys rotate`.",
        "## By hand",
        "1. Make a key.",
        "  - on the server"
      )
      inOrder(page.content, "```sh\nkeys make > new.key\nkeys swap\n```", "| Kind | Days |", "| user | 90 |")
      for (const around of ["Install", "cookies", "©", "track()", "¶"]) assert.notInclude(page.content, around)
      assert.strictEqual(cited(page, "keys make"), ":15")
    })
  )

  it.effect("HTML in another encoding is read in the one that it names", () =>
    Effect.gen(function* () {
      const head = Buffer.from('<html><head><meta charset="shift_jis"></head><body><p>')
      const words = Uint8Array.of(0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea)
      const page = document(
        yield* load("page.html", Buffer.concat([head, words, words, words, Buffer.from("</p></body></html>")]))
      )
      assert.include(page.content, "日本語")
    })
  )

  for (const name of ["guide.docx", "guide.odt", "guide.epub"]) {
    it.effect(`${name}: headings, lists, tables, code and notes in order, title and author`, () =>
      Effect.gen(function* () {
        const { content, metadata, title } = document(yield* load(name))
        assert.strictEqual(title, "Keeping bees")
        assert.strictEqual(metadata["author"], "Ada Winter")
        inOrder(content, ...guide, ...feeding, "def syrup(sugar, water):\n    return sugar / water", "# Winter")
        assert.include(content, "Some keepers wait for eight.")
      })
    )
  }

  it.effect("a book's chapters are cited by their file", () =>
    Effect.gen(function* () {
      assert.match(cited(document(yield* load("guide.epub")), "oxalic acid"), /^#EPUB\/text\/ch00\d\.xhtml$/)
    })
  )

  it.effect("FictionBook: sections under their titles", () =>
    Effect.gen(function* () {
      const { content, title } = document(yield* load("guide.fb2"))
      assert.strictEqual(title, "Keeping bees")
      inOrder(content, "The hive", "Frames and supers", "Winter", "oxalic acid")
    })
  )

  for (const name of ["slides.pptx", "slides.odp"]) {
    it.effect(`${name}: slides in order, their title as heading, their notes, each cited by its number`, () =>
      Effect.gen(function* () {
        const slides = document(yield* load(name))
        inOrder(
          slides.content,
          "## The colony",
          "Sixty thousand workers",
          "## Food",
          "March",
          "## Winter",
          "oxalic acid"
        )
        assert.include(slides.content, "Ask who has been stung.")
        assert.strictEqual(cited(slides, "oxalic acid"), "#slide=4")
      })
    )
  }

  for (const name of ["staff.xlsx", "staff.ods"]) {
    it.effect(`${name}: each row with its header, dates as dates, cited by sheet and cell`, () =>
      Effect.gen(function* () {
        const staff = document(yield* load(name))
        assert.include(staff.content, "Name: Cleo Herbst; Born: 1990-07-19; Salary: 61000; Town: Mulhouse")
        assert.strictEqual(cited(staff, "Cleo Herbst"), "#staff!A4")
      })
    )
  }

  it.effect("CSV: each row with its header, cited by its line", () =>
    Effect.gen(function* () {
      const staff = document(yield* load("staff.csv"))
      assert.include(staff.content, "- Name: Ben Sommer; Born: 1975-11-30; Salary: 48000; Town: Basel, Switzerland")
      assert.strictEqual(cited(staff, "Ben Sommer"), ":3")
      const semicolons = document(yield* load("a.csv", strToU8('Ort;Preis\nBasel;"3,50"\nBern;"4,10"\n')))
      assert.include(semicolons.content, "- Ort: Bern; Preis: 4,10")
    })
  )

  it.effect("PDF: headings, lists and tables, words parted at a line's end joined, each page cited", () =>
    Effect.gen(function* () {
      const { content } = document(yield* load("guide.pdf"))
      inOrder(
        content,
        "The hive",
        "Bees live in a hive. A strong colony has sixty thousand workers in June.",
        "Smoke the entrance.",
        "Feeding"
      )
      inOrder(content, "March", "1:1", "October", "3:2", "12")
    })
  )

  it.effect("PDF: two columns are read one after the other", () =>
    Effect.gen(function* () {
      const paper = document(yield* load("paper.pdf"))
      // The text that the page was made from, as far as it is random sentences.
      const made = readFileSync(fileURLToPath(new URL("../../fixtures/documents/paper.txt", import.meta.url)), "utf8")
      assert.isAtLeast(agreement(made, paper.content.slice(paper.content.indexOf("Introduction"))), 0.95)
      assert.strictEqual(cited(paper, "lighthouse"), `#page=${String(paper.metadata["pages"])}`)
    })
  )

  it.effect("PDF: each page is cited as itself, whatever a table of contents leaves out before it", () =>
    Effect.gen(function* () {
      const entries = Array.from({ length: 20 }, (_, i) => ({
        text: `Chapter ${i + 1} ${" .".repeat(60)} ${i + 2}`,
        y: 700 - 20 * i
      }))
      const pages = Array.from({ length: 20 }, (_, i) => [{ text: `Words of page ${i + 2} about bees`, y: 700 }])
      const book = document(yield* load("book.pdf", pdfOf([entries, ...pages])))
      assert.include(book.content, "Chapter 1 …")
      for (const page of [2, 11, 21]) assert.strictEqual(cited(book, `Words of page ${page} about`), `#page=${page}`)
    })
  )

  for (const [name, least] of [
    ["onecolumn.pdf", 0.98],
    ["twocolumn.pdf", 0.95]
  ] as const) {
    it.effect(`PDF: ${name}, as LaTeX sets it, gives the words of its source in their order`, () =>
      Effect.gen(function* () {
        const { content } = document(yield* load(name))
        const tex = new TextDecoder().decode(fixture("sources/columns.tex"))
        const body = tex.slice(tex.indexOf("\\section"), tex.indexOf("\\end{document}")).replaceAll("\\section", "")
        assert.isAtLeast(agreement(body, content.slice(content.indexOf("Part A"))), least)
      })
    )
  }

  it.effect("PDF: an encrypted one and one of pictures are reported as such", () =>
    Effect.gen(function* () {
      assert.include(String(yield* Effect.flip(load("encrypted.pdf"))), "it is encrypted: save it without a password")
      assert.include(
        String(yield* Effect.flip(load("scanned.pdf", pdfOf([[], []])))),
        "no text in its 2 pages: they are pictures"
      )
    })
  )

  it.effect("PDF: a sentence that goes on over the page is one, and what follows is cited by its page", () =>
    Effect.gen(function* () {
      const pages = [
        [{ text: "The queen lays her eggs in spring, and the wor-", y: 100 }],
        [
          { text: "kers feed the brood, which needs warmth", y: 700 },
          { text: "and is never left alone, not for", y: 688 },
          { text: "an hour.", y: 676 },
          { text: "A new thought.", y: 648 }
        ]
      ]
      const book = document(yield* load("over.pdf", pdfOf(pages)))
      assert.strictEqual(
        book.content,
        "The queen lays her eggs in spring, and the workers feed the brood, which needs warmth and is never left alone, not for an hour.\n\nA new thought."
      )
      assert.strictEqual(cited(book, "kers feed"), "#page=2")
      assert.strictEqual(cited(book, "A new thought"), "#page=2")
    })
  )

  it.effect("PDF: what is set in bold after a number is a heading, and a line of code a paragraph of its own", () =>
    Effect.gen(function* () {
      const { content } = document(
        yield* load(
          "linking.pdf",
          pdfOf([
            [
              { text: "1.3 Linking", font: "Times-Bold", y: 700 },
              {
                text: "If the library is installed in the default location, the following command may be used:",
                y: 680
              },
              { text: "$ gcc sample.o -lglpk", font: "Courier", y: 666 },
              { text: "If it is not, the directory that holds it should be made known to the linker.", y: 652 }
            ]
          ])
        )
      )
      inOrder(content, "# 1.3 Linking\n\nIf the", "used:\n\n$ gcc sample.o -lglpk\n\nIf it")
    })
  )

  it.effect("HTML: a section is read whatever its id is made of, and a heading that links back keeps its words", () =>
    Effect.gen(function* () {
      const section = (id: string, title: string) =>
        `<section id="${id}"><h2><a class="toc-backref" href="#id1">${title}</a><a class="headerlink" href="#${id}">¶</a></h2><p>Words on ${id}.</p></section>`
      const page = document(
        yield* load(
          "faq.html",
          strToU8(
            `<html><body><div id="cookie-banner">We use cookies.</div><main><h1>Questions</h1>${[
              section("cookie-objects", "Cookie Objects"),
              section("how-do-i-share-global-variables-across-modules", "How do I share global variables?"),
              section("comments", "Comments")
            ].join(
              ""
            )}<dl><dt id="jar.make_cookies">jar.make_cookies()</dt><dd>Makes them.</dd></dl><aside class="footnote">A note on it.</aside><aside>Our offers</aside></main></body></html>`
          )
        )
      )
      inOrder(page.content, "## Cookie Objects\n\nWords on cookie-objects.", "## How do I share global variables?")
      inOrder(page.content, "## Comments\n\nWords on comments.", "jar.make_cookies()", "A note on it.")
      for (const around of ["We use cookies", "Our offers", "¶"]) assert.notInclude(page.content, around)
    })
  )

  it.effect("a notebook: Markdown and code, without outputs, cited by its cell", () =>
    Effect.gen(function* () {
      const book = {
        metadata: { language_info: { name: "python" } },
        cells: [
          { cell_type: "markdown", source: ["# Bees\n", "Counted."] },
          { cell_type: "code", source: "hives = 3", outputs: [{ text: "secret output" }] }
        ]
      }
      const loaded = document(yield* load("count.ipynb", strToU8(JSON.stringify(book))))
      inOrder(loaded.content, "# Bees\nCounted.", "```python\nhives = 3\n```")
      assert.notInclude(loaded.content, "secret")
      assert.strictEqual(cited(loaded, "hives = 3"), "#cell=2")
    })
  )

  it.effect("subtitles: sentences joined over cues, cited by their time", () =>
    Effect.gen(function* () {
      const talk = document(yield* load("talk.srt"))
      assert.include(talk.content, "Welcome to the talk about keeping bees in winter.")
      assert.strictEqual(cited(talk, "Oxalic acid is given at three degrees."), "#t=00:12:31")
    })
  )

  it.effect("mail: subject, sender and date, what is quoted apart, and what is attached", () =>
    Effect.gen(function* () {
      const loaded = yield* load("letter.eml")
      const letter = document(loaded)
      assert.strictEqual(letter.title, "Straße gesperrt")
      assert.deepInclude(letter.metadata, {
        from: "Ada Winter <ada@example.org>",
        to: ["Ben Sommer <ben@example.org>"]
      })
      inOrder(letter.content, "closed until April.", "> Shall I bring the frames tomorrow?")
      assert.notInclude(letter.content, "\nAda")
      const hives = document(loaded, 1)
      assert.strictEqual(hives.record, "hives.csv")
      assert.include(hives.content, "Hive: South; Queen: 2024")
    })
  )

  it.effect("what a mail carries is read as files of its kind are, but for signatures", () =>
    Effect.gen(function* () {
      const part = (name: string, type: string, body: string) =>
        `--b\r\nContent-Type: ${type}; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"\r\n\r\n${body}\r\n`
      const source =
        "From: ada@example.org\r\nSubject: Notes\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" +
        "--b\r\nContent-Type: text/plain\r\n\r\nSee what is attached.\r\n" +
        part("../notes.md", "text/markdown", "# Swarms\n\nOne in the belfry.") +
        part("hives.jsonl", "application/json", '{"_id":"h1","text":"A hive by the quarry."}') +
        part("signature.asc", "application/pgp-signature", "-----BEGIN PGP SIGNATURE-----") +
        part("tide.txt", "text/plain", "High water at noon.") +
        "--b--\r\n"
      const loaded = yield* load("notes.eml", strToU8(source))
      assert.deepStrictEqual(
        loaded.map((each) => (each._tag === "Loaded" ? [each.record, each.format] : each.reason)),
        [
          [undefined, "markdown"],
          ["notes.md", "markdown"],
          ["hives.jsonl/h1", "text"],
          ["tide.txt", "text"]
        ]
      )
    })
  )

  it.effect("a mailbox: a document a mail, with the line it begins on", () =>
    Effect.gen(function* () {
      const loaded = yield* load("list.mbox")
      assert.deepStrictEqual(
        loaded.map((each) => (each._tag === "Loaded" ? each.title : each.reason)),
        ["Queen lost", "Re: Queen lost"]
      )
      assert.strictEqual(document(loaded, 0).line, 2)
    })
  )
})

describe("damaged documents", () => {
  it.live("a file that takes too long is given up, and the next one is read", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const take = yield* Extractor.make({ parseTimeoutMs: 1, parseMemoryMb: 512 })
        const slow = yield* Effect.flip(take("/a.pdf", "pdf", fixture("paper.pdf")))
        assert.include(slow.reason, "limits.parse_timeout_ms")
        const patient = yield* Extractor.make(limits)
        assert.include(
          (yield* patient("/a.srt", "subtitles", "1\n00:00:01,000 --> 00:00:02,000\nWords\n")).text,
          "Words"
        )
      })
    )
  )
})
