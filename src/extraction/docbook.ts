import type { Extracted } from "./Extracted.ts"
import { html } from "./html.ts"

/*
 * DocBook (XML, and the SGML of before), Mallard and DITA: their elements get the names of HTML's that mean the same, on
 * the same lines, and the page is read as HTML, whose parser forgives elements that are never closed.
 */

const words = (text: string): ReadonlyArray<string> => text.split(/\s+/)

/** Parts of a document that begin with a title of their own. */
const parts = new Set(
  words(
    `set book part partintro article chapter appendix preface dedication colophon reference refentry sect1 sect2 sect3
     sect4 sect5 section simplesect refsection refsect1 refsect2 refsect3 refsynopsisdiv topic glossary bibliography
     page concept task troubleshooting glossentry`
  )
)

/** What each element is in HTML. Its children go on without it where that is empty; others are spans. */
const asHtml: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // About the document, not of it.
    template: `refmeta author authorgroup editor othercredit credit revision revhistory revremark copyright legalnotice
      license pubdate date releaseinfo keywordset subjectset indexterm titleabbrev remark prolog titlealts related-links
      draft-comment required-cleanup toc index`,
    // Without words, and in SGML without an end.
    wbr: `xref anchor co colspec spanspec imagedata graphic inlinegraphic area xi:include include sbr`,
    p: `para simpara formalpara p shortdesc desc refpurpose attribution caption`,
    pre: `programlisting screen literallayout synopsis cmdsynopsis funcsynopsis codeblock msgblock lines pre`,
    ul: `itemizedlist simplelist list ul choices steps-unordered`,
    ol: `orderedlist procedure substeps steps ol`,
    li: `listitem member item step substep choice li`,
    dl: `variablelist glosslist terms dl parml`,
    dt: `term glossterm dt pt`,
    dd: `glossdef dd pd`,
    table: `table informaltable simpletable choicetable properties`,
    tr: `row strow sthead chrow chhead property propertyhead tr`,
    td: `entry stentry choption chdesc choptionhd chdeschd propvalue proptype propdesc td th`,
    thead: `thead`,
    tbody: `tbody`,
    code: `literal command option filename file envar function parameter constant type structname structfield userinput
      computeroutput systemitem code sys input output cmdname codeph filepath apiname xmlelement xmlatt parmname msgph
      systemoutput classname methodname varname prompt`,
    kbd: `key keycap keysym`,
    q: `quote`,
    sub: `subscript sub`,
    sup: `superscript sup`,
    a: `ulink link`,
    blockquote: `blockquote epigraph`,
    div: `info bookinfo articleinfo refentryinfo abstract body conbody taskbody refbody context prereq result
      postreq stepresult stepxmp example informalexample figure informalfigure note tip warning caution important
      varlistentry dlentry plentry glossdiv glossentry qandaset qandaentry question answer sidebar footnote equation
      informalequation mediaobject media listing bibliomixed biblioentry`,
    "": `tgroup tfoot`
  }).flatMap(([html, names]) => words(names).map((name) => [name, html] as const))
)

const tags = /<!\[CDATA\[|<!--|<(\/?)([A-Za-z][\w.:-]*)((?:[\s/](?:[^<>"']|"[^"<]*"|'[^'<]*')*)?)>/g

const attributesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...text.matchAll(/(?:^|\s)([\w:.-]{1,40})\s{0,4}=\s{0,4}(?:"([^"<]*)"|'([^'<]*)')/g)].map(
      ([, name = "", double, single]) => [name, double ?? single ?? ""] as const
    )
  )

interface Open {
  readonly name: string
  readonly html: string
  /** The level of the headings of its own titles. */
  readonly level: number
  /** Whether the name of its entries can be linked to. */
  readonly isTarget: boolean
}

/** Deeper than people nest; anything deeper is part of what it stands in. */
const deepest = 200

/** The document as HTML, in which every line is where it was. */
const toHtml = (source: string): string => {
  const open: Array<Open> = []
  /** A collection of manual pages, each of which is a document of its own. */
  const isCollection = /<refentry[\s>]/.test(source)
  const isPart = (name: string) => parts.has(name) && !(isCollection && name === "reference")
  let isNamed = false
  const declared = source.search(/<!DOCTYPE[^<>[]*\[/)
  const declaredTo = declared < 0 ? -1 : source.indexOf("]>", declared)
  let at = declaredTo < 0 ? 0 : declaredTo + 2
  let out = "\n".repeat(source.slice(0, at).split("\n").length - 1)

  /** What an element is, by what it stands in. */
  const htmlOf = (name: string, attributes: ReadonlyMap<string, string>, parent: Open | undefined): string => {
    const level = Math.min(6, Math.max(1, parent?.level ?? 1))
    switch (name) {
      case "title":
        if (attributes.has("type")) return "template"
        if (parent?.html === "table") return "caption"
        if (parent?.name === "item") return "dt"
        return parent !== undefined && (isPart(parent.name) || parent.name.endsWith("info")) ? `h${level}` : "p"
      case "refnamediv":
        isNamed = false
        return "div"
      case "refname":
        // The others are further names of the same.
        if (isNamed) return "p"
        isNamed = true
        return `h${level}`
      case "cmd":
        return parent?.html === "li" ? "p" : "code"
      case "listitem":
        return parent?.name === "varlistentry" ? "dd" : "li"
      case "item":
        return parent?.html === "dl" ? "div" : "li"
      case "glossterm":
        return parent?.html === "div" ? "dt" : "span"
      case "screen":
      case "code":
        // Mallard has one element for both.
        return name === "screen" || isPart(parent?.name ?? "") || parent?.html === "li" ? "pre" : "code"
      default:
        return asHtml.get(name) ?? (isPart(name) ? "section" : "span")
    }
  }

  const begin = (name: string, attributes: ReadonlyMap<string, string>, isEmpty: boolean): string => {
    const parent = open.at(-1)
    const html = htmlOf(name, attributes, parent)
    if (isEmpty || html === "wbr") {
      // A reference without words of its own says what it refers to.
      const target = attributes.get("linkend") ?? attributes.get("keyref") ?? attributes.get("xref")
      return target === undefined || parent?.name.endsWith("info") === true ? "" : target
    }
    if (open.length > deepest) return ""
    const isTarget = attributes.has("id") || attributes.has("xml:id")
    open.push({ name, html, level: (parent?.level ?? 0) + (isPart(name) ? 1 : 0), isTarget })
    if (html === "dt" && (isTarget || parent?.isTarget === true)) return '<dt id="">'
    if (html === "pre") return `<pre class="language-${attributes.get("language") ?? ""}">`
    return html === "" ? "" : `<${html}>`
  }

  const end = (name: string): string => {
    const place = open.findLastIndex((element) => element.name === name)
    if (place < 0) return ""
    // With those that SGML leaves open.
    return open
      .splice(place)
      .reverse()
      .map(({ html }) => (html === "" ? "" : `</${html}>`))
      .join("")
  }

  tags.lastIndex = at
  for (let tag = tags.exec(source); tag !== null; tag = tags.exec(source)) {
    out += source.slice(at, tag.index)
    at = tags.lastIndex
    const [whole, slash, name, attributes = ""] = tag
    if (name === undefined) {
      const isData = whole !== "<!--"
      const close = source.indexOf(isData ? "]]>" : "-->", at)
      const inner = source.slice(at, close < 0 ? source.length : close)
      out += isData ? inner.replace(/&/g, "&amp;").replace(/</g, "&lt;") : inner.replace(/[^\n]+/g, "")
      at = close < 0 ? source.length : close + 3
      tags.lastIndex = at
    } else {
      const lines = "\n".repeat(whole.split("\n").length - 1)
      out += (slash === "/" ? end(name) : begin(name, attributesOf(attributes), attributes.endsWith("/"))) + lines
    }
  }
  return out + source.slice(at)
}

export const docbook = (source: string): Extracted => html(toHtml(source))
