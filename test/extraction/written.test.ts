import { assert, describe, it } from "@effect/vitest"
import { gzipSync } from "node:zlib"
import { extract, type Kind } from "../../src/extraction/extract.ts"
import { markAt } from "../../src/model/Locator.ts"
import { document, inOrder, layer, load } from "../files/Loader/loading.ts"
import * as Effect from "effect/Effect"

const paper =
  String.raw`\documentclass[twocolumn]{article}
\usepackage{amsmath} % for align
\title{On the \emph{Tides}}
\author{Ada Winter \and Ben Sommer}
\begin{document}
\maketitle
\begin{abstract}
Why the sea comes \& goes---in 100\,\% of cases.% a remark
\end{abstract}
\section{The moon}\label{sec:moon}
The caf\'e of M\"uller~\cite{mueller} says ` +
  "``" +
  String.raw`yes''.\footnote{It was late.}
Let $F = m a$ hold.

\subsection*{By hand}
\begin{enumerate}
\item Wait.
\item[now] \textbf{Look} at the \verb|sea level|.
\end{enumerate}
\begin{verbatim}
tide --at brest  % no comment
\end{verbatim}
\begin{table}[ht]
\begin{tabular}{l|r}
\hline
Port & Metres \\
\hline
Brest & 7.2 \\
\end{tabular}
\caption{Highest tides.}
\end{table}
\begin{equation}\label{eq:a}
h = \frac{a}{b}
\end{equation}
\end{document}
not read`

const page = String.raw`.\" A comment
.TH TIDE 1 "2024-01-05"
.SH NAME
tide \- tell when the water is high
.SH SYNOPSIS
.B tide
.RB [ \-a ]
.I port
.SH OPTIONS
.TP
.BR \-a ", " \-\-all
All tides of the \fIday\fP.
.TP
.B \-q
Say \(lqnothing\(rq.
.SS Examples
.nf
tide \-a brest
    \-q
.fi
.de XX
hidden
..
`

const mdoc = String.raw`.Dd January 5, 2024
.Dt TIDE 8
.Os
.Sh NAME
.Nm tide
.Nd tells the tide
.Sh SYNOPSIS
.Nm
.Op Fl a | Fl -all
.Op Fl f Ar file
.Sh DESCRIPTION
The
.Nm
utility reads
.Pa /etc/tides ,
see
.Xr moon 5 .
.Bl -tag -width Ds
.It Fl f Ar file
Reads
.Ar file .
.El
`

const read = (kind: Kind, text: string) => Effect.promise(() => extract(kind, text))

describe("formats written by hand", () => {
  it.effect("commands and macros named like what every object has are unknown ones", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* read("rtf", String.raw`{\rtf1 one\constructor  two}`)).text, "one two")
      const { text } = yield* read("man", ".Sh A\n.constructor b\none\\*[constructor] two\n.toString c")
      assert.strictEqual(text, "## A\n\none two")
    })
  )

  it.effect("RTF: letters are read in the code page of their font, of one byte or two", () =>
    Effect.gen(function* () {
      const source = String.raw`{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fcharset238 Calibri;}{\f2\fcharset128 Mincho;}{\f3\fcharset204 Times;}}
\f1 \'c8l\'e1nek {\f0 na\'efve} t\'fddne\par\f2 \'83A\'83\'81\'83\'8a\'83J 1\{2\}\par\f3 \'d3\'e2\'e0\par\plain caf\'e9}`
      assert.strictEqual(
        (yield* read("rtf", source)).text,
        "\u010cl\u00e1nek na\u00efve t\u00fddne\n\n\u30a2\u30e1\u30ea\u30ab 1{2}\n\n\u0423\u0432\u0430\n\ncaf\u00e9"
      )
    })
  )

  it.effect("RTF: footnotes and text boxes that their program starred are text; they were lost", () =>
    Effect.gen(function* () {
      const source = String.raw`{\rtf1\ansi The pump\chftn{\*\footnote\chftn\pard\plain Only with brine.} runs{\footnote Not in May.} daily.{\*\generator Riched;}\par
{\shp{\*\shpinst\shpleft10{\sp{\sn fillColor}{\sv 255}}{\shptxt Keep dry.\par}}{\shprslt Keep dry.\par}}}`
      assert.strictEqual(
        (yield* read("rtf", source)).text,
        "The pump Only with brine. runs Not in May. daily.\n\nKeep dry."
      )
    })
  )

  it.effect("LaTeX: entries of a book's own index commands are no text", () =>
    Effect.gen(function* () {
      const source = String.raw`\section{Types}
Functions \indexdef{function}%
of \indexsee{map}{function} types have a domain.`
      assert.strictEqual((yield* read("latex", source)).text, "## Types\n\nFunctions of types have a domain.")
    })
  )

  it.effect("LaTeX: the arguments of a macro that is not expanded are words apart", () =>
    Effect.gen(function* () {
      const { text } = yield* read("latex", String.raw`\key{next heading}{C-c C-n} of {\bf each}{} tree, Stra\ss{}e`)
      assert.strictEqual(text, "next heading C-c C-n of each tree, Straße")
    })
  )

  it.effect("LaTeX: what stands in two forms, for the page and for bookmarks, is read once", () =>
    Effect.gen(function* () {
      const source = String.raw`\section{The \texorpdfstring{\texttt{Bench}}{Bench} of \texorpdfstring{$x$}{x}}
A \texorpdfstring{\emph{quick}}{quick} run.`
      assert.strictEqual((yield* read("latex", source)).text, "## The Bench of $x$\n\nA quick run.")
    })
  )

  it.effect("LaTeX: a percent sign in an address is no comment, which took the rest of the line", () =>
    Effect.gen(function* () {
      const source = String.raw`See \url{http://a.b/c%20d\_e#~f}, \footnote{Or \nolinkurl{g%20h}.} \href{http://i%20j}{the page} and
\path{k\l%m} here. % a remark
End.`
      assert.strictEqual(
        (yield* read("latex", source)).text,
        "See http://a.b/c%20d_e#~f, the page and k\\l%m here. End.\n\nOr g%20h."
      )
    })
  )

  it.effect("LaTeX: an accent's letter may stand after a blank", () =>
    Effect.gen(function* () {
      const source = String.raw`Gar\c con, \v Skoda, fa\c
cade, \'etude, na\"\i ve, \c{c}a, \DH a\dh, \~{}home, if \= and \= \textbf{each}.`
      assert.strictEqual(
        (yield* read("latex", source)).text,
        "Garçon, Škoda, façade, étude, naïve, ça, Ðað, ~home, if and each."
      )
    })
  )

  it.effect("LaTeX: headings, lists, tables and code, quotes and accents as printed, without its markup", () =>
    Effect.gen(function* () {
      const { marks, metadata, text: content, title } = yield* read("latex", paper)
      assert.strictEqual(title, "On the Tides")
      assert.strictEqual(metadata["author"], "Ada Winter, Ben Sommer")
      inOrder(content, "## Abstract", "Why the sea comes & goes—in 100 % of cases.", "## The moon", "café of Müller")
      inOrder(
        content,
        "says “yes”.",
        "Let $F = m a$ hold.",
        "It was late.",
        "### By hand",
        "1. Wait.",
        "2. now: Look at the `sea level`."
      )
      inOrder(
        content,
        "```\ntide --at brest  % no comment\n",
        "| Port | Metres |",
        "| Brest | 7.2 |",
        "Highest tides.",
        "h = \\frac{a}{b}"
      )
      for (const markup of ["cite", "label", "textbf", "not read", "a remark", "amsmath"])
        assert.notInclude(content, markup)
      const moon = marks.findLast(({ start }) => start <= content.indexOf("## The moon"))
      assert.strictEqual(moon?.line, 10)
    })
  )

  it.effect("a manual page: its sections, options as items, examples as code, cited by its lines", () =>
    Effect.gen(function* () {
      const { marks, text: content, title } = yield* read("man", page)
      assert.strictEqual(title, "tide(1)")
      inOrder(content, "## NAME", "tide - tell when the water is high", "## SYNOPSIS", "tide [-a] port", "## OPTIONS")
      inOrder(
        content,
        "- -a, --all\n  All tides of the day.",
        "- -q\n  Say “nothing”.",
        "### Examples",
        "tide -a brest\n    -q"
      )
      assert.notInclude(content, "hidden")
      assert.strictEqual(marks.findLast(({ start }) => start <= content.indexOf("All tides"))?.line, 12)
    })
  )

  it.effect("a manual page's named letters: those with accents were dropped, and words lost them", () =>
    Effect.gen(function* () {
      const source = String.raw`.SH DESCRI\(,C\(~AO
\(:Ubersetzung, reposit\('orios, gar\(,con, \(^ile, \(oAngstr\(:om, S\(/lownik, \(vSkoda, Stra\(sse, c\(oe\[u0075]r
.PP
\[e aq]t\[u00E9], caf\[u0065_0301], con\(figure, \[o ~ '], \(Bqja\(lq, \(Fonon\(Fc, \(Eu5, \(12, \(->, 2\*(PI, \(*b \(*S\(ts
.PP
None: \(zz\(:q\[u110000]\[no such]\(*?.`
      assert.strictEqual(
        (yield* read("man", source)).text,
        [
          "## DESCRIÇÃO",
          "Übersetzung, repositórios, garçon, île, Ångström, Słownik, Škoda, Straße, cœur",
          "été, café, configure, ṍ, „ja“, «non», €5, ½, →, 2π, β Σς",
          "None: ."
        ].join("\n\n")
      )
    })
  )

  it.effect("ms: headings with a level, highlighted code and links as pandoc writes them", () =>
    Effect.gen(function* () {
      const source = String.raw`.SH 1
Introduction
.pdfhref O 1 "Introduction"
.LP
Open \*[Bold "the valve"] as on the\c
.pdfhref W -D "http://a.b/c" -A "\c" \
 -- "next page"
\& says.
.IP
.nf
\f[C]
\*[KeywordTok "class"]\*[NormalTok " A(x[0]):  "]\*[CommentTok "# \[dq]one\[dq] \*(lqtwo\*(rq"]
\f[]
.fi
.NH 2
Starting`
      assert.strictEqual(
        (yield* read("man", source)).text,
        [
          "## Introduction",
          "Open the valve as on the next page says.",
          '```\nclass A(x[0]):  # "one" “two”\n```',
          "### Starting"
        ].join("\n\n")
      )
    })
  )

  it.effect("what follows an option in a manual page stays with it, until its list ends", () =>
    Effect.gen(function* () {
      const man =
        ".SH OPTIONS\n.TP\n.B \\-a\nFirst.\n.IP\nMore of it.\n.RS\n.TP\n.B x\nInner.\n.RE\n.TP\n.B \\-b\nSecond.\n.PP\nOf both."
      assert.strictEqual(
        (yield* read("man", man)).text,
        ["## OPTIONS", "- -a\n  First.", "  More of it.", "  - x\n    Inner.\n- -b\n  Second.", "Of both."].join("\n\n")
      )
      const bsd =
        ".Sh OPTIONS\n.Bl -tag\n.It Fl a\nFirst.\n.Pp\nMore of it.\n.Bl -tag\n.It Cm x\nInner.\n.Pp\nMore of x.\n.El\n.Pp\nLast.\n.El\n.Pp\nOf all."
      assert.strictEqual(
        (yield* read("man", bsd)).text,
        [
          "## OPTIONS",
          "- -a\n  First.",
          "  More of it.",
          "  - x\n    Inner.",
          "    More of x.",
          "  Last.",
          "Of all."
        ].join("\n\n")
      )
    })
  )

  it.effect("a section of a manual page may be named by a number", () =>
    Effect.gen(function* () {
      const { text } = yield* read("man", ".TH TIDE 1\n.SH 1\n.PP\nSection named one.")
      assert.strictEqual(text, "## 1\n\nSection named one.")
    })
  )

  it.effect("a manual page of BSD's macros reads as it is printed", () =>
    Effect.gen(function* () {
      const { text: content, title } = yield* read("man", mdoc)
      assert.strictEqual(title, "tide(8)")
      inOrder(
        content,
        "tide tells the tide",
        "tide [-a | --all] [-f file]",
        "The tide utility reads /etc/tides, see moon(5)."
      )
      inOrder(content, "- -f file\n  Reads file.")
    })
  )

  it.effect("cites each line of a paragraph, of code and of a table, so that a passage ends where its words do", () =>
    Effect.gen(function* () {
      const manual = String.raw`.TH TIDE 1
.SH NAME
tide \- tell the zero
about the one
and the two
.TP
.B three
four is told
and five.
.nf

six
seven
.fi
.TS
tab(:);
l l.
eight:nine
T{
ten
eleven
T}:twelve
.TE
`
      const article = String.raw`\begin{document}
\section{Tides}
zero stands here, 
one \\
two, and $a
= three$ or
four.
\begin{verbatim}

five

six
\end{verbatim}
\begin{tabular}{ll}
\hline
seven & x \\
eight & y \\
\end{tabular}
\end{document}`
      const site = `<body><p>zero<br>
one<br>
<br>
two</p>
<ul><li><br>
</li><li>three
four</li></ul><table><tr><td>
five</td><td> </td>
<td>six
seven</td></tr></table>`
      for (const [kind, source] of [
        ["man", manual],
        ["latex", article],
        ["html", site]
      ] as const) {
        const { marks, text } = yield* read(kind, source)
        assert.notInclude(text, "\0")
        assert.notMatch(text, /\w {2}|^- $/m)
        const lines = source.split("\n")
        for (const word of text.match(/zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve/g) ?? []) {
          const at = markAt(marks, text.indexOf(word))
          assert.include(lines[at!.line! - 1], word, `${kind}: ${word}`)
        }
        assert.include(text, "seven")
      }
    })
  )

  it.effect("HTML: what an item or a description holds is in its order: code and lists came after all paragraphs", () =>
    Effect.gen(function* () {
      const source = `<body><ol>
<li><p>One.</p>
<pre>two</pre>
<p>Three.</p>
Four
<ul><li>five<br><table><tr><th>six</th><th>seven</th></tr><tr><td>eight</td><td>nine</td></tr></table>ten</li>
<li>eleven</li></ul>
<i>twelve</i></li>
<li><pre>thirteen</pre>
fourteen
<blockquote><p>fifteen</p></blockquote>
<div hidden>none</div>
</li><li>sixteen</li>
</ol>
<dl><dt>seventeen</dt>
<dd><p>eighteen</p>
<pre>nineteen</pre>
<p>twenty</p></dd></dl></body>`
      const { marks, text } = yield* read("html", source)
      assert.strictEqual(
        text,
        [
          "1. One.",
          "```\ntwo\n```",
          "Three. Four\n  - five",
          "| six | seven |\n| --- | --- |\n| eight | nine |",
          "ten",
          "  - eleven",
          "twelve",
          "```\nthirteen\n```",
          "2. fourteen",
          "fifteen",
          "3. sixteen",
          "seventeen",
          "eighteen",
          "```\nnineteen\n```",
          "twenty"
        ].join("\n\n")
      )
      const lines = source.split("\n")
      for (const word of text.match(/[a-z]{3,}/gi) ?? []) {
        assert.include(lines[markAt(marks, text.indexOf(word))!.line! - 1], word)
      }
      const places = marks.map(({ line }) => line!)
      assert.deepStrictEqual(
        places,
        [...places].sort((a, b) => a - b)
      )
    })
  )

  it.effect(
    "HTML: a part with less than most of the page's words is not all of it: an article between chapters hid them",
    () =>
      Effect.gen(function* () {
        const words = (word: string, count: number) => `<p>${`${word} `.repeat(count)}</p>`
        const page = (rest: string, part: string) =>
          `<body><h1>Pumps</h1>${rest}${part}<h2>Warranty</h2>${words("sold", 5)}</body>`
        for (const part of ["<article>", '<div class="content">', "<main>"]) {
          const tip = `${part}<h3>Tip</h3>${words("grease", 20)}</${part.slice(1, part.search(/[ >]/))}>`
          const { text } = yield* read("html", page(words("bolt", 40), tip))
          for (const word of ["Pumps", "bolt", "Tip", "grease", "Warranty"]) assert.include(text, word)
          const around = `<nav>${words("menu", 60)}</nav><ul>${'<li><a href="a">elsewhere</a></li>'.repeat(60)}</ul>`
          assert.strictEqual(
            (yield* read("html", page(around, tip))).text,
            `### Tip\n\n${"grease ".repeat(20).trim()}`,
            "links and menus are not what a page says"
          )
        }
      })
  )

  it.effect("hostile text ends soon: nests, and groups without an end", () =>
    Effect.promise(async () => {
      for (const text of [
        "\\footnote{".repeat(100_000),
        "\\begin{tabular}".repeat(100_000),
        "$".repeat(200_001),
        "{".repeat(1_000_000),
        "\\item[".repeat(100_000),
        "\\'".repeat(100_000)
      ])
        await extract("latex", text).catch((error: Error) => assert.instanceOf(error, Error))
      for (const text of [
        ".if 1 \\{\n".repeat(50_000),
        ".TS\n".repeat(50_000),
        "\\[".repeat(300_000),
        ".Op ".repeat(200_000),
        '\\*[a "'.repeat(100_000),
        '\\*[a "\\"'.repeat(100_000),
        ".de x\n".repeat(50_000)
      ])
        await extract("man", text).catch((error: Error) => assert.instanceOf(error, Error))
    })
  )
})

/** "Packed words." as zstd 1.5 packs it. */
const packed = "KLUv/QRYuQAAIyBOb3RlcwoKUGFja2VkIHdvcmRzLgodazql"

describe("packed files", () => {
  it.effect("a manual for info is a text without its marks; one with an index was called binary", () =>
    Effect.gen(function* () {
      const manual = (index: string, picture: string, more: string) =>
        `This is tide.info, produced by makeinfo version 6.8 from\ntide.texi.\n\n\x1f\nFile: tide.info,  Node: Top\n\nThe café.\n${picture}\n${index}\n* Menu:\n${more}`
      const marked = (inner: string) => `\0\b[${inner}\0\b]`
      const written = manual(marked("index"), marked('image src="a.png"\nalt="A"'), "")
      const { content, format } = document(yield* load("tide.info-2.gz", gzipSync(written)))
      assert.strictEqual(format, "text")
      assert.strictEqual(content, manual("", "\n", ""))
      const table = `\x1f\nTag Table:\n${"Node: A\x7f12\n".repeat(50)}`
      assert.strictEqual(
        document(yield* load("tide.info", Buffer.from(manual("", "", table)))).content,
        manual("", "", table)
      )
      // The first 64 KiB end within a mark.
      const long = manual("", "", "words ".repeat(12_000))
      const cut = `${long.slice(0, 65_530)}${marked("index")}${long.slice(65_530)}`
      assert.strictEqual(document(yield* load("tide.info", Buffer.from(cut))).content, long)
      assert.include((yield* Effect.flip(load("tide.dat", Buffer.from(`\x1f${written}`)))).reason, "binary")
    }).pipe(Effect.provide(layer))
  )

  for (const [name, bytes] of [
    ["notes.md.gz", gzipSync("# Notes\n\nPacked words.\n")],
    ["notes.md.zst", Buffer.from(packed, "base64")]
  ] as const) {
    it.effect(`${name} is read as what it holds`, () =>
      Effect.gen(function* () {
        const { content, format } = document(yield* load(name, bytes))
        assert.strictEqual(format, "markdown")
        assert.strictEqual(content, "# Notes\n\nPacked words.\n")
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("a bomb, a truncated file and an archive of many files are refused in words", () =>
    Effect.gen(function* () {
      const reasonOf = (name: string, bytes: Uint8Array) =>
        Effect.map(Effect.flip(load(name, bytes)), (error) => error.reason)
      const tar = Buffer.alloc(1024)
      tar.write("a.txt")
      tar.write("0000644\0", 100)
      tar.write("ustar\u000000", 257)
      let sum = 0
      for (let i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? 32 : tar[i]!
      tar.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
      assert.include(yield* reasonOf("a.tar.gz", gzipSync(tar)), "an archive of many files")
      assert.include(yield* reasonOf("a.txt.gz", gzipSync("x".repeat(10_000)).subarray(0, 20)), "damaged")
      assert.include(yield* reasonOf("a.txt.zst", Buffer.from(packed, "base64").subarray(0, 16)), "damaged")
      assert.include(
        yield* reasonOf("a.txt.gz", gzipSync("words ".repeat(500_000))),
        "more than limits.max_file_bytes allows"
      )
      // A header that asks for a window of 2 TiB.
      assert.include(
        yield* reasonOf("a.txt.zst", Buffer.from("28b52ffd00ff0000", "hex")),
        "unpacks to more than 512 MiB"
      )
    }).pipe(Effect.provide(layer))
  )
})
