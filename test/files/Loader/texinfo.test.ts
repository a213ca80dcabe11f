import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { strToU8 } from "fflate"
import { markAt } from "../../../src/model/Locator.ts"
import { document, layer, load } from "./loading.ts"

const read = (source: string, name = "tide.texi") =>
  Effect.map(Effect.provide(load(name, strToU8(source)), layer), document)

const manual = String.raw`\input texinfo
@c %**start of header
@settitle The @command{tide} manual 4
@copying
Permission is granted.
@end copying
@macro optItem{cmd,opt,param}
@anchor{\cmd\-\opt\}
@item \opt\\param\
@opindex \opt\
@end macro
@macro optItemx{cmd,opt,param}
@anchor{\cmd\-\opt\}
@itemx \opt\\param\
@end macro
@macro exitstatus
The exit status is zero @comma{} or not.
@end macro
@menu
* Rising::   When it rises.
@end menu
@node Rising, Falling, Top, Top
@chapter @command{tide}: When it rises
@cindex sea level

The @command{tide} program says @emph{when}
it rises@footnote{See @uref{https://a.example/, the
almanac}.} (@pxref{Moon phases,, The moon}).  @c not this
@xref{Moon phases}.  Costs 5@ @euro{}, @@home, @{x@}@dots{}

@table @option
@optItem{tide,-d,@w{ }@var{depth}}
@optItemx{tide,--depth,=@var{depth}}
How deep.

@example
tide --depth=4  @print{} 12:04
@group
@{ sea @}
@end group
@end example

In metres.
@item -v
Say more.
@itemize @bullet
@item
one
@item two
@end itemize
@end table

@exitstatus

@ifhtml
Not this.
@end ifhtml
@ignore
@chapter Nor this
@end ignore
@multitable @columnfractions .5 .5
@headitem place @tab rise
@item Port Arden
@tab 4 m
@end multitable
@section The library
@deftypefun int tide_at (char *@var{place})
@deftypefunx int tide_in (char *@var{place})
When it is high.
@end deftypefun
@enumerate
@item Look.
@end enumerate
@verbatim
@c kept {as} it is
@end verbatim
@bye
Not this.
`

describe("Texinfo", () => {
  it.effect("a manual has its headings, options, lists, tables and examples, on the lines of the file", () =>
    Effect.gen(function* () {
      const { content, marks = [], title } = yield* read(manual)
      assert.strictEqual(title, "The tide manual 4")
      assert.strictEqual(
        content,
        [
          "# tide: When it rises",
          "The `tide` program says when it rises (See the almanac.) (see The moon). See Moon phases. " +
            "Costs 5 €, @home, {x}…",
          "## `-d depth`, `--depth=depth`",
          "How deep.",
          "```\ntide --depth=4  ⊣ 12:04\n{ sea }\n```",
          "In metres.",
          "## `-v`",
          "Say more.",
          "- one\n- two",
          "The exit status is zero , or not.",
          "| place | rise |\n| --- | --- |\n| Port Arden | 4 m |",
          "## The library",
          "### int tide_at (char *place), int tide_in (char *place)",
          "When it is high.",
          "1. Look.",
          "```\n@c kept {as} it is\n```"
        ].join("\n\n")
      )
      for (const words of [
        "When it rises",
        "program says",
        "almanac",
        "How deep",
        "12:04",
        "two",
        "Port Arden",
        "Look"
      ]) {
        const line = markAt(marks, content.indexOf(words))?.line
        assert.include(manual.split("\n")[line! - 1], words)
      }
    })
  )

  it.effect("what breaks off, calls itself or is no Texinfo is read as far as it goes", () =>
    Effect.gen(function* () {
      const broken =
        "@node A\n@chapter B @code{c\n@macro m{}\n@m{}@m{}\n@end macro\n@m{}\nWords } @samp{x\n@example\ny\n"
      assert.include((yield* read(broken, "a.txi")).content, "Words")
      const plain = "Just some words.\n"
      assert.strictEqual((yield* read(plain)).content, plain)
    })
  )

  it.effect("takes time in proportion to the text", () =>
    Effect.gen(function* () {
      for (const part of [
        "@example\n",
        "@code{",
        "@m{}",
        "@ifset a\n",
        "@xref{a,b",
        "@c x ",
        "@item\n",
        "{",
        "@table\n"
      ]) {
        const started = performance.now()
        yield* read(`@node a\n@macro m{}\n@m{} @m{}\n@end macro\n${part.repeat(20_000)}\nwords${"}".repeat(20_000)}\n`)
        assert.isBelow(performance.now() - started, 2000, part)
      }
    })
  )
})
