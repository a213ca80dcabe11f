import { parseFragment } from "parse5"
import type { Extracted } from "./Extracted.ts"
import { html } from "./html.ts"
import { textOf } from "./html/inline.ts"

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
      license pubdate date releaseinfo keywordset subjectset titleabbrev prolog titlealts related-links toc index
      indexterm remark draft-comment required-cleanup`,
    // Without words, and in SGML without an end.
    wbr: `xref anchor co colspec spanspec imagedata graphic inlinegraphic area include sbr void varargs`,
    p: `para simpara formalpara p shortdesc desc refpurpose attribution caption cmdsynopsis funcprototype
      methodsynopsis constructorsynopsis destructorsynopsis`,
    pre: `programlisting screen literallayout synopsis codeblock msgblock lines pre`,
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

/** Parts of a line that follow one another in the file without a space: of a command's call, of menus, keys and names. */
const apart = new Set(words("arg group guimenu guisubmenu guimenuitem uicontrol keycap surname"))

/** How a function is called, and its parameters. */
const calls = new Set(words("funcprototype methodsynopsis constructorsynopsis destructorsynopsis"))
const parameters = new Set(words("paramdef methodparam varargs"))
/** The parts of both, whose words follow one another. */
const callParts = new Set([...calls, ...words("funcdef paramdef methodparam")])

/** What is no part of the text wherever it stands; author, date and the like may be a part of a sentence. */
const alwaysSilent = new Set(words("indexterm remark draft-comment required-cleanup"))
const sentences = new Set(["p", "li", "dd", "td", "span"])

/** What begins something that is no element; other declarations; a nameless end tag; an element's tag. */
const marks =
  /(<!--|<!\[CDATA\[|<!\[\s{0,20}IGNORE\s{0,20}\[|<!DOCTYPE[^<>[]*\[)|<!DOCTYPE[^<>[]*>|<\?[^<\n]*\?>|<\?[^<>]*>|<!\[[^<>[]*\[|\]\]>|<\/>|<(\/?)([A-Za-z][\w.:-]*)((?:[\s/](?:[^<>"']|"[^"<]*"|'[^'<]*')*)?)>/gi

const endOf = (opening: string): RegExp =>
  opening === "<!--" ? /-->/g : opening.startsWith("<![") ? /\]\]>/g : /\]\s{0,20}>/g

const attributesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...text.matchAll(/(?:^|\s)([\w:.-]{1,40})\s{0,4}=\s{0,4}(?:"([^"<]*)"|'([^'<]*)'|([^\s"'<>]{1,200}))/g)].map(
      ([, name = "", double, single, bare = ""]) =>
        [name.toLowerCase(), (double ?? single ?? bare).replace(/\s+/g, " ")] as const
    )
  )

/** Whether HTML knows an entity; of others it would take the beginning for one. */
const isKnown = (entity: string): boolean => !textOf(parseFragment(entity)).endsWith(";")

const escaped = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;")

/** The document's words: entities of its own, and what begins like an element, as they are written. */
const inHtml = (text: string): string =>
  text
    .replace(/&(?!(?:lt|gt|amp|quot|apos);)[A-Za-z][\w.-]{0,60};/g, (entity) =>
      isKnown(entity) ? entity : escaped(entity)
    )
    .replace(/</g, "&lt;")

const lineBreaks = (text: string): string => text.replace(/[^\n]+/g, "")

/** The document in pieces: words, as HTML, and the tag after them, if there is one; a nameless end has the name "". */
function* piecesOf(
  source: string
): Generator<readonly [words: string, name?: string, isEnd?: boolean, attributes?: string]> {
  let at = 0
  const next = new RegExp(marks)
  for (let mark = next.exec(source); mark !== null; mark = next.exec(source)) {
    const words = inHtml(source.slice(at, mark.index)) + lineBreaks(mark[0])
    at = next.lastIndex
    const [whole, opening, slash, name, attributes = ""] = mark
    if (name !== undefined) {
      yield [words, name.slice(name.indexOf(":") + 1).toLowerCase(), slash === "/", attributes]
    } else if (opening === undefined) {
      yield whole === "</>" ? [words, "", true] : [words]
    } else {
      const closing = endOf(opening)
      closing.lastIndex = at
      const found = closing.exec(source)
      const inner = source.slice(at, found?.index)
      yield [words + (/CDATA/i.test(opening) ? escaped(inner) : lineBreaks(inner))]
      next.lastIndex = at = found === null ? source.length : closing.lastIndex
    }
  }
  yield [inHtml(source.slice(at))]
}

const idOf = (attributes: ReadonlyMap<string, string>): string | undefined =>
  (attributes.get("xml:id") ?? attributes.get("id"))?.toLowerCase()

/** Elements whose words are the name of what they stand in, and of how many at once. */
const naming = new Set(words("title refname term glossterm"))
const mostNamed = 20
/** Longer ones are no names. */
const longestName = 300

/** What each element with an id is called: its label, else its title, name or term, as HTML. */
const namesOf = (source: string): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  /** Elements that may be named by what comes. */
  let nameless: Array<{ readonly id: string; readonly name: string }> = []
  let words: string | undefined
  let silent = 0
  for (const [text, name, isEnd, attributes = ""] of piecesOf(source)) {
    if (words !== undefined && silent === 0) words += text
    if (name === undefined || attributes.endsWith("/")) continue
    if (alwaysSilent.has(name)) {
      silent = Math.max(0, silent + (isEnd === true ? -1 : 1))
    } else if (isEnd !== true) {
      const given = attributesOf(attributes)
      const isText = asHtml.get(name) === "p" && name !== "formalpara"
      if (isText) nameless = []
      else if (naming.has(name) && !given.has("type")) words = ""
      const id = idOf(given)
      const label = given.get("xreflabel")
      if (id !== undefined && label !== undefined && label.length <= longestName) names.set(id, inHtml(label))
      else if (id !== undefined && !isText && asHtml.get(name) !== "wbr")
        nameless = [...nameless.slice(1 - mostNamed), { id, name }]
    } else if (words !== undefined && (name === "" || naming.has(name))) {
      const said = words.replace(/\s+/g, " ").trim()
      if (said !== "" && said.length <= longestName) for (const { id } of nameless) names.set(id, said)
      nameless = []
      words = undefined
    } else {
      nameless = nameless.filter((element) => element.name !== name)
    }
  }
  return names
}

interface Open {
  readonly name: string
  readonly html: string
  /** The level of the headings of its own titles. */
  readonly level: number
  /** Whether the name of its entries can be linked to. */
  readonly isTarget: boolean
  /** What it refers to, as HTML, which is said where it has no words of its own. */
  readonly reference: string
  /** How much had been said before it. */
  readonly from: number
}

/** What stands in no paragraph. */
const afterParagraphs = new Set(words("para simpara title listitem varlistentry term"))

/** The number of an attribute; that of a column may have a name, such as `c3`. */
const numberIn = (attributes: ReadonlyMap<string, string>, name: string): number =>
  Number(/\d{1,3}$/.exec(attributes.get(name) ?? "")?.[0] ?? 0)

/** Attributes that name what a reference is to. */
const targets = ["linkend", "keyref", "xref", "url", "href", "xlink:href"]

/** Deeper than people nest; anything deeper is part of what it stands in. */
const deepest = 200

/** The document as HTML, in which every line is where it was. */
const toHtml = (source: string): string => {
  const open: Array<Open> = []
  /** A collection of manual pages, each of which is a document of its own. */
  const isCollection = /<refentry[\s>]/.test(source)
  const isPart = (name: string) => parts.has(name) && !(isCollection && name === "reference")
  let isNamed = false
  const names = namesOf(source)
  /** Characters of names that references may still show, so that a file cannot grow by them without bound. */
  let room = 2 * source.length
  let out = ""
  /** The parameters of the last call. */
  let given = 0
  /** How many times words were said; `out` is not looked at, since that would copy all of it each time. */
  let said = 0
  let isAfterTag = false

  const parentName = (): string => open.at(-1)?.name ?? ""
  const say = (text: string): void => {
    const isBlank = text.trim() === ""
    // Signs stand between the parts of a call, not spaces.
    if (isBlank && calls.has(parentName())) {
      if (text !== "") out += `<!--${text}-->`
      return
    }
    out += text
    if (!isBlank) said++
    if (text !== "") isAfterTag = false
  }
  const tag = (text: string): void => {
    out += text
    isAfterTag = true
  }

  /** What an element is, by what it stands in. */
  const htmlOf = (name: string, attributes: ReadonlyMap<string, string>, parent: Open | undefined): string => {
    const level = Math.min(6, Math.max(1, parent?.level ?? 1))
    switch (name) {
      case "title":
        if (attributes.has("type")) return "template"
        if (parent?.html === "table") return "caption"
        if (parent?.name === "item") return "dt"
        return isPart((parent?.name.endsWith("info") === true ? open.at(-2) : parent)?.name ?? "") ? `h${level}` : "p"
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
      case "code":
        // Mallard's is a block where it stands in no sentence.
        return isPart(parent?.name ?? "") || parent?.html === "li" ? "pre" : "code"
      default: {
        if (callParts.has(parent?.name ?? "") && asHtml.get(name) === "code") return "span"
        const html = asHtml.get(name) ?? (isPart(name) ? "section" : "span")
        if (html !== "template" || alwaysSilent.has(name) || parent?.name.endsWith("info") === true) return html
        return name === "legalnotice" ? "div" : sentences.has(parent?.html ?? "") ? "span" : html
      }
    }
  }

  /** What is said before an element. */
  const before = (name: string): string => {
    if (name === "manvolnum") return "("
    if (name === "initializer") return " = "
    if (parameters.has(name)) return given++ === 0 ? "(" : ", "
    const isApart = apart.has(name) || calls.has(parentName()) || parentName() === "methodparam"
    return isApart && isAfterTag ? " " : ""
  }

  const tagOf = (name: string, html: string, attributes: ReadonlyMap<string, string>, isTarget: boolean): string => {
    switch (html) {
      case "":
        return ""
      case "dt":
        return isTarget ? '<dt id="">' : "<dt>"
      case "pre":
        return `<pre class="language-${attributes.get("language") ?? ""}">`
      case "td":
        return `<td rowspan="${1 + numberIn(attributes, "morerows")}" colspan="${Math.max(1, 1 + numberIn(attributes, "nameend") - numberIn(attributes, "namest"))}">`
      default:
        return `${before(name)}<${html}>`
    }
  }

  const begin = (name: string, attributes: ReadonlyMap<string, string>, isEmpty: boolean): void => {
    // SGML may leave out its end.
    if (open.at(-1)?.name === "para" && (isPart(name) || afterParagraphs.has(name))) end()
    const parent = open.at(-1)
    const html = htmlOf(name, attributes, parent)
    const isTarget = idOf(attributes) !== undefined
    const begins = tagOf(name, html, attributes, isTarget || parent?.isTarget === true)
    const isFile = name === "include" || name === "image" || parent?.name.endsWith("info") === true
    const target = isFile ? "" : (targets.map((key) => attributes.get(key)).find((value) => value) ?? "")
    // Of a topic of DITA, its name comes first.
    const called = names.get(target.replace(/^#(?:[^/]*\/)?/, "").toLowerCase())
    room -= called?.length ?? 0
    const reference = room > 0 && called !== undefined ? called : escaped(target)
    if (isEmpty || html === "wbr") {
      if (html === "td") tag(`${begins}</td>`)
      else say(name === "varargs" ? `${before(name)}...` : reference)
    } else if (open.length <= deepest) {
      tag(begins)
      if (calls.has(name)) given = 0
      if (parameters.has(name)) isAfterTag = false
      const level = (parent?.level ?? 0) + (isPart(name) ? 1 : 0)
      open.push({ name, html, level, isTarget, reference, from: said })
    }
  }

  /** Ends an element, in SGML the last one if it has no name, with those within that SGML leaves open. */
  const end = (name?: string): void => {
    const place = name === undefined ? open.length - 1 : open.findLastIndex((element) => element.name === name)
    if (place < 0) return
    const { from, reference } = open.at(-1)!
    if (place === open.length - 1 && said === from) say(reference)
    for (const { html, name } of open.splice(place).reverse()) {
      if (calls.has(name)) tag(given === 0 ? "()" : ")")
      if (html !== "") tag(`</${html}>${name === "manvolnum" ? ")" : ""}`)
    }
  }

  for (const [words, name, isEnd, attributes = ""] of piecesOf(source)) {
    say(words)
    if (name !== undefined && isEnd === true) end(name === "" ? undefined : name)
    else if (name !== undefined) begin(name, attributesOf(attributes), attributes.endsWith("/"))
  }
  return out
}

export const docbook = (source: string): Extracted => html(toHtml(source))
