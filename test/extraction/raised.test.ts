import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { epub } from "../../src/extraction/books.ts"
import { NotExtracted } from "../../src/extraction/Extracted.ts"
import { html } from "../../src/extraction/html.ts"
import { docx } from "../../src/extraction/docx.ts"
import { openDocument } from "../../src/extraction/openDocument.ts"
import { pptx } from "../../src/extraction/pptx.ts"
import { xlsx } from "../../src/extraction/xlsx.ts"
import { pdf } from "../../src/extraction/pdf.ts"
import { lowered, raised } from "../../src/extraction/raised.ts"
import { markAt } from "../../src/model/Locator.ts"
import { chunk } from "../../src/chunking/chunk.ts"
import { located } from "../../src/chunking/located.ts"
import { options } from "../chunking/chunkLaws.ts"
import { related, zipped } from "../files/Loader/loading.ts"
import { pdfOf } from "../files/Loader/pdfOf.ts"

const body = (text: string) => html(`<html><body>${text}</body></html>`).text

describe("what stands above and below the line", () => {
  it.each([
    ["2", "64", "^64"],
    ["10", "6", "^6"],
    ["10", "−6", "^-6"],
    ["2", "n−1", "^(n−1)"],
    ["30 km", "2", "^2"],
    ["square metres", "2", "^2"],
    ["the hive", "3", "[3]"],
    ["It rests.", "1,2", "[1,2]"],
    ["", "4", "[4]"],
    ["the 1", "st", "st"],
    ["au XIX", "e", "e"],
    ["e", "x", "^x"],
    ["price", "*", "*"],
    ["Clew", "TM", "™"],
    ["water", "[citation needed]", "[citation needed]"]
  ])("%s, raised %s: %s", (before, text, wanted) => {
    assert.strictEqual(raised(text, before), wanted)
  })

  it("lowers digits, and says so of letters", () => {
    assert.deepStrictEqual(["2", "i", "max", "i+1", "x, y"].map(lowered), ["₂", "_i", "_max", "_(i+1)", "_(x, y)"])
  })
})

describe("pages of Doxygen and Javadoc", () => {
  it.each([
    [
      "a title, which is no heading there",
      '<div id="titlearea"><table><tr><td>Logo</td><td>Tides 3.1</td></tr></table></div><div class="header"><div class="summary"><a>List of all members</a></div><div class="headertitle"><div class="title">Spring tide<div class="ingroups"><a>Tides</a></div></div></div></div><p>It floods.</p><h2 class="memtitle"><span class="permalink"><a href="#a">&#9670;&nbsp;</a></span>rise()</h2>',
      "# Spring tide\n\nIt floods.\n\n## rise()"
    ],
    [
      "code of one element a line, without its numbers and what shows under the pointer",
      '<div class="fragment"><div class="line"><span class="lineno">    1</span>tide.rise();</div>\n<div class="foldopen"><div class="line"><span class="lineno">    2</span>  </div>\n<div class="line">  <span class="keyword">return</span> sea;</div>\n</div><div class="ttc"><div class="ttname">tide</div>Definition: tide.h:180</div></div>',
      "```\ntide.rise();\n  \n  return sea;\n```"
    ],
    [
      "members as items, each with what it does",
      '<table class="memberdecls"><tr class="heading"><td colspan="2"><h2 class="groupheader">Functions</h2></td></tr><tr class="memitem:a1"><td>int&nbsp;</td><td><a>rise</a> (int m)</td></tr><tr class="memdesc:a1"><td>&nbsp;</td><td>Raises the sea.</td></tr><tr class="separator:a1"><td colspan="2">&nbsp;</td></tr></table>',
      "## Functions\n- int rise (int m)\n\n  Raises the sea."
    ],
    [
      "a signature as code",
      '<div class="memproto"><table class="memname"><tr><td>int rise</td><td>(</td><td>int&nbsp;</td><td><em>m</em></td><td>)</td></tr></table></div><div class="member-signature"><span>public</span>&nbsp;<span>int</span></div>',
      "```\nint rise ( int m )\n```\n\n```\npublic int\n```"
    ],
    [
      "a summary as a table, and why something is deprecated",
      '<div class="summary-table two-column-summary"><div class="table-header col-first">Type</div><div class="table-header col-last">Field</div><div class="col-first even-row-color"><code>int</code></div><div class="col-last even-row-color"><code>TIDE</code><div class="deprecation-comment">Ask the moon.</div></div></div><div class="deprecation-comment">Ask the moon.</div>',
      "| Type | Field |\n| --- | --- |\n| `int` | `TIDE` Ask the moon. |\n\nAsk the moon."
    ]
  ])("have %s", (_, source, wanted) => {
    assert.strictEqual(body(`<div class="contents"><p>${"Words. ".repeat(40)}</p>${source}</div>`).slice(281), wanted)
  })

  it("cite each cell of a summary by its line", () => {
    const cell = (of: string) => `<div class="col-first${of === "Type" ? " table-header" : ""}">${of}</div>`
    const source = `<body>\n<div class="summary-table">\n${["Type", "a", "tide"].map(cell).join("\n")}\n</div>\n</body>`
    const { marks, text } = html(source)
    assert.strictEqual(markAt(marks, text.indexOf("tide"))?.line, 5)
  })

  it("keep the lines of code beside its output, and the rows of a table that has a line of code in one", () => {
    const table = (rows: string) => body(`<table><tr><th>Code</th><th>Output</th></tr>${rows}</table>`)
    const row = (code: string) => `<tr><td><pre>${code}</pre></td><td>1</td></tr>`
    assert.include(table(row("rise\nfall")), "```\nrise\nfall\n```")
    assert.include(table(row("rise")), "| rise | 1 |")
    assert.include(table(row("rise\nfall") + row("ebb\nflow")), "| rise fall | 1 |")
  })
})

describe("HTML", () => {
  it("keeps a title in what Doxygen calls its title area", () => {
    assert.include(body(`<div id="titlearea"><h1>Tides</h1></div><p>${"Words. ".repeat(40)}</p>`), "# Tides")
  })

  it.each([
    ["<p>2<sup>64</sup> rows and 10<sup>6</sup> kg of H<sub>2</sub>O</p>", "2^64 rows and 10^6 kg of H₂O"],
    ["2<sup>64</sup> bare", "2^64 bare"],
    ["<h2>CO<sub>2</sub> and <code>x</code></h2>", "## CO₂ and x"],
    ["<ul><li>H<sub>2</sub>O, <b>bold</b>ly</li></ul>", "- H₂O, boldly"],
    [
      "<table><tr><th>m<sup>2</sup></th></tr><tr><td>10<sup>3</sup></td><td>b</td></tr></table>",
      "| m^2 |  |\n| --- | --- |\n| 10^3 | b |"
    ],
    ["<p><code>2<sup>n</sup></code></p>", "`2^n`"],
    ["<pre>2<sup>64</sup>\nH<sub>2</sub>O</pre>", "```\n2^64\nH₂O\n```"],
    ["<pre><button>Copy</button>ls</pre>", "```\nls\n```"],
    ["<p>Donau<wbr>dampf&shy;schiff&#8203;fahrt</p>", "Donaudampfschifffahrt"],
    ["<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rp>(</rp><rt>じ</rt><rp>)</rp></ruby>だ</p>", "漢字(かんじ)だ"],
    ["<p>Old <del>price</del> rule, <s>50</s> 40.</p>", "Old rule, ~~50~~ 40."],
    ["<p>She said <q>no</q>.</p>", "She said “no”."],
    ["<p>Bees dance.<sup><a href='#n1'>1</a></sup> So<sup class='footnote-ref'>b</sup></p>", "Bees dance.[1] So[b]"],
    ["<p>The hive rests.<sup>2</sup></p>", "The hive rests.[2]"],
    ["<p>So <math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>.</p>", "So E=mc^2."],
    [
      "<p><math alttext='x'><semantics><mrow><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><msub><mi>c</mi><mi>i</mi></msub></mfrac></mrow><annotation encoding='application/x-tex'>\\frac</annotation></semantics></math></p>",
      "(a+b)/(c_i)"
    ],
    ["<p><span><math><msqrt><mi>x</mi></msqrt></math><span aria-hidden='true'>twice</span></span></p>", "√(x)"]
  ])("%s", (source, wanted) => {
    assert.strictEqual(body(source), wanted)
  })

  it("does not overflow on what is nested without end", () => {
    for (const tag of ["sup", "sub", "q", "s", "math", "ruby", "code", "mrow"]) {
      const text = body(`<p>x${`<${tag}>`.repeat(20_000)}deep${`</${tag}>`.repeat(20_000)}</p>`)
      assert.include(text, "deep")
    }
  })

  it("cites the lines of a long <pre>, paragraph and list item", () => {
    const code = Array.from({ length: 400 }, (_, n) => `line${n + 6} = compute(${n})`)
    const prose = Array.from({ length: 200 }, (_, n) => `Sentence ${n + 408} <b>is here</b> in its own right.`)
    const source = `<html>\n<body>\n<h1>Code</h1>\n<p>Intro</p>\n<pre>\n${code.join("\n")}\n</pre>\n<p>\n${prose.join("\n")}\n</p>\n</body>`
    const file = source.split("\n")
    const { marks, text } = html(source)
    assert.notInclude(text, "\0")
    for (const word of [
      "line6 ",
      "line7 ",
      "line200 ",
      "line405 ",
      "Sentence 408 ",
      "Sentence 500 ",
      "Sentence 607 "
    ]) {
      const line = markAt(marks, text.indexOf(word))?.line
      assert.include(file[line! - 1], word)
    }
    const passages = located(chunk(text, options({ format: "markdown", size: 120, overlap: 20 })), marks)
    assert.isAbove(passages.length, 10)
    for (const passage of passages) {
      const words = /(?:line\d+ |Sentence \d+ )/g
      const found = passage.text.match(words) ?? []
      const cited = file.slice(passage.startLine - 1, passage.endLine).join("\n")
      for (const word of found) assert.include(cited, word)
      assert.isAtMost(passage.endLine - passage.startLine, passage.text.split(/\n|right\./).length + 3)
    }
  })

  it("reads a long <pre> in linear time", () => {
    const text = body(`<pre>${"<i>a</i>  \n\n".repeat(20_000)}</pre>`)
    assert.isAbove(text.length, 20_000)
  })

  for (const [what, piece] of [
    ["line breaks", "<br>"],
    ["code", "<code>a</code> "],
    ["raised numbers", "a<sup>2</sup> "],
    ["nested sections", "<section><article>"]
  ] as const) {
    it(`reads a long run of ${what} in linear time, also in a heading`, () => {
      for (const within of ["<p>", "<h1>"]) {
        const text = body(`${within}begin ${piece.repeat(20_000)}end`)
        assert.match(text, /begin[^]*end/)
      }
    })
  }
})

describe("other formats", () => {
  const run = (text: string, properties = "") =>
    `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`
  it("DOCX: direct and by style, notes, formulas, ruby, soft hyphens", () => {
    const above = '<w:vertAlign w:val="superscript"/>'
    const { text } = docx(
      zipped({
        "word/styles.xml":
          '<w:styles><w:style w:styleId="Up"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style><w:style w:styleId="FootnoteReference"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style></w:styles>',
        "word/footnotes.xml":
          '<w:footnotes><w:footnote w:id="1"><w:p><w:r><w:t>Note.</w:t></w:r></w:p></w:footnote></w:footnotes>',
        "word/document.xml": `<w:document><w:body><w:p>${run("2")}${run("64", above)}${run(" and 10")}${run("6", '<w:rStyle w:val="Up"/>')}${run(" H")}${run("2", '<w:vertAlign w:val="subscript"/>')}${run("O wa\u00adter")}<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteReference w:id="1"/></w:r></w:p><w:p><m:oMath><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>d</m:t></m:r></m:den></m:f></m:oMath></w:p><w:p><w:r><w:ruby><w:rt><w:r><w:t>かんじ</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p></w:body></w:document>`
      })
    )
    assert.strictEqual(text, "2^64 and 10^6 H₂O water[^1]\n\nc^2(a+b)/d\n\n漢字(かんじ)\n\n[^1]: Note.")
  })

  it("ODT", () => {
    const style = (name: string, position: string) =>
      `<style:style style:name="${name}"><style:text-properties style:text-position="${position}"/></style:style>`
    const { text } = openDocument(
      zipped({
        "content.xml": `<office:document-content><office:automatic-styles>${style("T1", "super 58%")}${style("T2", "-33% 58%")}</office:automatic-styles><office:body><office:text><text:p>2<text:span text:style-name="T1">64</text:span> H<text:span text:style-name="T2">2</text:span>O</text:p></office:text></office:body></office:document-content>`
      })
    )
    assert.strictEqual(text, "2^64 H₂O")
  })

  it("PPTX, XLSX, EPUB", () => {
    const slides = pptx(
      zipped({
        "ppt/presentation.xml": '<p:presentation><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": related(["r1", "slides/slide1.xml"]),
        "ppt/slides/slide1.xml":
          '<p:sld><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r><a:r><a:t> H</a:t></a:r><a:r><a:rPr baseline="-25000"/><a:t>2</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>'
      })
    )
    assert.include(slides.text, "10^6 H₂")
    const sheet = xlsx(
      zipped({
        "xl/workbook.xml": '<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": related(["r1", "worksheets/sheet1.xml"]),
        "xl/worksheets/sheet1.xml":
          '<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><r><t>m</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>2</t></r></is></c></row></sheetData></worksheet>'
      })
    )
    assert.include(sheet.text, "m^2")
    const pages = epub(
      zipped({
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
        "book.opf":
          '<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        "a.xhtml": "<html><body><p>2<sup>64</sup> H<sub>2</sub>O</p></body></html>"
      })
    )
    assert.strictEqual(pages.text, "2^64 H₂O")
  })

  it("no part of an archive is read again and again", () => {
    const book = (times: number) =>
      epub(
        zipped({
          "META-INF/container.xml": '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
          "book.opf": `<package><manifest><item id="a" href="a.xhtml"/></manifest><spine>${'<itemref idref="a"/>'.repeat(times)}</spine></package>`,
          "a.xhtml": "<html><body><p>Words.</p></body></html>"
        })
      )
    assert.match(book(90).text, /^Words\./)
    assert.throws(() => book(110), NotExtracted)
  })

  it.effect("PDF: powers above their line and within its reach, subscripts", () =>
    Effect.gen(function* () {
      const { text } = yield* Effect.promise(() =>
        pdf(
          pdfOf([
            [
              { text: "The limit is 2", x: 72, y: 700, size: 10 },
              { text: "64", x: 126, y: 704, size: 7 },
              { text: "A mass of 10", x: 72, y: 660, size: 10 },
              { text: "6", x: 125.5, y: 663, size: 6 },
              { text: "Drink H", x: 72, y: 620, size: 10 },
              { text: "2", x: 105, y: 618, size: 7 },
              { text: "O", x: 109, y: 620, size: 10 }
            ]
          ])
        )
      )
      for (const words of ["limit is 2^64", "mass of 10^6", "Drink H₂O"]) assert.include(text, words)
    })
  )
})
