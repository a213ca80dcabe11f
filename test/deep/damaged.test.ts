import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { strToU8, zipSync } from "fflate"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { extract, type Kind } from "../../src/extraction/extract.ts"
import { NotExtracted } from "../../src/extraction/Extracted.ts"
import { unzip } from "../../src/extraction/archive.ts"
import { pdfOf } from "../files/Loader/pdfOf.ts"

const fixture = (name: string) =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(`../fixtures/documents/${name}`, import.meta.url))))

const kinds: Readonly<Record<string, Kind>> = {
  "page.html": "html",
  "guide.docx": "docx",
  "guide.odt": "openDocument",
  "guide.epub": "epub",
  "guide.fb2": "fictionBook",
  "guide.pdf": "pdf",
  "slides.pptx": "pptx",
  "slides.odp": "openDocument",
  "staff.xlsx": "xlsx",
  "staff.ods": "openDocument",
  "staff.csv": "csv",
  "guide.ipynb": "notebook",
  "talk.srt": "subtitles",
  "letter.eml": "mail",
  "sources/paper.ms": "man",
  "guide.1": "man",
  "guide.tex": "latex",
  "accounts.xlsx": "xlsx",
  "accounts.ods": "openDocument",
  "calibre.epub": "epub",
  "newsletter.eml": "mail",
  "guide-ar.pdf": "pdf",
  "report.pdf": "pdf",
  "form.pdf": "pdf"
}

const samples: ReadonlyArray<readonly [name: string, kind: Kind, bytes: Uint8Array]> = [
  ...Object.entries(kinds).map(([name, kind]) => [name, kind, fixture(name)] as const),
  ["a packed file", "compressed", gzipSync(fixture("page.html"))],
  [
    "LaTeX",
    "latex",
    strToU8("\\section{A}\n\\begin{itemize}\\item $a$ \\end{itemize}\\verb|b|\\'e\\footnote{c}".repeat(5))
  ]
]

/** All seeds take minutes: run with CLEW_LONG_TESTS=1. */
const seeds = process.env["CLEW_LONG_TESTS"] === "1" ? 200 : 10

/** Numbers that look random and are the same each time. */
const random = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

const refusal = (kind: Kind, source: string | Uint8Array) =>
  Effect.promise(() =>
    extract(kind, source).then(
      () => assert.fail("it was read"),
      (error: Error) => error
    )
  )

describe("damaged documents", () => {
  for (const [name, kind, sound] of samples) {
    it.effect(
      `${name}, cut short or with bytes changed, is read or refused`,
      () =>
        Effect.promise(async () => {
          const attempts = Array.from({ length: 10 }, (_, i) => sound.subarray(0, Math.floor((sound.length * i) / 10)))
          for (let seed = 0; seed < seeds; seed++) {
            const next = random(seed)
            const bytes = sound.slice()
            for (let flips = 0; flips < 1 + (seed % 8); flips++)
              bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256)
            attempts.push(bytes)
          }
          for (const bytes of attempts) {
            try {
              assert.isString((await extract(kind, bytes)).text)
            } catch (error) {
              assert.instanceOf(error, Error)
            }
          }
        }),
      600_000
    )
  }
})

describe("hostile documents", () => {
  it("an archive that unpacks to too much, or holds too many files, is refused; names outside of it are no files", () => {
    const bomb = zipSync({ "a.xml": [new Uint8Array(8 * 1024 * 1024), { level: 9 }] })
    const most = { all: 1024 * 1024, entries: 10 }
    assert.throws(() => unzip(bomb, () => true, most), NotExtracted, /^the archive unpacks to more than 1 MiB$/)
    const many = zipSync(Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`${i}.xml`, strToU8("a")])))
    assert.throws(() => unzip(many, () => true, most), NotExtracted, "more than 10 files")
    const outside = zipSync({
      "../../etc/passwd": strToU8("a"),
      "/etc/passwd": strToU8("b"),
      "word/a.xml": strToU8("c")
    })
    assert.deepStrictEqual([...unzip(outside, () => true).keys()], ["word/a.xml"])
  })

  it.effect("a packed file that unpacks to more than 512 MiB is refused, and nothing more is unpacked", () =>
    Effect.gen(function* () {
      // One file in nine parts, as gzip joins them.
      const part = gzipSync(new Uint8Array(64 * 1024 * 1024))
      const bomb = Buffer.concat(Array.from({ length: 9 }, () => part))
      assert.isBelow(bomb.length, 1024 * 1024)
      assert.strictEqual((yield* refusal("compressed", bomb)).message, "it unpacks to more than 512 MiB")
    })
  )

  it.effect("entities are not expanded, and none that names a file or an address is opened", () =>
    Effect.gen(function* () {
      const laughs = Array.from({ length: 30 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join("")
      const source = `<!DOCTYPE l [<!ENTITY l0 "lol">${laughs}<!ENTITY file SYSTEM "file:///etc/passwd"><!ENTITY far SYSTEM "http://127.0.0.1:9/">]><FictionBook><body><p>&l30; &file; &far; end</p></body></FictionBook>`
      const { text } = yield* Effect.promise(() => extract("fictionBook", source))
      assert.isBelow(text.length, 1000)
      assert.notInclude(text, "root:")
      const docx = zipSync({ "word/document.xml": strToU8(source.replaceAll("FictionBook", "w:document")) })
      yield* Effect.promise(() =>
        extract("docx", docx).then(
          ({ text }) => assert.isBelow(text.length, 1000),
          () => undefined
        )
      )
    })
  )

  it.effect("what is nested 100,000 deep is read or refused in words", () =>
    Effect.gen(function* () {
      const deep = 100_000
      assert.include(
        String(yield* refusal("fictionBook", `<FictionBook>${"<section>".repeat(deep)}`)),
        "nested more than"
      )
      const docx = zipSync({ "word/document.xml": strToU8(`<w:document><w:body>${"<w:p>".repeat(deep)}`) })
      assert.instanceOf(yield* refusal("docx", docx), Error)
      assert.instanceOf(yield* refusal("notebook", `{"cells":${"[".repeat(deep)}${"]".repeat(deep)}}`), Error)
      const page = yield* Effect.promise(() => extract("html", `${"<div>".repeat(deep)}words`))
      assert.include(page.text, "words")
    })
  )

  it.effect("a PDF whose tree of pages leads back to itself ends soon", () =>
    Effect.gen(function* () {
      const looped = pdfOf([[{ text: "Words", y: 700 }]], { kids: () => [2] })
      assert.instanceOf(yield* refusal("pdf", looped), Error)
    })
  )
})
