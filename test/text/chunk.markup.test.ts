import { it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { assert, describe } from "vitest"
import type { Format } from "../../src/model/Document.ts"
import { chunk } from "../../src/text/chunk.ts"
import { assertLaws, options } from "./chunkLaws.ts"

/** The headings of passages so small that no two sections share one. */
const outline = (format: Format, content: string): ReadonlyArray<string> => [
  ...new Set(chunk(content, options({ format, size: 24, overlap: 0 })).map(({ heading }) => heading.join(" > ")))
]

const body = "Some words that fill a passage of their own here, one after the other, until it is full enough."

describe("headings", () => {
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

Short
-------------
${body}
`
    assert.deepStrictEqual(outline("asciidoc", text), [
      "git-x(1) > NAME",
      "git-x(1) > Options",
      "git-x(1) > Options > Deep"
    ])
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
  ..."= Title|== a|Title|=====|-----|----|....||===|~~~~~|* item|** deep|term::|`-q`::|+|words and more words.|  indented|.. code-block:: x|.. option:: --x|>>> a|#+TITLE: t|#+begin_src|#+end_src|- a|1. b||".split(
    "|"
  )
)

describe("any markup", () => {
  for (const format of ["asciidoc", "rst", "org"] as const) {
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
