import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { strToU8 } from "fflate"
import * as Extractor from "../../../src/files/Loader/Extractor.ts"
import { document, inOrder, layer, load, related, zipped } from "./loading.ts"
import { pdfOf } from "./pdfOf.ts"

const wordDocument = (body: string): Uint8Array =>
  zipped({
    "[Content_Types].xml":
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    "word/document.xml": `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`
  })

const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`
const deleted = (text: string) => `<w:del w:id="1"><w:r><w:delText>${text}</w:delText></w:r></w:del>`
const paragraph = (inner: string, properties = "") => `<w:p><w:pPr>${properties}</w:pPr>${inner}</w:p>`
const row = (cells: ReadonlyArray<string>, properties = "") =>
  `<w:tr><w:trPr>${properties}</w:trPr>${cells.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join("")}</w:tr>`

it.layer(layer)("documents as people change and set them", (it) => {
  it.effect("DOCX: insertions are accepted; deleted words, paragraph ends and rows are gone", () =>
    Effect.gen(function* () {
      const body = [
        paragraph(
          `${run("The ferry leaves at ")}${deleted("seven")}<w:ins w:id="2">${run("eight")}</w:ins>${run(".")}`
        ),
        paragraph(run("First half"), '<w:rPr><w:del w:id="3"/></w:rPr>'),
        paragraph(run(" and second half.")),
        `<w:tbl>${row([run("Boat"), run("Berth")])}${row([deleted("Gull"), deleted("9")], '<w:del w:id="4"/>')}${row([run("Tern"), run("12")], '<w:ins w:id="5"/>')}</w:tbl>`,
        paragraph(run("Left open"), '<w:rPr><w:del w:id="6"/></w:rPr>')
      ]
      assert.strictEqual(
        document(yield* load("rules.docx", wordDocument(body.join("")))).content,
        [
          "The ferry leaves at eight.",
          "First half and second half.",
          "| Boat | Berth |\n| --- | --- |\n| Tern | 12 |",
          "Left open"
        ].join("\n\n")
      )
    })
  )

  it.effect("DOCX: headings and lists by styles, and by those that these are based on", () =>
    Effect.gen(function* () {
      const style = (id: string, name: string, on: string, properties = "") =>
        `<w:style w:styleId="${id}"><w:name w:val="${name}"/><w:basedOn w:val="${on}"/><w:pPr>${properties}</w:pPr></w:style>`
      const numbering = (id: number) => `<w:numPr><w:numId w:val="${id}"/></w:numPr>`
      const styles = [
        style("h1", "heading 1", "normal"),
        style("own", "Chapter", "h1"),
        style("toc", "TOC Heading", "h1", '<w:outlineLvl w:val="9"/>'),
        style("bullet", "List Bullet", "normal", numbering(1)),
        style("steps", "List Number", "normal", numbering(2)),
        style("tight", "Tight steps", "steps"),
        style("a", "A", "b"),
        style("b", "B", "a")
      ]
      const level = (id: number, format: string) =>
        `<w:abstractNum w:abstractNumId="${id}"><w:lvl w:ilvl="0"><w:numFmt w:val="${format}"/></w:lvl></w:abstractNum><w:num w:numId="${id}"><w:abstractNumId w:val="${id}"/></w:num>`
      const styled = (id: string, text: string, more = "") => paragraph(run(text), `<w:pStyle w:val="${id}"/>${more}`)
      const body = [
        styled("own", "Ferries"),
        styled("toc", "Contents"),
        styled("bullet", "rope"),
        styled("steps", "Go."),
        styled("tight", "Wait."),
        styled("steps", "No step.", numbering(0)),
        styled("bullet", "boat"),
        styled("bullet", "ship"),
        styled("a", "Plain.")
      ]
      const word = zipped({
        "[Content_Types].xml":
          '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "word/styles.xml": `<w:styles>${styles.join("")}</w:styles>`,
        "word/numbering.xml": `<w:numbering>${level(1, "bullet")}${level(2, "decimal")}</w:numbering>`,
        "word/document.xml": `<w:document><w:body>${body.join("")}</w:body></w:document>`
      })
      assert.strictEqual(
        document(yield* load("a.docx", word)).content,
        "# Ferries\n\nContents\n\n- rope\n1. Go.\n2. Wait.\n\nNo step.\n\n- boat\n- ship\n\nPlain."
      )
    })
  )

  it.effect("DOCX: rows and cells in content controls are read; a text box follows its paragraph", () =>
    Effect.gen(function* () {
      const control = (inner: string) => `<w:sdt><w:sdtPr/><w:sdtContent>${inner}</w:sdtContent></w:sdt>`
      const cell = (text: string) => `<w:tc>${paragraph(run(text))}</w:tc>`
      const box = `<w:r><w:drawing><wps:txbx><w:txbxContent>${paragraph(run("House 3"))}${paragraph(run("4020 Linz"))}</w:txbxContent></wps:txbx></w:drawing></w:r>`
      const body = [
        `<w:tbl>${row([run("Boat"), run("Berth")])}${control(`<w:tr>${control(cell("Tern"))}${cell("12")}</w:tr>`)}</w:tbl>`,
        `<w:tbl>${row([`${run("Key")}${box}`, run("Hall")])}${row([run("Map"), run("Desk")])}</w:tbl>`,
        paragraph(`${run("The office ")}${box}${run("is open.")}`)
      ]
      assert.strictEqual(
        document(yield* load("forms.docx", wordDocument(body.join("")))).content,
        "| Boat | Berth |\n| --- | --- |\n| Tern | 12 |\n\n| Key | Hall |\n| --- | --- |\n| Map | Desk |\n\nHouse 3\n\n4020 Linz\n\nThe office is open.\n\nHouse 3\n\n4020 Linz"
      )
    })
  )

  it.effect("DOCX and HTML: cells that span rows or columns leave the others under their columns", () =>
    Effect.gen(function* () {
      const cell = (text: string, properties = "") =>
        `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text === "" ? "" : run(text))}</w:tc>`
      const rows = [
        ["Team", "Name", "City"].map((text) => cell(text)),
        [cell("Red", '<w:vMerge w:val="restart"/>'), cell("Ann"), cell("Paris")],
        [cell("", "<w:vMerge/>"), cell("Bob"), cell("Rome")],
        [cell("Nobody", '<w:gridSpan w:val="2"/>'), cell("Oslo")]
      ].map((cells) => `<w:tr>${cells.join("")}</w:tr>`)
      const late = `<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>${cell("Cy")}${cell("Bonn")}</w:tr>`
      const expected = [
        "| Team | Name | City |",
        "| --- | --- | --- |",
        "| Red | Ann | Paris |",
        "| Red | Bob | Rome |",
        "| Nobody |  | Oslo |",
        "|  | Cy | Bonn |"
      ].join("\n")
      const word = wordDocument(`<w:tbl>${rows.join("")}${late}</w:tbl>`)
      assert.strictEqual(document(yield* load("a.docx", word)).content, expected)

      const page = (table: string) => strToU8(`<html><body><table>${table}</table></body></html>`)
      const html = page(
        "<thead><tr><th>Team</th><th>Name</th><th>City</th></tr></thead><tr><td rowspan=2>Red</td><td>Ann</td><td>Paris</td></tr><tr><td>Bob</td><td>Rome</td></tr><tr><td colspan=2>Nobody</td><td>Oslo</td></tr><tr><td></td><td>Cy</td><td>Bonn</td></tr>"
      )
      assert.strictEqual(document(yield* load("a.html", html)).content, expected)
      // Spans end with their section, and are also those of the last columns and of several at once.
      const ends = page(
        "<thead><tr><th>A</th><th rowspan=9>B</th></tr></thead><tr><td>one</td><td rowspan=2 colspan=2>two</td></tr><tr><td>three</td></tr><tr></tr><tr><td>x</td><td>y</td><td>z</td></tr>"
      )
      assert.strictEqual(
        document(yield* load("b.html", ends)).content,
        "| A | B |  |\n| --- | --- | --- |\n| one | two |  |\n| three | two |  |\n| x | y | z |"
      )
      const wide = `<tr>${`<td rowspan=65534>${"w".repeat(500)}</td>`.repeat(199)}<td>x</td></tr>`
      const bomb = document(yield* load("c.html", page(wide + "<tr><td>x</td></tr>".repeat(2000))))
      assert.isBelow(bomb.content.length, 2_000_000)
    })
  )

  it.effect("DOCX: a text box is read in a note, and after what a deleted end joins", () =>
    Effect.gen(function* () {
      const box = (text: string) => `<w:r><w:pict><w:txbxContent>${paragraph(run(text))}</w:txbxContent></w:pict></w:r>`
      const parts = {
        "[Content_Types].xml":
          '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "word/document.xml": `<w:document><w:body>${paragraph(`${run("Begin")}${box("Aside")}`, '<w:rPr><w:del w:id="1"/></w:rPr>')}${paragraph(`${run(" end.")}<w:r><w:footnoteReference w:id="2"/></w:r>`)}</w:body></w:document>`,
        "word/footnotes.xml": `<w:footnotes><w:footnote w:id="2">${paragraph(`${run("A note")}${box("in a box")}`)}</w:footnote></w:footnotes>`
      }
      assert.strictEqual(
        document(yield* load("a.docx", zipped(parts))).content,
        "Begin end.[^1]\n\nAside\n\n[^1]: A note\nin a box"
      )
      const many = Array.from(
        { length: 300 },
        (_, i) => `xmlns:a${i}="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
      )
      const named = { ...parts, "word/document.xml": `<w:document ${many.join(" ")}/>` }
      assert.include((yield* Effect.flip(load("b.docx", zipped(named)))).message, "more than 100 names of namespaces")
    })
  )

  it.effect("ODT: what a shape says is on lines of its own", () =>
    Effect.gen(function* () {
      const shape =
        "<draw:custom-shape><svg:title>Address</svg:title><text:p>House 3</text:p><text:p/><text:p>4020 Linz</text:p></draw:custom-shape>"
      const odt = zipped({
        mimetype: "application/vnd.oasis.opendocument.text",
        "content.xml": `<office:document-content><office:body><office:text><text:p>Ask there.${shape}</text:p><text:p>${shape}It is open.</text:p></office:text></office:body></office:document-content>`
      })
      assert.strictEqual(
        document(yield* load("a.odt", odt)).content,
        "Ask there.\nAddress\nHouse 3\n4020 Linz\n\nAddress\nHouse 3\n4020 Linz\nIt is open."
      )
    })
  )

  it.effect("DOCX and XLSX: other prefixes, macros and names of the main part make no difference", () =>
    Effect.gen(function* () {
      const office = "http://schemas.openxmlformats.org"
      const word = zipped({
        "[Content_Types].xml": `<Types xmlns="${office}/package/2006/content-types"><Override PartName="/word/document2.xml" ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/></Types>`,
        "_rels/.rels": `<Relationships xmlns="${office}/package/2006/relationships"><Relationship Id="r1" Type="${office}/officeDocument/2006/relationships/officeDocument" Target="word/document2.xml"/></Relationships>`,
        "word/document2.xml": `<document xmlns="${office}/wordprocessingml/2006/main" xmlns:x="${office}/wordprocessingml/2006/main"><body><p><pPr><outlineLvl x:val="0"/></pPr><r><t>Ferries</t></r></p><x:p><x:r><x:t>They leave at eight.</x:t></x:r></x:p></body></document>`
      })
      assert.strictEqual(document(yield* load("a.docm", word)).content, "# Ferries\n\nThey leave at eight.")
      const sheet = zipped({
        "[Content_Types].xml": `<Types xmlns="${office}/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.ms-excel.sheet.macroEnabled.main+xml"/></Types>`,
        "xl/workbook.xml": `<x:workbook xmlns:x="${office}/spreadsheetml/2006/main" xmlns:q="${office}/officeDocument/2006/relationships"><x:sheets><x:sheet name="S" q:id="r1"/></x:sheets></x:workbook>`,
        "xl/_rels/workbook.xml.rels": related(["r1", "worksheets/sheet1.xml"]),
        "xl/worksheets/sheet1.xml": `<x:worksheet xmlns:x="${office}/spreadsheetml/2006/main"><x:sheetData><x:row r="1"><x:c r="A1" t="inlineStr"><x:is><x:t>share</x:t></x:is></x:c></x:row><x:row r="2"><x:c r="A2"><x:v>7.0000000000000007E-2</x:v></x:c></x:row><x:row r="3"><x:c r="A3"><x:v>8.1999999999999993</x:v></x:c></x:row><x:row r="4"><x:c r="A4"><x:v>1234567890123456</x:v></x:c></x:row><x:row r="5"><x:c r="A5"><x:v>1.7976931348623157E+308</x:v></x:c></x:row></x:sheetData></x:worksheet>`
      })
      assert.strictEqual(
        document(yield* load("a.xlsm", sheet)).content,
        "## S\n\n- share: 0.07\n- share: 8.2\n- share: 1234567890123456\n- share: 1.7976931348623157E+308"
      )
    })
  )

  it.effect("TSV: quotes that do not pair are signs like others", () =>
    Effect.gen(function* () {
      const table = 'term\tmeaning\n5" disk\ta floppy\n"so called\topened only\nend\tlast\n'
      assert.strictEqual(
        document(yield* load("terms.tsv", strToU8(table))).content,
        '- term: 5" disk; meaning: a floppy\n- term: "so called; meaning: opened only\n- term: end; meaning: last'
      )
    })
  )

  it.effect("PDF: a page on its side is read like one that stands; what stands across a page is left out", () =>
    Effect.gen(function* () {
      const lines = ["The first line of the log.", "The second line of it.", "And the third of them."]
      const stamp = { text: "COPY", x: 300, y: 400, turns: 1 } as const
      const pages = [
        [...lines.map((text, i) => ({ text, x: 100, y: 700 - 14 * i })), stamp],
        lines.map((text, i) => ({ text, x: 100 + 14 * i, y: 100, turns: 1 }) as const),
        lines.map((text, i) => ({ text, x: 500, y: 100 + 14 * i, turns: 2 }) as const),
        lines.map((text, i) => ({ text, x: 500 - 14 * i, y: 700, turns: 3 }) as const)
      ]
      const { content } = document(yield* load("log.pdf", pdfOf(pages)))
      assert.strictEqual(
        content.match(/The first line of the log\.\s+The second line of it\.\s+And the third/g)?.length,
        4
      )
      assert.notInclude(content, "COPY")
      const chart = [
        { text: "Rain in the harbour by month", x: 72, y: 740 },
        ...Array.from(
          { length: 12 },
          (_, i) => ({ text: `January the ${i}`, x: 100 + 20 * i, y: 300, turns: 1 }) as const
        )
      ]
      assert.include(document(yield* load("chart.pdf", pdfOf([chart]))).content, "Rain in the harbour by month")
    })
  )

  it.effect("PDF: a page as wide as no paper is costs no more than another", () =>
    Effect.gen(function* () {
      const lines = Array.from({ length: 40 }, (_, i) => ({
        text: `line ${i}`,
        y: 740 - 12 * i,
        stretch: i === 9 ? 1e12 : 1
      }))
      const { content } = document(yield* load("far.pdf", pdfOf([lines])))
      assert.include(content, "line 39")
    })
  )

  it.effect("PDF: columns are read one after the other beside a figure, and below what is as wide as the page", () =>
    Effect.gen(function* () {
      const said = (column: string, i: number) => `${column} ${i} tells how the harbour was built and by whom, and`
      const columns = (count: number, top: number) =>
        Array.from({ length: count }, (_, i) => [
          { text: said("left", i), x: 60, y: top - 12 * i },
          { text: said("right", i), x: 330, y: top - 12 * i }
        ]).flat()
      const labels = Array.from({ length: 40 }, (_, i) => ({
        text: `box ${i}`,
        x: 60 + 60 * (i % 4),
        y: 740 - 12 * Math.floor(i / 4)
      }))
      const beside = Array.from({ length: 10 }, (_, i) => ({ text: said("first", i), x: 330, y: 740 - 12 * i }))
      const wide = Array.from({ length: 20 }, (_, i) => ({
        text: `Line ${i} of a text that is as wide as the page is, over both of the columns which follow below it, and no less.`,
        x: 60,
        y: 740 - 12 * i
      }))
      for (const page of [
        [...labels, ...beside, ...columns(16, 600)],
        [...wide, ...columns(16, 480)]
      ]) {
        const { content } = document(yield* load("columns.pdf", pdfOf([page])))
        assert.notMatch(content, /\|.*(?:left|right) \d/)
        inOrder(content, "left 0", "left 15", "right 0", "right 15")
      }
    })
  )

  it.effect("PDF: three columns below a title are read one after the other", () =>
    Effect.gen(function* () {
      const lines = Array.from({ length: 90 }, (_, i) => `line ${i} tells of the harbour`)
      const words = lines.map((text, i) => ({ text, x: 60 + 170 * Math.floor(i / 30), y: 690 - 13 * (i % 30) }))
      const page = [{ text: "The harbour in three columns, a title over them all", x: 60, y: 730, size: 20 }, ...words]
      const { content } = document(yield* load("three.pdf", pdfOf([page])))
      inOrder(content, "The harbour in three columns", ...lines)
    })
  )

  it.effect(
    "a file that needs more memory than allowed is refused with the limit's name, and the next one is read",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const take = yield* Extractor.make({ parseTimeoutMs: 60_000, parseMemoryMb: 64 })
          const large = `<html><body>${"<p><b>a</b> ".repeat(1_000_000)}</body></html>`
          const { reason } = yield* Effect.flip(take("/large.html", "html", large))
          assert.strictEqual(reason, "reading it takes more memory than limits.parse_memory_mb allows (64)")
          const { text } = yield* take("/small.html", "html", "<html><body><p>Words of a small page</p></body></html>")
          assert.include(text, "Words of a small page")
        })
      )
  )
})
