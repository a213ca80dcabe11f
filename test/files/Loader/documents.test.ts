import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { strToU8, zipSync } from "fflate"
import type { Loaded, LoadedDocument } from "../../../src/files/Loader.ts"
import { MarkdownWriter } from "../../../src/extraction/MarkdownWriter.ts"
import * as Extractor from "../../../src/files/Loader/Extractor.ts"
import { whyNot } from "../../../src/files/Loader/failure.ts"
import { metadataFault } from "../../../src/model/Document.ts"
import { fragment, markAt } from "../../../src/model/Locator.ts"
import { pdfOf } from "./pdfOf.ts"
import { document, fixture, inOrder, layer, load as loadBytes, related, zipped } from "./loading.ts"

const load = (name: string, bytes: Uint8Array = fixture(name)) => loadBytes(name, bytes)

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

it.layer(layer)("documents", (it) => {
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

  it.effect("windows-1252 has its quotes and the euro where mail, RTF or HTML names it, also as Latin-1", () =>
    Effect.gen(function* () {
      const latin = (text: string) => Uint8Array.from(Buffer.from(text, "latin1"))
      const words = "It\x92s \x80 5 \x96 \x93done\x94"
      const expected = "It’s € 5 – “done”"
      for (const [name, source] of [
        ["a.eml", `From: a@b.c\nContent-Type: text/plain; charset=windows-1252\n\n${words}\n`],
        ["a.html", `<html><head><meta charset=iso-8859-1></head><body><p>${words}</p></body></html>`],
        ["a.rtf", String.raw`{\rtf1\ansi\ansicpg1252 It\'92s \'80 5 \'96 \'93done\'94\par}`]
      ] as const)
        assert.strictEqual(document(yield* load(name, latin(source))).content, expected, name)
      const page = `Content-Type: text/html; charset=latin1\nSubject: =?windows-1252?Q?It=92s_=80_5?=\nTo: =?cp1252?Q?Ann_=80?= <a@b.c>\n\n<p>${words}</p>\n`
      const { content, metadata, title } = document(yield* load("b.eml", latin(page)))
      assert.deepStrictEqual([title, content, metadata["to"]], ["It’s € 5", expected, ["Ann € <a@b.c>"]])
    })
  )

  it.effect("chapters of EPUB are read in the encoding that they show or declare", () =>
    Effect.gen(function* () {
      const chapter = (encoding: string) =>
        `<?xml version="1.0" encoding="${encoding}"?><html><body><p>Ein Bär über „Öl“</p></body></html>`
      const western = chapter("windows-1252").replace("„", "\x84").replace("“", "\x93")
      const chapters: Readonly<Record<string, Uint8Array>> = {
        "1": Buffer.from(`\ufeff${chapter("utf-16")}`, "utf16le"),
        "2": Buffer.from(chapter("UTF-16"), "utf16le").swap16(),
        "3": Buffer.from(western, "latin1"),
        "4": strToU8(chapter("iso-8859-1"))
      }
      const names = Object.keys(chapters)
      const book = zipSync({
        mimetype: strToU8("application/epub+zip"),
        "META-INF/container.xml": strToU8('<container><rootfile full-path="b.opf"/></container>'),
        "b.opf": strToU8(
          `<package><manifest>${names.map((name) => `<item id="${name}" href="${name}.html"/>`).join("")}</manifest><spine>${names.map((name) => `<itemref idref="${name}"/>`).join("")}</spine></package>`
        ),
        ...Object.fromEntries(names.map((name) => [`${name}.html`, chapters[name]!]))
      })
      assert.strictEqual(
        document(yield* load("a.epub", book)).content,
        names.map(() => "Ein Bär über „Öl“").join("\n\n")
      )
    })
  )

  it.effect("CSV: by whatever delimits its cells", () =>
    Effect.gen(function* () {
      const semicolons = document(yield* load("a.csv", strToU8('Ort;Preis\nBasel;"3,50"\nBern;"4,10"\n')))
      assert.include(semicolons.content, "- Ort: Bern; Preis: 4,10")
      const named = document(yield* load("b.csv", strToU8("sep=;\r\nOrt;Preis, roh\r\nBasel;1,5\r\n")))
      assert.strictEqual(named.content.trim(), "- Ort: Basel; Preis, roh: 1,5")
      assert.deepStrictEqual(
        named.marks?.map(({ line }) => line),
        [3]
      )
    })
  )

  it.effect(
    "CSV: cells of several lines do not hide the delimiter, and rows after blank lines are cited by theirs",
    () =>
      Effect.gen(function* () {
        const notes = 'Name;Note;City\nAnn;"first\n\nsecond\n\nthird";Paris\n\n\nBob;"one\n\ntwo";Rome\n'
        const table = document(yield* load("a.csv", strToU8(notes)))
        assert.strictEqual(
          table.content,
          "- Name: Ann; Note: first second third; City: Paris\n- Name: Bob; Note: one two; City: Rome"
        )
        assert.strictEqual(cited(table, "third"), ":6")
        assert.strictEqual(cited(table, "Paris"), ":6")
        assert.strictEqual(cited(table, "Bob"), ":9")
        const header = document(yield* load("h.csv", strToU8('Name,"Note\nof it"\r\nAnn,"a\r\nb"\r\nBob,c\r\n')))
        assert.strictEqual(header.content, "- Name: Ann; Note of it: a b\n- Name: Bob; Note of it: c")
        const gap = document(yield* load("b.csv", strToU8("a,b\r\nx,y\r\n\r\n\r\n\r\nzebra,w\r\n")))
        assert.strictEqual(cited(gap, "zebra"), ":6")
      })
  )

  it.effect("PDF: what stands before its first line makes no difference", () =>
    Effect.gen(function* () {
      const pdf = pdfOf([[{ text: "Words of a page about bees", y: 700 }]])
      for (const before of ["\n", "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", `${"\0".repeat(900)}\n`]) {
        const loaded = yield* load("a.pdf", Buffer.concat([Buffer.from(before), pdf]))
        assert.strictEqual(document(loaded).content, "Words of a page about bees")
      }
      const spaced = yield* load("scan", Buffer.concat([Buffer.from("\r\n"), pdf]))
      assert.strictEqual(document(spaced).content, "Words of a page about bees")
      const notes = "A PDF begins with a line\n%PDF-1.4\nand goes on.\n"
      assert.strictEqual(document(yield* load("notes.txt", strToU8(notes))).content, notes)
    })
  )

  it.effect("PDF: two columns are read one after the other", () =>
    Effect.gen(function* () {
      const paper = document(yield* load("paper.pdf"))
      // The text that the page was made from, as far as it is random sentences.
      const made = new TextDecoder().decode(fixture("paper.txt"))
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

  it.effect("PDF: an encrypted one and those of pictures are reported as such", () =>
    Effect.gen(function* () {
      const reasonOf = (name: string, bytes?: Uint8Array) =>
        Effect.map(Effect.flip(load(name, bytes)), ({ reason }) => reason)
      assert.include(yield* reasonOf("encrypted.pdf"), "it is encrypted: save it without a password")
      assert.include(yield* reasonOf("empty.pdf", pdfOf([[], []])), "no text in its 2 pages: they are pictures")
      const scan = "no text in its 1 pages: they are pictures; run OCR over it first"
      assert.strictEqual(yield* reasonOf("scan.pdf"), scan)
    })
  )

  it.effect("a running head is left out though its page's number stands apart from it", () =>
    Effect.gen(function* () {
      const pages = [1, 2].map((page) => [
        { text: "Chapter 2: Combs", y: 760 },
        { text: String(page), x: 500, y: 760 },
        { text: `Words of page ${page} about bees and their combs.`, y: 600 }
      ])
      const { content } = document(yield* load("head.pdf", pdfOf(pages)))
      assert.strictEqual(content, [1, 2].map((n) => `Words of page ${n} about bees and their combs.`).join("\n\n"))
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

  it.effect("PDF: a ligature that its font maps to no letter is read from the glyph's name", () =>
    Effect.gen(function* () {
      const head =
        "begincmap 1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <20> <7e> <0020> endbfrange"
      const page = [
        { text: "The o\u0001ce \u0002les, \u0003ve of them, are a \u0004nal \u0005 of the \u0006ux", y: 700 }
      ]
      for (const to of ["0000", ""]) {
        const chars = [1, 2, 3, 4, 5, 6].map((code) => `<0${code}> <${to}>`).join(" ")
        const glyphs = {
          names: "/ffi /fi /f_i /uniFB01 /nameless /fl.alt",
          toUnicode: `${head} 6 beginbfchar ${chars} endbfchar endcmap`
        }
        const { content } = document(yield* load("ligatures.pdf", pdfOf([page, page], { glyphs })))
        inOrder(content, "The office files, five of them, are a final", "of the flux")
      }
    })
  )

  it.effect("PDF: fonts that name one of PDF's own CMaps are read, and one that there is not leaves the rest", () =>
    Effect.gen(function* () {
      const named: ReadonlyArray<readonly [name: string, collection: string, bytes: string, text: string]> = [
        ["90ms-RKSJ-H", "Japan1", "\x93\xfa\x96{\x8c\xea", "日本語"],
        ["UniJIS-UTF16-H", "Japan1", "\x65\xe5\x67\x2c\x8a\x9e", "日本語"],
        ["GBK-EUC-H", "GB1", "\xd6\xd0\xce\xc4\xce\xc4\xbc\xfe", "中文文件"],
        ["ETen-B5-H", "CNS1", "\xc1c\xc5\xe9\xa4\xa4\xa4\xe5", "繁體中文"],
        ["KSCms-UHC-H", "Korea1", "\xc7\xd1\xb1\xb9\xbe\xee", "한국어"]
      ]
      for (const [name, collection, bytes, text] of named) {
        const pages = [[{ text: bytes, y: 700 }]]
        const { content } = document(yield* load("asian.pdf", pdfOf(pages, { cmap: { name, collection } })))
        assert.strictEqual(content.trim(), text, name)
      }
      const unknown = pdfOf([[{ text: "\x93\xfa", y: 700 }]], {
        cmap: { name: "../90ms-RKSJ-H", collection: "Japan1" },
        note: "Pay by Friday"
      })
      assert.include(document(yield* load("unknown.pdf", unknown)).content, "Pay by Friday")
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
            )}<dl><dt id="jar.make_cookies">jar.make_cookies()</dt><dd>Makes them.</dd></dl><aside class="footnote">A note on it.</aside><aside>Our offers</aside><ul class="docnav"><li><a href="shell.html">Shell setup</a></li></ul></main></body></html>`
          )
        )
      )
      inOrder(page.content, "## Cookie Objects\n\nWords on cookie-objects.", "## How do I share global variables?")
      inOrder(page.content, "## Comments\n\nWords on comments.", "jar.make_cookies()", "A note on it.")
      for (const around of ["We use cookies", "Our offers", "¶", "Shell setup"]) assert.notInclude(page.content, around)
    })
  )

  it.effect("subtitles: signs that are written as entities", () =>
    Effect.gen(function* () {
      const cue = "WEBVTT\n\n00:01.000 --> 00:02.000\n- Bob:&nbsp;R&amp;D &#x26; &lt;b&gt; AT&T &nobody; &copy 5\n"
      assert.strictEqual(
        document(yield* load("a.vtt", strToU8(cue))).content,
        "\\- Bob: R&D & <b> AT&T &nobody; &copy 5"
      )
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
})

/** The parts of a presentation whose only slide shows the first chart. */
const chartSlide = {
  "ppt/presentation.xml": '<p:presentation><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>',
  "ppt/_rels/presentation.xml.rels": related(["r1", "slides/slide1.xml"]),
  "ppt/slides/slide1.xml":
    '<p:sld><p:cSld><p:spTree><p:graphicFrame><a:graphic><c:chart r:id="r2"/></a:graphic></p:graphicFrame></p:spTree></p:cSld></p:sld>',
  "ppt/slides/_rels/slide1.xml.rels": related(["r2", "../charts/chart1.xml"])
}

it.layer(layer)("what stands around the text", (it) => {
  const sheet = (...rows: ReadonlyArray<ReadonlyArray<string>>) => merged("", ...rows)
  const merged = (more: string, ...rows: ReadonlyArray<ReadonlyArray<string>>) =>
    zipped({
      "xl/workbook.xml": '<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
      "xl/_rels/workbook.xml.rels": related(["r1", "worksheets/sheet1.xml"]),
      "xl/worksheets/sheet1.xml": `<worksheet><sheetData>${rows
        .map((cells, row) => {
          const shown = cells.map((cell, column) =>
            cell === "" ? "" : `<c r="${"ABCDE"[column]}${row + 1}" t="inlineStr"><is><t>${cell}</t></is></c>`
          )
          return `<row r="${row + 1}">${shown.join("")}</row>`
        })
        .join("")}</sheetData>${more}</worksheet>`
    })

  it.effect("a sheet's merged title is a paragraph, and columns keep their names", () =>
    Effect.gen(function* () {
      const titled = yield* load(
        "a.xlsx",
        sheet(
          ["Staff of 2026", "", ""],
          ["as of May"],
          ["name", "role", "town"],
          ["Ada", "keeper", "Bath"],
          ["Bea", "baker", "York"]
        )
      )
      assert.strictEqual(
        document(titled).content,
        "## S\n\nStaff of 2026\n\nas of May\n\n- name: Ada; role: keeper; town: Bath\n- name: Bea; role: baker; town: York"
      )
      const grouped = yield* load(
        "b.xlsx",
        sheet(
          ["", "Spring", "", "Autumn", ""],
          ["hive", "eggs", "brood", "eggs", "brood"],
          ["quarry", "9", "8", "7", "6"],
          ["belfry", "5", "4", "3", "2"]
        )
      )
      assert.include(
        document(grouped).content,
        "- hive: quarry; Spring eggs: 9; Spring brood: 8; Autumn eggs: 7; Autumn brood: 6"
      )
      const plain = yield* load("c.csv", strToU8("name,town\nAda,Bath\nBea,York\n"))
      assert.strictEqual(document(plain).content, "- name: Ada; town: Bath\n- name: Bea; town: York")
    })
  )

  it.effect("PDF: a text that somebody wrote on a page is read, unless it is hidden", () =>
    Effect.gen(function* () {
      const bytes = pdfOf([[]], { note: "Pay by Friday", hidden: "Nobody sees this" })
      assert.strictEqual(document(yield* load("note.pdf", bytes)).content.trim(), "Pay by Friday")
    })
  )

  it.effect("RTF: paragraphs, headings, tables, its code page and Unicode, without fonts, pictures and fields", () =>
    Effect.gen(function* () {
      const source =
        String.raw`{\rtf1\ansi\ansicpg1251\uc1{\fonttbl{\f0 Times;}}{\colortbl;\red0;}{\*\generator Riched;}` +
        String.raw`{\info{\title Tides of May}{\author Ada}}{\header page one}` +
        String.raw`\pard\outlinelevel0 The \b bay\b0\par\pard The moon pulls the sea \endash  twice a day.\par` +
        "\r\n" +
        String.raw`\'d2\'e5\'ea\'f1\'f2 \u8364?5 \{a\}\par{\pict 0102ff}\trowd month\cell litres\cell\row May\cell 9\cell\row` +
        String.raw`{\field{\*\fldinst HYPERLINK "x"}{\fldrslt a link}} ends.\par}`
      const loaded = yield* load("a.rtf", strToU8(source))
      assert.strictEqual(document(loaded).title, "Tides of May")
      assert.strictEqual(
        document(loaded).content,
        "# The bay\n\nThe moon pulls the sea \u2013 twice a day.\n\n\u0422\u0435\u043a\u0441\u0442 \u20ac5 {a}\n\nmonth | litres\n\nMay | 9\n\na link ends."
      )
      const deep = yield* Effect.flip(load("b.rtf", strToU8(`{\\rtf1 ${"{".repeat(3000)}a`)))
      assert.include(deep.message, "nested more than 2000 deep")
    })
  )

  it.effect("old Office files that are not read are named, with what to save them as; damaged ones end", () =>
    Effect.gen(function* () {
      // The header, the table of sectors, and the directory: the root, a stream, a storage, and a stream in that.
      const compound = (name: string, embedded = "Anything") => {
        const file = Buffer.alloc(512 * 3)
        Buffer.from("d0cf11e0a1b11ae1", "hex").copy(file)
        file.writeUInt16LE(0xfffe, 28)
        file.writeUInt16LE(9, 30)
        file.writeUInt16LE(6, 32)
        for (const [at, value] of [
          [44, 1],
          [48, 1],
          [56, 4096],
          [60, -2],
          [68, -2],
          [512, -3],
          [516, -2]
        ] as const) {
          file.writeInt32LE(value, at)
        }
        const entry = (at: number, name: string, type: number, right: number, child: number) => {
          const from = 1024 + at * 128
          file.write(name, from, "utf16le")
          file.writeUInt16LE((name.length + 1) * 2, from + 64)
          file.writeUInt8(type, from + 66)
          for (const [n, value] of [-1, right, child].entries()) file.writeInt32LE(value, from + 68 + 4 * n)
          file.writeInt32LE(-2, from + 116)
        }
        entry(0, "Root Entry", 5, -1, 1)
        entry(1, name, 2, 2, -1)
        entry(2, "Storage", 1, -1, 3)
        entry(3, embedded, 2, -1, -1)
        return file
      }
      for (const [name, reason] of [
        ["PowerPoint Document", "save it as PPTX"],
        ["Book", "Excel 95 or older: save it as XLSX"],
        ["EncryptedPackage", "it is encrypted: save it without a password"],
        ["WordDocument", "damaged"],
        ["Anything", "a compound file of an unknown kind"]
      ] as const) {
        assert.include((yield* Effect.flip(load("a.doc", compound(name)))).message, reason)
      }
      const holding = yield* Effect.flip(load("a.doc", compound("Anything", "WordDocument")))
      assert.include(holding.message, "a compound file of an unknown kind")
      const capitals = Buffer.from(fixture("staff.xls"))
      capitals.write("WORKBOOK", capitals.indexOf(Buffer.from("Workbook\0", "utf16le")), "utf16le")
      assert.strictEqual(
        document(yield* load("a.xls", capitals)).content,
        document(yield* load("a.xls", fixture("staff.xls"))).content
      )
      // The table of short sectors is longer than its header says.
      const longer = Buffer.from(fixture("staff.xls"))
      longer.writeInt32LE(longer.readInt32LE(64) + 1, 64)
      assert.include(document(yield* load("a.xls", longer)).content, "Ada")
      const circle = Buffer.from(fixture("guide.doc"))
      // The directory's last sector, 38, is followed by its first, 37.
      circle.writeInt32LE(37, 512 + 38 * 4)
      const error = yield* Effect.flip(load("b.doc", circle))
      assert.include(error.message, "its sectors lead back to themselves")
    })
  )

  it.effect("a chart on a slide is the table of its data", () =>
    Effect.gen(function* () {
      const points = (...values: ReadonlyArray<string>) =>
        `<c:pts>${values.map((value, at) => `<c:pt idx="${at}"><c:v>${value}</c:v></c:pt>`).join("")}</c:pts>`
      const series = (name: string, ...values: ReadonlyArray<string>) =>
        `<c:ser><c:tx>${points(name)}</c:tx><c:cat>${points("March", "May")}</c:cat><c:val>${points(...values)}</c:val></c:ser>`
      const loaded = yield* load(
        "a.pptx",
        zipped({
          ...chartSlide,
          "ppt/charts/chart1.xml": `<c:chartSpace><c:chart><c:title><a:p><a:r><a:t>Honey by month</a:t></a:r></a:p></c:title><c:plotArea>${series("quarry", "3", "9")}${series("belfry", "2", "7")}</c:plotArea></c:chart></c:chartSpace>`
        })
      )
      const { content } = document(loaded)
      assert.include(content, "Honey by month")
      assert.include(content, "| quarry | belfry |")
      assert.include(content, "| March | 3 | 2 |\n| May | 9 | 7 |")
    })
  )

  it.effect("shapes with an alternative are read once, and diagrams as lists", () =>
    Effect.gen(function* () {
      const words = (text: string) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`
      const shape = (text: string) => `<p:sp><p:txBody>${words(text)}</p:txBody></p:sp>`
      const point = (text: string) => `<dgm:pt><dgm:t>${words(text)}</dgm:t></dgm:pt>`
      const { content } = document(
        yield* load(
          "a.pptx",
          zipped({
            ...chartSlide,
            "ppt/slides/slide1.xml": `<p:sld><p:cSld><p:spTree><mc:AlternateContent><mc:Choice>${shape("Spring tides follow")}</mc:Choice><mc:Fallback>${shape("A picture")}</mc:Fallback></mc:AlternateContent><p:graphicFrame><a:graphic><dgm:relIds r:dm="r2"/></a:graphic></p:graphicFrame></p:spTree></p:cSld></p:sld>`,
            "ppt/slides/_rels/slide1.xml.rels": related(["r2", "../diagrams/data1.xml"]),
            "ppt/diagrams/data1.xml": `<dgm:dataModel><dgm:ptLst>${point("President")}<dgm:pt/>${point("Keeper")}</dgm:ptLst></dgm:dataModel>`
          })
        )
      )
      assert.strictEqual(content, "Spring tides follow\n\n- President\n- Keeper")
    })
  )

  it.effect("a chart's dates are dates, and its categories of two levels have both", () =>
    Effect.gen(function* () {
      const points = (...values: ReadonlyArray<readonly [at: number, value: string]>) =>
        values.map(([at, value]) => `<c:pt idx="${at}"><c:v>${value}</c:v></c:pt>`).join("")
      const values = `<c:val>${points([0, "1"], [1, "2"], [2, "3"])}</c:val>`
      const chart = (categories: string) =>
        load(
          "a.pptx",
          zipped({
            ...chartSlide,
            "ppt/charts/chart1.xml": `<c:chartSpace><c:ser><c:cat>${categories}</c:cat>${values}</c:ser></c:chartSpace>`
          })
        )
      const dated = yield* chart(
        `<c:numRef><c:numCache><c:formatCode>yyyy\\-mm\\-dd</c:formatCode>${points([0, "45292"], [1, "45323"], [2, "45352"])}</c:numCache></c:numRef>`
      )
      assert.include(document(dated).content, "| 2024-01-01 | 1 |\n| 2024-02-01 | 2 |\n| 2024-03-01 | 3 |")
      const nested = yield* chart(
        `<c:multiLvlStrRef><c:multiLvlStrCache><c:lvl>${points([0, "East"], [1, "West"], [2, "North"])}</c:lvl><c:lvl>${points([0, "Honey"], [2, "Wax"])}</c:lvl></c:multiLvlStrCache></c:multiLvlStrRef>`
      )
      assert.include(document(nested).content, "| Honey East | 1 |\n| Honey West | 2 |\n| Wax North | 3 |")
    })
  )

  const spreadsheet = (rows: string) =>
    zipped({
      "content.xml": `<office:document-content><office:body><office:spreadsheet><table:table table:name="S">${rows}</table:table></office:spreadsheet></office:body></office:document-content>`
    })
  const cell = (text: string, more = "") => `<table:table-cell ${more}><text:p>${text}</text:p></table:table-cell>`
  const rest = (columns: number) => `<table:table-cell table:number-columns-repeated="${columns}"/>`

  it.effect("a sheet of LibreOffice, whose rows have 16384 cells, keeps its columns' names", () =>
    Effect.gen(function* () {
      const rows = [
        ["name", "town"],
        ["Ada", "Bath"],
        ["Bea", "York"]
      ].map((cells) => `<table:table-row>${cells.map((text) => cell(text)).join("")}${rest(16_382)}</table:table-row>`)
      const loaded = yield* load("a.ods", spreadsheet(rows.join("")))
      assert.strictEqual(document(loaded).content, "## S\n\n- name: Ada; town: Bath\n- name: Bea; town: York")
    })
  )

  it.effect("flat OpenDocument is read like a packed one, without the bytes of its pictures and its charts", () =>
    Effect.gen(function* () {
      const flat = (body: string) =>
        strToU8(
          `<?xml version="1.0" encoding="UTF-8"?>\n\n<office:document office:version="1.4"><office:meta><dc:title>Tides</dc:title></office:meta>` +
            `<office:automatic-styles><style:style style:name="P1" style:parent-style-name="Source_20_Code"/></office:automatic-styles>` +
            `<office:body>${body}</office:body></office:document>`
        )
      const picture =
        "<draw:frame><draw:image><office:binary-data>iVBORw0KGgo=</office:binary-data></draw:image></draw:frame>"
      const chart =
        "<draw:frame><draw:object><office:document><text:p>Axis</text:p></office:document></draw:object></draw:frame>"
      const words = `<text:h text:outline-level="2">Springs</text:h><text:p>At ${picture}new moon.${chart}</text:p><text:p text:style-name="P1">x = 1</text:p>`
      const { content, title } = document(yield* load("a.fodt", flat(`<office:text>${words}</office:text>`)))
      assert.deepStrictEqual([title, content], ["Tides", "## Springs\n\nAt new moon.\n\n```\nx = 1\n```"])
      const rows = [
        ["name", "town"],
        ["Ada", "Bath"]
      ].map((cells) => `<table:table-row>${cells.map((text) => cell(text)).join("")}</table:table-row>`)
      const sheet = `<office:spreadsheet><table:table table:name="S">${rows.join("")}</table:table></office:spreadsheet>`
      assert.strictEqual(document(yield* load("a.fods", flat(sheet))).content, "## S\n\n- name: Ada; town: Bath")
    })
  )

  it.effect("a cell that is merged downwards counts in each of its rows", () =>
    Effect.gen(function* () {
      const table = [
        ["region", "town", "mayor"],
        ["north", "Ayr", "Ann"],
        ["", "Bute", "Ben"],
        ["south", "Cork", "Cy"]
      ]
      const expected =
        "- region: north; town: Ayr; mayor: Ann\n- region: north; town: Bute; mayor: Ben\n- region: south; town: Cork; mayor: Cy"
      const excel = yield* load("a.xlsx", merged('<mergeCells><mergeCell ref="A2:A3"/></mergeCells>', ...table))
      assert.strictEqual(document(excel).content, `## S\n\n${expected}`)
      const rows = table.map((cells) =>
        cells.map((text) =>
          text === ""
            ? "<table:covered-table-cell/>"
            : cell(text, text === "north" ? 'table:number-rows-spanned="2" table:number-columns-spanned="1"' : "")
        )
      )
      const open = yield* load(
        "a.ods",
        spreadsheet(rows.map((cells) => `<table:table-row>${cells.join("")}${rest(9)}</table:table-row>`).join(""))
      )
      assert.strictEqual(document(open).content, `## S\n\n${expected}`)
      // In a header of two rows, as in each.
      const header = merged(
        '<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="D1:E1"/></mergeCells>',
        ["port", "high water", "", "low water", ""],
        ["", "time", "height", "time", "height"],
        ["Ayr", "4", "6", "11", "1"]
      )
      assert.include(
        document(yield* load("b.xlsx", header)).content,
        "- port: Ayr; high water time: 4; high water height: 6; low water time: 11; low water height: 1"
      )
    })
  )

  it.effect("years in order name their columns, and those of records do not", () =>
    Effect.gen(function* () {
      const table = (name: string, text: string) =>
        Effect.map(load(name, strToU8(text)), (each) => document(each).content)
      assert.strictEqual(
        yield* table("a.csv", "Country,2019,2020,2021\nDE,1,2,3\nFR,4,1500,\n"),
        "- Country: DE; 2019: 1; 2020: 2; 2021: 3\n- Country: FR; 2019: 4; 2020: 1500"
      )
      const sheeted = yield* load("a.xlsx", sheet(["Port", "2021", "2020"], ["Ayr", "9", "8"], ["Bute", "7", "6"]))
      assert.include(document(sheeted).content, "- Port: Bute; 2021: 7; 2020: 6")
      for (const [name, first] of [
        ["born and moved", "Ann,1984,1990\nBob,1985,1991\n"],
        ["a price", "Widget,1200\nGadget,800\n"],
        ["prices near each other", "Widget,1500,1505\nGadget,800,900\n"],
        ["prices", "Widget,1200,1500\nGadget,800,900\n"],
        ["no text first", "2019,2020\n1,2\n"],
        ["the same year", "Country,2019,2019\nDE,1,2\n"]
      ] as const) {
        const [row = ""] = first.split("\n")
        assert.include(yield* table("b.csv", first), `- ${row.replaceAll(",", "; ")}\n`, name)
      }
    })
  )

  it.effect("a sheet's durations are hours, minutes and seconds, also beyond a day", () =>
    Effect.gen(function* () {
      const cells = [1, 2, 3, 2].map(
        (style, at) => `<c r="${"ABCD"[at]}2" s="${style}"><v>${at < 3 ? 1.510416667 : -0.5}</v></c>`
      )
      const hours = zipped({
        "xl/workbook.xml": '<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": related(["r1", "worksheets/sheet1.xml"]),
        "xl/styles.xml":
          '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[hh]:mm:ss"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="46"/><xf numFmtId="170"/><xf numFmtId="22"/></cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": `<worksheet><sheetData><row r="2">${cells.join("")}</row></sheetData></worksheet>`
      })
      assert.strictEqual(
        document(yield* load("a.xlsx", hours)).content,
        "## S\n\n- 36:15:00; 36:15:00; 1899-12-31T12:15:00; -12:00:00"
      )
      assert.include(document(yield* load("hours.xls")).content, "- Name: Ann é; Dur: 36:00:00; Date: 2024-02-29")
    })
  )

  it.effect("a chart in a presentation of LibreOffice is the table of its data", () =>
    Effect.gen(function* () {
      const row = (...cells: ReadonlyArray<string>) =>
        `<table:table-row>${cells.map((text) => cell(text)).join("")}</table:table-row>`
      const loaded = yield* load(
        "a.odp",
        zipped({
          "content.xml":
            '<office:document-content><office:body><office:presentation><draw:page><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></draw:page></office:presentation></office:body></office:document-content>',
          "Object 1/content.xml": `<office:document-content><office:body><office:chart><chart:chart><chart:title><text:p>Honey by month</text:p></chart:title><table:table><table:table-header-rows>${row("", "quarry", "belfry")}</table:table-header-rows><table:table-rows>${row("March", "3", "NaN")}${row("May", "9", "7")}</table:table-rows></table:table></chart:chart></office:chart></office:body></office:document-content>`
        })
      )
      assert.include(
        document(loaded).content,
        "Honey by month\n\n|  | quarry | belfry |\n| --- | --- | --- |\n| March | 3 |  |\n| May | 9 | 7 |"
      )
    })
  )

  it.effect("attachments of one name are numbered, and attached mails are read as mails, not without end", () =>
    Effect.gen(function* () {
      const attached = (type: string, body: string, more = "") =>
        `--b\r\nContent-Type: ${type}\r\nContent-Disposition: attachment${more}\r\n\r\n${body}\r\n`
      const mixed = (boundary: string, subject: string, ...parts: ReadonlyArray<string>) =>
        `From: a@b.c\r\nSubject: ${subject}\r\nContent-Type: multipart/mixed; boundary=${boundary}\r\n\r\n${parts.join("").replaceAll("--b\r", `--${boundary}\r`)}--${boundary}--\r\n`
      const note = '; filename="note.txt"'
      const inner = "From: d@e.f\r\nSubject: Inner\r\nContent-Transfer-Encoding: base64\r\n\r\nYSBuYXJ3aGFsIMO8YmVy\r\n"
      const source = mixed(
        "b",
        "Outer",
        "--b\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n",
        attached("text/plain", "The first.", note),
        attached("text/plain", "The second.", note),
        attached("message/rfc822", inner)
      )
      const loaded = yield* load("a.eml", strToU8(source))
      assert.deepStrictEqual(
        loaded.map((_, at) => [document(loaded, at).record, document(loaded, at).content.trim()]),
        [
          [undefined, "See below."],
          ["note.txt", "The first."],
          ["note (2).txt", "The second."],
          ["attachment-3.eml", "a narwhal über"]
        ]
      )
      assert.strictEqual(document(loaded, 3).title, "Inner")
      let nested = inner
      for (let depth = 0; depth < 9; depth++)
        nested = mixed(`b${depth}`, "Again", attached("message/rfc822", nested, '; filename="m.eml"'))
      assert.lengthOf(yield* load("b.eml", strToU8(nested)), 6)
    })
  )

  it.effect("a page that a browser saved as one file is read as its HTML, without its frames and pictures", () =>
    Effect.gen(function* () {
      const part = (type: string, encoding: string, body: string) =>
        `\r\n------M\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\nContent-Location: https://example.org/\r\n\r\n${body}\r\n`
      const page =
        '<!DOCTYPE html><html><head><title>Tides</title></head><body><nav><a href=3D"/">Home</a></nav><article>' +
        "<h1>Spring tide</h1><p>The caf=C3=A9 =\r\nfloods at new moon.</p></article></body></html>"
      const saved =
        "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.org/\r\nSubject: =?utf-8?Q?Tides?=\r\nMIME-Version: 1.0\r\n" +
        'Content-Type: multipart/related;\r\n\ttype="text/html";\r\n\tboundary="----M"\r\n\r\n' +
        part("text/html", "quoted-printable", page) +
        part("text/html", "quoted-printable", "<html><body><p>Buy a boat.</p></body></html>") +
        part("text/css", "quoted-printable", "p { color: red }") +
        part("image/png", "base64", "iVBORw0KGgoAAAANSUhEUg==") +
        "------M--\r\n"
      for (const name of ["tides.mhtml", "tides.mht"]) {
        const loaded = yield* load(name, strToU8(saved))
        assert.lengthOf(loaded, 1)
        const { content, title } = document(loaded)
        assert.deepStrictEqual([title, content], ["Tides", "# Spring tide\n\nThe café floods at new moon."])
      }
      // Of the same ending, but only a text.
      assert.strictEqual(document(yield* load("notes.mht", strToU8("Fair wind"))).content, "Fair wind")
    })
  )

  it.effect("an export of Evernote is its notes under their titles, without what is attached to them", () =>
    Effect.gen(function* () {
      const note = (title: string, body: string, more = "") =>
        `<note><title>${title}</title><content><![CDATA[<?xml version="1.0"?>\n<!DOCTYPE en-note SYSTEM "x"><en-note>${body}</en-note>]]></content>${more}</note>`
      const exported =
        `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">\n<en-export>` +
        note(
          "Boat",
          "<div>The keel is <b>caulked</b> with oakum.</div><ul><li>tar</li></ul>",
          '<resource><data encoding="base64">iVBORw0KGgo=</data></resource>'
        ) +
        `${note("Soup", "<div>Two leeks.</div>")}</en-export>`
      const { content } = document(yield* load("notes.enex", strToU8(exported)))
      assert.strictEqual(content, "# Boat\n\nThe keel is caulked with oakum.\n\n- tar\n\n# Soup\n\nTwo leeks.")
    })
  )

  it.effect("keeps of a mail to very many the first, so that its metadata is within the limits of all", () =>
    Effect.gen(function* () {
      const to = Array.from({ length: 3000 }, (_, n) => `Reader ${n} <reader-${n}@example.org>`).join(",\n ")
      const { metadata } = document(yield* load("a.eml", strToU8(`From: a@b.c\nTo: ${to}\n\nFair wind\n`)))
      assert.isUndefined(metadataFault(metadata))
      assert.strictEqual((metadata["to"] as ReadonlyArray<string>)[0], "Reader 0 <reader-0@example.org>")
      assert.strictEqual(metadata["from"], "a@b.c")
    })
  )

  it.effect("a small file that shows one text many times fails beyond so many characters", () =>
    Effect.gen(function* () {
      const sheet = (rows: number) => {
        const row = `<row>${'<c t="s"><v>0</v></c>'.repeat(50)}</row>`
        return zipped({
          "xl/workbook.xml": '<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
          "xl/_rels/workbook.xml.rels": related(["r1", "worksheets/sheet1.xml"]),
          "xl/sharedStrings.xml": `<sst><si><t>${"bees honey ".repeat(1800)}</t></si></sst>`,
          "xl/worksheets/sheet1.xml": `<worksheet><sheetData>${row.repeat(rows)}</sheetData></worksheet>`
        })
      }
      assert.isAbove(document(yield* load("a.xlsx", sheet(2))).content.length, 1_700_000)
      const error = yield* Effect.flip(load("a.xlsx", sheet(12)))
      assert.deepInclude(error, { reason: "it holds more than 10000000 characters of text", isLimit: true })
      const writer = new MarkdownWriter()
      const block = "x".repeat(24_000_000)
      for (let n = 0; n < 12; n++) writer.block(block)
      assert.throws(() => writer.block(block), "it holds more than 300000000 characters of text")
    })
  )

  it.effect(
    "a mail without words is found by its subject, or else skipped, in a mailbox too; its attachments are read",
    () =>
      Effect.gen(function* () {
        const scan = (subject: string, name: string) =>
          `From: a@b.c\n${subject}Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Disposition: attachment; filename="${name}"\nContent-Transfer-Encoding: base64\n\n${name.endsWith("png") ? "iVBORw0KGgoAAAANSUhEUg==" : "VGhlIGxlYXNlLg=="}\n--b--\n`
        const subjectOnly = "From: a@b.c\nSubject: Scan of the lease\n\n"
        const told = (loaded: ReadonlyArray<Loaded>) =>
          loaded.map((each) => (each._tag === "Rejected" ? each.isEmpty : each.content.trim()))
        assert.deepStrictEqual(told(yield* load("a.eml", strToU8(subjectOnly))), ["Scan of the lease"])
        assert.deepStrictEqual(told(yield* load("a.eml", strToU8(scan("", "lease.txt")))), [true, "The lease."])
        assert.deepStrictEqual(told(yield* load("a.eml", strToU8(scan("", "lease.png")))), [true])
        const from = "From a@b.c Mon Nov 23 10:00:00 2026\n"
        const mails = [
          subjectOnly,
          "From: a@b.c\n\n",
          scan("Subject: Photo\n", "lease.png"),
          "From: a@b.c\n\nWords.\n\n"
        ]
        const loaded = yield* load("a.mbox", strToU8(mails.map((mail) => `${from}${mail}\n`).join("")))
        assert.deepStrictEqual(told(loaded), ["Scan of the lease", true, "Photo", "Words."])
      })
  )

  it.effect("a mail that begins with a mailbox's line is one mail", () =>
    Effect.gen(function* () {
      const mail =
        "From ada@example.org Mon Nov 23 10:00:00 2026\nFrom: ada@example.org\nSubject: Tides\n\nOne.\n\nFrom here on it rains.\n>From the pier one sees it.\n"
      const loaded = yield* load("a.eml", strToU8(mail))
      assert.lengthOf(loaded, 1)
      assert.isUndefined(document(loaded).record)
      assert.strictEqual(document(loaded).title, "Tides")
      assert.include(document(loaded).content, "From here on it rains.\nFrom the pier one sees it.")
      assert.isAbove((yield* load("a.mbox", strToU8(mail))).length, 1)
    })
  )
})

describe("damaged documents", () => {
  it("are not those whose reader cannot run, as while Clew is being replaced", () => {
    const withCode = (code: string) => Object.assign(new Error("lost"), { code })
    for (const code of ["ENOENT", "EMFILE", "ERR_MODULE_NOT_FOUND"])
      assert.property(whyNot(withCode(code)), "fault", code)
    assert.deepStrictEqual(whyNot(withCode("Z_DATA_ERROR")), { reason: "damaged: lost" })
    assert.deepStrictEqual(whyNot("odd"), { reason: "damaged: odd" })
  })

  it.live("in a small container a file may take what is left there: the system would end the program", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const mebibyte = 1024 * 1024
        yield* Effect.acquireRelease(
          Effect.sync(() => [
            vi.spyOn(process, "constrainedMemory").mockReturnValue(400 * mebibyte),
            vi
              .spyOn(process.memoryUsage, "rss")
              .mockReturnValueOnce(150 * mebibyte)
              .mockReturnValue(380 * mebibyte)
          ]),
          (spies) => Effect.sync(() => spies.forEach((spy) => spy.mockRestore()))
        )
        const take = yield* Extractor.make({ parseTimeoutMs: 1000, parseMemoryMb: 1024 })
        const { reason } = yield* Effect.flip(Effect.asVoid(take("/a.html", "html", "<p><b>a</b> ".repeat(20_000))))
        assert.strictEqual(
          reason,
          "reading it takes more than 144 MiB of memory, and this process may have 400 MiB in all: give its container or machine more"
        )
      })
    )
  )

  it.live("a file that takes too long is given up, and the next one is read", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const take = yield* Extractor.make({ parseTimeoutMs: 1, parseMemoryMb: 512 })
        const slow = yield* Effect.flip(take("/a.pdf", "pdf", fixture("paper.pdf")))
        assert.include(slow.reason, "limits.parse_timeout_ms")
        const patient = yield* Extractor.make({ parseTimeoutMs: 60_000, parseMemoryMb: 512 })
        assert.include(
          (yield* patient("/a.srt", "subtitles", "1\n00:00:01,000 --> 00:00:02,000\nWords\n")).text,
          "Words"
        )
      })
    )
  )

  it.live("the reader's thread ends after a large file or text, and keeps none of its memory", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let threads = 0
        const count = () => threads++
        yield* Effect.acquireRelease(
          Effect.sync(() => process.on("worker", count)),
          () => Effect.sync(() => process.off("worker", count))
        )
        const take = yield* Extractor.make({ parseTimeoutMs: 60_000, parseMemoryMb: 512 })
        const sheet = zipped({
          "xl/workbook.xml": `<workbook><sheets><sheet name="Log" r:id="r1"/></sheets></workbook>`,
          "xl/_rels/workbook.xml.rels": related(["r1", "worksheets/sheet1.xml"]),
          "xl/sharedStrings.xml": `<sst><si><t>${"tide ".repeat(20_000)}</t></si></sst>`,
          "xl/worksheets/sheet1.xml": `<worksheet><sheetData>${'<row><c t="s"><v>0</v></c></row>'.repeat(50)}</sheetData></worksheet>`
        })
        const { text } = yield* take("/log.xlsx", "xlsx", sheet)
        assert.isAbove(text.length, 1000 * sheet.length)
        yield* take("/a.csv", "csv", "name,age\nBen,3\n")
        assert.strictEqual(threads, 2)
      })
    )
  )

  it.effect("of a large sheet one row is in memory at a time", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const cells = Array.from({ length: 8 }, (_, at) => `<c r="${"ABCDEFGH"[at]}1" s="0" t="n"><v>${at}</v></c>`)
        const bytes = zipped({
          "xl/workbook.xml": `<workbook><sheets><sheet name="Log" r:id="r1"/></sheets></workbook>`,
          "xl/_rels/workbook.xml.rels": related(["r1", "worksheets/sheet1.xml"]),
          "xl/worksheets/sheet1.xml": `<worksheet><sheetData>${`<row>${cells.join("")}</row>`.repeat(30_000)}</sheetData></worksheet>`
        })
        const take = yield* Extractor.make({ parseTimeoutMs: 60_000, parseMemoryMb: 128 })
        const { text } = yield* take("/log.xlsx", "xlsx", bytes)
        assert.strictEqual(text.split("7").length - 1, 30_000, text.slice(0, 200))
      })
    )
  )
})
