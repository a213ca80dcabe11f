import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { strToU8 } from "fflate"
import { markAt } from "../../../src/model/Locator.ts"
import { document, layer, load } from "./loading.ts"

const read = (name: string, source: string) => Effect.map(load(name, strToU8(source)), document)

const manual = `<?xml version="1.0"?>
<!DOCTYPE reference PUBLIC "-//OASIS//DTD DocBook V4.5//EN" "docbookx.dtd" [
  <!ENTITY % common SYSTEM "common.ent">
]>
<reference>
<title>Manual pages</title>
<refentry id="tide.conf">
  <refentryinfo><author><surname>Nemo</surname></author></refentryinfo>
  <refmeta><refentrytitle>tide.conf</refentrytitle><manvolnum>5</manvolnum></refmeta>
  <refnamediv><refname>tide.conf</refname><refname>tide.d</refname>
    <refpurpose>when the sea rises</refpurpose></refnamediv>
  <refsect1><title>OPTIONS</title>
    <!-- <para>not this</para> -->
    <variablelist>
      <varlistentry id="depth">
        <term><option>depth=<replaceable>METRES</replaceable></option></term>
        <listitem><para>How deep the harbour is,
          in metres; see <xref linkend="harbour"/>.</para></listitem>
      </varlistentry>
    </variablelist>
    <programlisting language="ini"><![CDATA[depth = 4 # < 5 && > 3
name = <sea>]]></programlisting>
    <table><title>Tides</title><tgroup cols="2"><colspec colwidth="1*"/>
      <thead><row><entry>place</entry><entry>rise</entry></row></thead>
      <tbody><row><entry>Port Arden</entry><entry>4 m</entry></row></tbody></tgroup></table>
  </refsect1>
</refentry>
</reference>
`

it.layer(layer)("DocBook, Mallard and DITA", (it) => {
  it.effect("a manual page of DocBook has its sections, options, code and tables, on the lines of the file", () =>
    Effect.gen(function* () {
      const { content, marks = [], title } = yield* read("tide.conf.5.xml", manual)
      assert.strictEqual(title, "tide.conf")
      assert.strictEqual(
        content,
        [
          "Manual pages",
          "# tide.conf",
          "tide.d",
          "when the sea rises",
          "## OPTIONS",
          "### `depth=METRES`",
          "How deep the harbour is, in metres; see harbour.",
          "```ini\ndepth = 4 # < 5 && > 3\nname = <sea>\n```",
          "Tides",
          "| place | rise |\n| --- | --- |\n| Port Arden | 4 m |"
        ].join("\n\n")
      )
      const lineOf = (words: string) => markAt(marks, content.indexOf(words))?.line
      for (const words of ["tide.conf", "OPTIONS", "depth=METRES", "in metres", "name = <sea>", "Port Arden"]) {
        const line = manual.split("\n").findIndex((each) => each.includes(words.split("=")[0]!)) + 1
        assert.include(manual.split("\n")[lineOf(words)! - 1], words.slice(0, 5), `${words} ${line}`)
      }
    })
  )

  it.effect("a chapter in SGML needs no declaration, and its empty elements no end", () =>
    Effect.gen(function* () {
      const { content, title } = yield* read(
        "wal.sgml",
        `<!-- doc/wal.sgml -->
<chapter id="wal"><title>The log</title><para>See <xref linkend="backup"> and <xref linkend="guc">.</para>
<sect1><title>Checks</title><para>&product; reads <literal>pg_wal</literal>.</para>
<itemizedlist><listitem><para>one</para></listitem><listitem><para>two</para></listitem></itemizedlist></sect1></chapter>`
      )
      assert.strictEqual(title, "The log")
      assert.strictEqual(
        content,
        "# The log\n\nSee backup and guc.\n\n## Checks\n\n&product; reads `pg_wal`.\n\n- one\n- two"
      )
    })
  )

  it.effect("a page of Mallard and a topic of DITA are read alike", () =>
    Effect.gen(function* () {
      const page = yield* read(
        "tether.page",
        `<page xmlns="http://projectmallard.org/1.0/" id="tether"><info><link type="guide" xref="net"/>
<title type="sort">zz</title><credit type="author"><name>Ann</name></credit><desc>Use your phone.</desc></info>
<title>Tether a phone</title><steps><item><p>Connect <gui>it</gui>.</p></item><item><p>Type <cmd>nmcli</cmd>:</p>
<screen>nmcli dev</screen></item></steps><terms><item><title>3G</title><p>Old.</p></item></terms></page>`
      )
      assert.strictEqual(page.title, "Tether a phone")
      assert.strictEqual(
        page.content,
        "Use your phone.\n\n# Tether a phone\n\n1. Connect it.\n2. Type `nmcli`:\n\n```\nnmcli dev\n```\n\n3G\n\nOld."
      )
      const topic = yield* read(
        "jvm.dita",
        `<!DOCTYPE task PUBLIC "-//OASIS//DTD DITA Task//EN" "task.dtd">
<task id="jvm"><title>More <keyword keyref="heap"/> memory</title><prolog><metadata><keywords>
<indexterm>java</indexterm></keywords></metadata></prolog><taskbody><steps><step><cmd>Set the variable.</cmd>
<info><codeblock>JAVA_OPTS=-Xmx2g</codeblock></info></step></steps></taskbody></task>`
      )
      assert.strictEqual(topic.title, "More heap memory")
      assert.strictEqual(topic.content, "# More heap memory\n\n1. Set the variable.\n\n```\nJAVA_OPTS=-Xmx2g\n```")
    })
  )

  it.effect(
    "what people write by hand is read: SGML in capitals, tags without names, entities, references, empty cells",
    () =>
      Effect.gen(function* () {
        const {
          content,
          marks = [],
          title
        } = yield* read(
          "howto.sgml",
          `<!DOCTYPE BOOK PUBLIC "-//OASIS//DTD DocBook V4.1//EN" [ <!ENTITY a "<para>b</para>"> ] >
<!-- <!DOCTYPE BOOK [ -->
<Book><Title>How to</Title><?dbhtml filename="a>b"?>
<Chapter ID="one"><Title>One &regress;</Title>
<Para>Use <literal>a</>, then <ULink URL="http://example.org/"/> &mdash; 1 < 2, since <author>Ann</author>;
see <xref linkend=two> and <link linkend="the
third"></link>.</Para>
<![IGNORE[<para>gone</para>]]><![%draft;[<para>kept</para>]]>
<programlisting><![CDATA[<!DOCTYPE BOOK []>]]></programlisting>
<cmdsynopsis><command>ls</command><arg>-l</arg><arg>file</arg></cmdsynopsis>
<legalnotice><para>See <citerefentry><refentrytitle>ls</refentrytitle><manvolnum>1</manvolnum></citerefentry> in
<guimenu>File</guimenu><guimenuitem>Open</guimenuitem>.<para>Two.</legalnotice>
<figure><info><title>A picture</title></info></figure>
<informaltable><tgroup cols="3"><tbody><row><entry>a</entry><entry>b</entry><entry>c</entry></row>
<row><entry>d</entry><entry/><entry>f</entry></row><row><entry namest="c1" nameend="c2">g</entry><entry>h</entry></row></tbody></tgroup></informaltable>
</Chapter></Book>`
        )
        assert.strictEqual(title, "How to")
        assert.strictEqual(markAt(marks, content.indexOf("A picture"))?.line, 13)
        assert.strictEqual(
          content,
          [
            "# How to",
            "## One &regress;",
            "Use `a`, then http://example.org/ — 1 < 2, since Ann; see two and the third.",
            "kept",
            "```\n<!DOCTYPE BOOK []>\n```",
            "`ls` -l file",
            "See ls(1) in File Open.",
            "Two.",
            "A picture",
            "| a | b | c |\n| --- | --- | --- |\n| d |  | f |\n| g |  | h |"
          ].join("\n\n")
        )
        const prefixed =
          '<d:article xmlns:d="http://docbook.org/ns/docbook"><d:title>T</d:title><d:para>x</d:para></d:article>'
        assert.strictEqual((yield* read("p.xml", prefixed)).content, "# T\n\nx")
      })
  )

  it.effect("a reference without words is what its target in the file is called; the call of a function is one", () =>
    Effect.gen(function* () {
      const { content } = yield* read(
        "lamps.xml",
        `<chapter xmlns="http://docbook.org/ns/docbook" xmlns:xlink="http://www.w3.org/1999/xlink" xml:id="ch">
<title>Lamps</title><!-- <section xml:id="oil"><title>Not this</title> -->
<para xml:id="here">See <xref linkend="oil"/>, <link linkend="CLEAN"/>, <link xlink:href="#depth"></link>, <xref linkend="wick"/>,
<xref linkend="shelf"/>, <xref linkend="here"/>, <xref linkend="spot"/>, <link linkend="oil">that</link> and <xref linkend="elsewhere"/>.</para>
<section xml:id="shelf"><para><anchor xml:id="spot"/>Wood.</para><section xml:id="clean"><title>Cleaning
the <emphasis>glass &amp; brass</emphasis><indexterm><primary>no</primary></indexterm></title>
<variablelist><varlistentry xml:id="depth"><term>depth</term><listitem xml:id="wick" xreflabel="wick &amp; wax"><para>4.</para></listitem>
</varlistentry></variablelist></section></section>
<refentry xml:id="oil"><refmeta><manvolnum>3</manvolnum></refmeta><refnamediv><refname>fill_oil</refname><refname>oil</refname></refnamediv>
<funcsynopsis>
  <funcprototype>
    <funcdef>boolean <function>fill_oil</function></funcdef>
    <paramdef><type>text </type> <parameter>lamp</parameter></paramdef>
    <paramdef choice="opt"><type>double precision</type> <parameter>litres=1</parameter></paramdef>
  </funcprototype>
  <funcprototype><funcdef><function>drain</function></funcdef><void/></funcprototype>
  <funcprototype><funcdef>int <function>log</function></funcdef><paramdef>char *<parameter>f</parameter></paramdef><varargs/></funcprototype>
</funcsynopsis>
<methodsynopsis><modifier>public</modifier> <type>bool</type><methodname>Lamp::light</methodname>
<methodparam><type>string</type><parameter>by</parameter><initializer>"match"</initializer></methodparam></methodsynopsis>
</refentry></chapter>`
      )
      assert.strictEqual(
        content,
        [
          "# Lamps",
          "See fill_oil, Cleaning the glass & brass, depth, wick & wax, shelf, here, spot, that and elsewhere.",
          "Wood.",
          "### Cleaning the glass & brass",
          "#### depth",
          "4.",
          "## fill_oil",
          "oil",
          "boolean fill_oil(text lamp, double precision litres=1)",
          "drain()",
          "int log(char *f, ...)",
          'public bool Lamp::light(string by = "match")'
        ].join("\n\n")
      )
    })
  )

  it.effect("other XML stays as it is written; what breaks off, or nests without end, is read as far as it goes", () =>
    Effect.gen(function* () {
      const pom = "<project>\n  <name>sea</name>\n  <title>x</title>\n</project>\n"
      assert.strictEqual((yield* read("pom.xml", pom)).content, pom)
      const map =
        '<!DOCTYPE map PUBLIC "-//OASIS//DTD DITA Map//EN" "http://docs.oasis-open.org/dita/dtd/map.dtd">\n<map><topicref href="a.dita"/></map>\n'
      assert.strictEqual((yield* read("guide.xml", map)).content, map)
      const schemas =
        '<locatingRules><namespace ns="http://docbook.org/ns/docbook" uri="docbook.rnc"/></locatingRules>\n'
      assert.strictEqual((yield* read("schemas.xml", schemas)).content, schemas)
      const quote =
        '<article xmlns="http://docbook.org/ns/docbook"><title>Q</title><para role="a>one</para><para>two</para></article>'
      assert.include((yield* read("quote.xml", quote)).content, "one")
      const broken = '<article xmlns="http://docbook.org/ns/docbook"><title>Broken</title><para>as far <!-- as'
      assert.strictEqual((yield* read("broken.xml", broken)).content, "# Broken\n\nas far")
      const deep = `<article><title>Deep</title><para>${"<x>".repeat(100_000)}down${"</x>".repeat(100_000)}</para></article>`
      assert.include((yield* read("deep.dbk", deep)).content, "down")
    })
  )
})
