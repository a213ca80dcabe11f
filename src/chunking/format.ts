import type { Format } from "../model/Document.ts"
import { withoutPause } from "../model/withoutPause.ts"

const stretch = 65_536

/** A text in pieces for processing in steps; none splits a character. */
export function* stretches(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + stretch)
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++
    yield text.slice(from, to)
    from = to
  }
}

/** A text in pieces of whole lines. */
export function* lineStretches(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const feed = text.indexOf("\n", from + stretch)
    const to = feed === -1 ? text.length : feed + 1
    yield text.slice(from, to)
    from = to
  }
}

/** The endings of names by which each format is known. */
const endings: Readonly<Record<Format, string>> = {
  text: "txt",
  markdown: "md markdown mdx mdown mkd qmd rmd livemd cheatmd",
  asciidoc: "adoc asciidoc asc",
  rst: "rst rest",
  org: "org",
  code:
    "ts tsx mts cts js jsx mjs cjs py pyi go rs java kt kts scala groovy c h cc cpp cxx hh hpp hxx m mm cs fs vb swift " +
    "rb php pl pm lua r jl ex exs erl hrl clj cljs cljc edn hs elm ml mli nim zig d dart v sv vhd vhdl sol move cairo " +
    "sh bash zsh fish ps1 psm1 bat cmd sql graphql gql proto thrift tf hcl nix cmake mk gradle vue svelte astro css " +
    "scss sass less as wat asm s f f90 f95 pas lisp el scm rkt tcl awk sed",
  data:
    "json jsonc json5 jsonld geojson topojson webmanifest har yaml yml toml " +
    "xml rss atom xsd xsl xslt wsdl plist pom resx opml docbook dbk tei kml gpx rdf owl"
}

const formats = new Map(
  Object.entries(endings).flatMap(([format, all]) =>
    all.split(" ").map((ending) => [ending, format as Format] as const)
  )
)

/** The part of a name after its last dot, in lower case; undefined if there is none. */
export const extension = (name: string): string | undefined => /[^/\\]\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase()

/** The format of a document with this name; undefined if the name does not say. */
export const formatOfName = (name: string): Format | undefined => formats.get(extension(name) ?? "")

const markdownSign = /^(?:#{1,6}[ \t]+\S|```|~~~)/m

const underline = /^([=\-~^"'*+#`])\1{2,}[ \t]*$/
/** Directives, roles, targets and `::`, which begins a literal block. */
const restructuredSign = /^[ \t]{0,40}\.\. (?:_[^:]{1,80}:|[a-z][\w:-]{1,40}::)|:[a-z]{2,20}:`[^`]{1,200}`|^\S.*::$/

/** Whether a text has a title with a row of signs below it, and something else that is written in reStructuredText. */
const isRestructured = (content: string): boolean => {
  const lines = content.slice(0, 16_384).split(/\r\n|\n|\r/)
  const isTitle = (line: string | undefined, row: string) =>
    line !== undefined && /^\S/.test(line) && line.trimEnd().length <= row.trimEnd().length
  return (
    lines.some((line, at) => underline.test(line) && isTitle(lines[at - 1], line)) &&
    lines.some((line) => restructuredSign.test(line))
  )
}

/**
 * By its name, else by its text: headings or fences make it Markdown; in steps. Projects of Python name reStructuredText
 * `.txt`, too.
 */
export function* judgingFormat(name: string | undefined, content: string): Generator<undefined, Format> {
  const named = name === undefined ? undefined : formatOfName(name)
  if (named === "text" && isRestructured(content)) return "rst"
  if (named !== undefined) return named
  for (const lines of lineStretches(content)) {
    if (markdownSign.test(lines)) return "markdown"
    yield
  }
  return "text"
}

export const formatOf = (name: string | undefined, content: string): Format =>
  withoutPause(judgingFormat(name, content))
