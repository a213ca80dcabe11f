import { it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { assert, describe } from "vitest"
import type { Format } from "../../src/model/Document.ts"
import { chunk } from "../../src/chunking/chunk.ts"
import { assertLaws, options } from "./chunkLaws.ts"

/** The headings of passages so small that no two sections share one. */
const outline = (format: Format, content: string): ReadonlyArray<string> => [
  ...new Set(chunk(content, options({ format, size: 24, overlap: 0 })).map(({ heading }) => heading.join(" > ")))
]

const body = "Some words that fill a passage of their own here, one after the other, until it is full enough."

describe("tables", () => {
  const headersIn = (format: Format, content: string) =>
    assertLaws(content, options({ format, size: 48, overlap: 0 })).map(({ tableHeader }) => tableHeader)
  const rows = Array.from({ length: 30 }, (_, i) => `| cell${i} | value`).join("\n")

  it("of AsciiDoc and Org keep their columns' names", () => {
    for (const [format, content] of [
      ["asciidoc", `== Keys\n\n[cols="1,1"]\n|===\n| Key | Default\n\n${rows}\n|===\n\n${body}\n`],
      ["org", `* Keys\n\n| Key | Default |\n|-----+---------|\n${rows}\n\n${body}\n`]
    ] as const) {
      const found = headersIn(format, content)
      assert.strictEqual(found[0], undefined, format)
      assert.strictEqual(found.at(-1), undefined, format)
      assert.isAbove(found.length, 3, format)
      for (const header of found.slice(1, -1)) assert.strictEqual(header, "Key | Default", format)
    }
  })
  it("of reStructuredText do in all their forms, also where a head or a row takes several lines", () => {
    const each = (row: (i: number) => string) => Array.from({ length: 90 }, (_, i) => row(i)).join("\n")
    const grid = `+--------+---------+
| Key    | Default |
|        | value   |
+========+=========+
${each((i) => `| cell${String(i).padEnd(2)} | a value |\n|        | goes on |\n+--------+---------+`)}`
    const simple = `======  =========
Key     Default
        value
======  =========
${each((i) => `cell${String(i).padEnd(2)}  one value${i % 7 === 3 ? "\n" : ""}`)}
======  =========`
    const list = `.. list-table:: Of keys
   :widths: 20 80
   :header-rows: 1

   * - Key
     - Default
       value
${each((i) => `   * - cell${i}\n     - value`)}`
    const values = `.. csv-table:: Of keys
   :header: "Key", "Default value"

${each((i) => `   cell${i}, value`)}`
    for (const table of [grid, simple, list, values, `.. table:: Of keys\n\n${simple.replaceAll(/^(?=.)/gm, "   ")}`]) {
      const content = `Keys\n====\n\n${table}\n\n${body}\n`
      const passages = assertLaws(content, options({ format: "rst", size: 160, overlap: 0 }))
      const [head, ...below] = passages.filter(({ text }) => !text.startsWith("Some words"))
      assert.strictEqual(head?.tableHeader, undefined, table)
      assert.isAbove(below.length, 1, table)
      for (const { tableHeader, text } of below) {
        assert.strictEqual(tableHeader, "Key | Default value", text)
        // No row is cut in two.
        assert.match(text, /^(?:\| |\* - )?cell/)
      }
      for (const { tableHeader, text } of passages) {
        if (text.startsWith("Some words")) assert.strictEqual(tableHeader, undefined, table)
      }
    }
  })
  it("of reStructuredText that are none, or end too soon, leave what follows as it is", () => {
    const rows = Array.from({ length: 30 }, (_, i) => `cell${i}   value`).join("\n")
    for (const table of [
      `=====  =====\n${rows}\n=====  =====`,
      `=====  =====\n${rows}`,
      `+----+----+\n| a  | b  |\n+----+----+\n${rows}`
    ]) {
      const content = `${table}\n\nNext\n====\n\n${body}\n`
      const passages = assertLaws(content, options({ format: "rst", size: 48, overlap: 0 }))
      assert.isTrue(
        passages.every(({ tableHeader }) => tableHeader === undefined),
        table
      )
      assert.deepStrictEqual(passages.at(-1)?.heading, ["Next"], table)
    }
  })
  it("without a header have none", () => {
    for (const [format, content] of [
      ["asciidoc", `|===\n${rows}\n|===\n`],
      ["org", rows]
    ] as const) {
      assert.isTrue(headersIn(format, content).every((header) => header === undefined))
    }
  })
})

describe("headings", () => {
  it("of reStructuredText are also what Sphinx describes, as far as it is indented", () => {
    const text = `Utilities
=========

${body}

.. _strip:

.. function:: strip_tags(value)

   ${body}

   .. versionadded:: 2.0

.. class:: Form(data)
   :module: forms

   ${body}

   .. method:: clean()

      ${body}

   ${body}

${body}

.. class:: list-options

${body}

Next
----
${body}
`
    assert.deepStrictEqual(
      chunk(text, options({ format: "rst", size: 24, overlap: 0 }))
        .map(({ heading }) => heading.join(" > "))
        .filter((each, at, all) => each !== all[at - 1]),
      [
        "Utilities",
        "Utilities > strip_tags(value)",
        "Utilities > Form(data)",
        "Utilities > Form(data) > clean()",
        "Utilities > Form(data)",
        "Utilities",
        "Utilities > Next"
      ]
    )
  })
  it("of AsciiDoc, in both forms, not in its blocks", () => {
    const text = `git-x(1)
========

NAME
----
${body}

== Options

\`-q\`::
\`--quiet\`::
	${body}
\`--verbose\`::
	${body}

=== Deep

----
== no heading
${body}
----

|=======
|Editor |Command
|=======

== Below a long rule
${body}

Short
-------------
${body}
`
    assert.deepStrictEqual(outline("asciidoc", text), [
      "git-x(1) > NAME",
      "git-x(1) > Options",
      "git-x(1) > Options > Deep",
      "git-x(1) > Below a long rule"
    ])
  })

  it("of AsciiDoc below an anchor or attributes, and closed by their signs", () => {
    const text = `[[top]]
Manual
======

${body}

[[undo]]
== Undoing a commit
${body}

[role="x"]
[[deep]]
=== Deep ===

${body}

Text that goes on
== in a line
${body}
`
    assert.deepStrictEqual(outline("asciidoc", text), [
      "Manual",
      "Manual > Undoing a commit",
      "Manual > Undoing a commit > Deep"
    ])
    const passages = chunk(text, options({ format: "asciidoc", size: 40, overlap: 0 }))
    assert.isTrue(passages.find(({ heading }) => heading.at(-1) === "Undoing a commit")?.text.startsWith("[[undo]]"))
  })

  it("begin with the labels and comments that stand before them, in every format", () => {
    const shore = `${body} ${body}`
    for (const [format, first, second, title] of [
      ["rst", ".. _top:\n.. _lamps:", ".. _glass:", (text: string) => `${text}\n=======`],
      [
        "rst",
        ".. Copyright 2020 the keepers\n   of the lamp",
        "..\n   Not yet done",
        (text: string) => `${text}\n=======`
      ],
      ["rst", ".. highlight:: none", ".. index::\n   single: glass", (text: string) => `=======\n${text}\n=======`],
      ["markdown", '<a name="lamps"></a>', '<a id="glass" />', (text: string) => `# ${text}`],
      [
        "markdown",
        "<!-- Copyright - 2020\n\nthe keepers -->",
        '<span id="x"> </span>\n<!--done-->',
        (text: string) => `# ${text}`
      ],
      ["markdown", "(lamps)=", "(wash-the-glass)=\n(glass)=", (text: string) => `# ${text}`],
      ["asciidoc", "// Copyright 2020\n:toc:\n:!icons:", "[[glass]]\n\n[role=x]", (text: string) => `== ${text}`],
      ["asciidoc", "[#lamps]", "[[glass]]\n// done", (text: string) => `${text}\n-------`],
      ["org", "#+STARTUP: overview\n# the keepers", "<<glass>>", (text: string) => `* ${text}`]
    ] as const) {
      const lamps = `${first}\n\n${title("Lamps:)")}\n\n${shore}`
      const glass = `${second}\n${format === "rst" ? "\n" : ""}${title("Washing")}\n\n${shore}`
      const passages = assertLaws(`${lamps}\n\n${glass}\n`, options({ format, size: 70, overlap: 0 }))
      assert.deepStrictEqual(
        passages.map(({ heading, text }) => [heading.at(-1), text]),
        [
          ["Lamps:)", lamps],
          ["Washing", glass]
        ],
        first
      )
    }
  })
  it("do not take what else stands above them, nor a comment as long as a passage", () => {
    const size = 40
    for (const [format, above, title] of [
      ["rst", ".. _tides: https://tide.example/", "Lamps\n====="],
      ["rst", ".. [1] The tide", "Lamps\n====="],
      ["rst", ".. note:: The tide", "Lamps\n====="],
      ["rst", ".. note :: The tide", "Lamps\n====="],
      ["markdown", "<a name='x'></a> The tide", "# Lamps"],
      ["markdown", "(tide)", "# Lamps"],
      ["markdown", `<!-- ${body} -->`, "# Lamps"],
      ["asciidoc", "[[tide]] The tide", "== Lamps"],
      ["org", "#tide", "* Lamps"]
    ] as const) {
      const passages = assertLaws(`${above}\n\n${title}\n\n${body} ${body}\n`, options({ format, size, overlap: 0 }))
      assert.strictEqual(passages[0]!.text, above)
      assert.isTrue(passages[1]!.text.startsWith(title))
    }
  })
  it("take no label of a paragraph, which stays before it", () => {
    const [first, second] = assertLaws(
      `== Tides\n\n${body} ${body}\n\n[[low]]\nLow tide::\n  ${body} ${body}\n`,
      options({ format: "asciidoc", size: 56, overlap: 0 })
    )
    assert.isTrue(first!.text.endsWith(body))
    assert.isTrue(second!.text.startsWith("[[low]]\nLow tide"))
  })

  it("of reStructuredText lose their roles and the targets of links, not the words", () => {
    for (const [title, words] of [
      [":mod:`core.alias` --- Names", "core.alias --- Names"],
      ["The :py:class:`~tide.moon.Phase` and :ref:`its table <phases>`", "The Phase and its table"],
      [":c:func:`!sea_level` of `Brest <http://a.b/c>`_ and `Kiel`__", "sea_level of Brest and Kiel"],
      ["``:a:`b` c`` and 10:30:`x`", ":a:`b` c and 10:30:x"]
    ] as const) {
      assert.deepStrictEqual(outline("rst", `${title}\n${"=".repeat(title.length)}\n\n${body}\n`), [words])
    }
  })
  it("of reStructuredText, whose levels are as they first come", () => {
    const text = `=====
Title
=====

Part
====

${body}

Deeper
------

.. code-block:: python

   no = 1
   ====
   more = 2

Other
=====

${body}
`
    assert.deepStrictEqual(outline("rst", text), ["Title > Part", "Title > Part > Deeper", "Title > Other"])
  })

  it("of a text in pages, as RFCs are, not in its contents, and not the lines around a break", () => {
    const foot = (page: number) => `Keeper                 Standards Track                     [Page ${page}]\n\f\n`
    const head = "RFC 9999                        Tides                        June 2006\n"
    const text = `Network Working Group                                  A. Keeper
June 2006

                        Lamps: The Protocol

Abstract

   ${body}

Table of Contents

   1. Lamps ...........................................................2
      1.1. Washing ....................................................2
1.  Lamps . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . 2

${foot(1)}${head}
1.  Lamps

   ${body}

1.1.  Washing

   ${body}

   1. no heading

${foot(2)}${head}
   ${body}

Appendix A.  Changes

   ${body}

A.1.  To RFC 2251

   ${body}

Author's Address

   ${body}
`
    assert.deepStrictEqual(outline("text", text.replaceAll("\f", "").replace("A.1.", "2.0")).slice(-3), [
      "Appendix A. Changes",
      "2.0 To RFC 2251",
      "Author's Address"
    ])
    assert.deepStrictEqual(outline("text", text), [
      "",
      "Abstract",
      "Table of Contents",
      "1. Lamps",
      "1. Lamps > 1.1. Washing",
      "Appendix A. Changes",
      "Appendix A. Changes > A.1. To RFC 2251",
      "Author's Address"
    ])
    assertLaws(text, options({ format: "text", size: 60, overlap: 0 }))
    assert.deepStrictEqual(outline("text", text.replaceAll(/^Keeper.*/gm, "")), [""])
    assert.deepStrictEqual(outline("text", text.replaceAll(/(\[Page \d\])$/gm, "$1 tells")), [""])
    const list = `1. ${body}\nand goes on\n\n2. One\n3. Two\n\n0 1 2 3\n+-+-+-+\n`
    assert.deepStrictEqual(outline("text", `${foot(1)}1.  Lamps\n\n${list}`), ["", "1. Lamps"])
  })

  it("of Org, below its title", () => {
    const text = `#+TITLE: Notes
* First
${body}
** Second
#+BEGIN_SRC sh
* no heading
#+END_SRC
${body}
`
    assert.deepStrictEqual(outline("org", text), ["Notes > First", "Notes > First > Second"])
  })
})

const line = FastCheck.constantFrom(
  ..."= Title|== a|Title|=====|-----|----|....||===|~~~~~|* item|** deep|term::|`-q`::|+|words and more words.|  indented|.. code-block:: x|.. option:: --x|.. _x:|.. comment|[[x]]|:toc:|# x|>>> a|+---+---+|+===+===+|=== ===|a   b|.. list-table:: x|   :header-rows: 1|   * - a|     - b|.. csv-table:: x|   :header: a, b|#+TITLE: t|#+begin_src|#+end_src|- a|1. b|1.1. b|Abstract|Keeper   [Page 1]||".split(
    "|"
  ),
  "|===",
  "|====",
  "| a"
)

describe("any markup", () => {
  for (const format of ["asciidoc", "rst", "org", "text"] as const) {
    it.prop(
      `keeps the laws of passages: ${format}`,
      [
        FastCheck.array(line, { maxLength: 60 }),
        FastCheck.constantFrom("\n", "\r\n"),
        FastCheck.integer({ min: 4, max: 60 })
      ],
      ([lines, newline, size]) => {
        assertLaws(lines.join(newline), options({ format, size, overlap: 2 }))
      }
    )
  }
})
