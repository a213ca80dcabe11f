import { SaxesParser } from "saxes"
import { NotExtracted } from "./Extracted.ts"

/** An XML element. Names have their usual prefix, whatever the document's is: `w:p`. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Array<XmlElement | string>
}

const office = (prefix: string, transitional: string, strict: string): ReadonlyArray<readonly [string, string]> => [
  [`http://schemas.openxmlformats.org/${transitional}`, prefix],
  [`http://purl.oclc.org/ooxml/${strict}`, prefix]
]

/** The usual prefixes of namespaces, of which writers may take others, or none. */
const usualPrefixes: ReadonlyMap<string, string> = new Map([
  ...office("w", "wordprocessingml/2006/main", "wordprocessingml/main"),
  ...office("", "spreadsheetml/2006/main", "spreadsheetml/main"),
  ...office("p", "presentationml/2006/main", "presentationml/main"),
  ...office("a", "drawingml/2006/main", "drawingml/main"),
  ...office("c", "drawingml/2006/chart", "drawingml/chart"),
  ...office("dgm", "drawingml/2006/diagram", "drawingml/diagram"),
  ...office("m", "officeDocument/2006/math", "officeDocument/math"),
  ...office("r", "officeDocument/2006/relationships", "officeDocument/relationships"),
  ...office("", "package/2006/relationships", "package/relationships"),
  ...office("mc", "markup-compatibility/2006", "markup-compatibility"),
  ["http://purl.org/dc/elements/1.1/", "dc"],
  ["http://purl.org/dc/terms/", "dcterms"],
  ["http://www.idpf.org/2007/opf", ""]
])

/** The prefixes that mean others here, by what the document declares up to an element. */
type Renamed = ReadonlyMap<string, string>

const declared = (before: Renamed, attributes: Readonly<Record<string, string>>): Renamed => {
  let renamed: Map<string, string> | undefined
  for (const name in attributes) {
    if (!name.startsWith("xmlns")) continue
    const prefix = name.slice("xmlns:".length)
    const usual = usualPrefixes.get(attributes[name]!) ?? prefix
    if ((before.get(prefix) ?? prefix) !== usual) (renamed ??= new Map(before)).set(prefix, usual)
  }
  return renamed ?? before
}

const named = (name: string, renamed: Renamed): string => {
  const colon = name.indexOf(":")
  const usual = renamed.get(colon < 0 ? "" : name.slice(0, colon))
  if (usual === undefined) return name
  return usual === "" ? name.slice(colon + 1) : `${usual}:${name.slice(colon + 1)}`
}

/** Attributes without a prefix are of no namespace. */
const attributesNamed = (attributes: Readonly<Record<string, string>>, renamed: Renamed) =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name.includes(":") ? named(name, renamed) : name, value])
  )

const deepest = 2000
/** Prefixes that differ from the usual ones: each element that declares one copies the others. */
const mostRenamed = 100
const mostElements = 5_000_000

/**
 * Parses XML to a tree. Entities of a document type are not expanded, and nothing is fetched: an entity that XML itself
 * does not define is a syntax error, and stays as written. An element that is `taken` once it is closed is not part of the
 * tree: that of a large sheet would take a gigabyte.
 */
export const xml = (text: string, taken: (element: XmlElement) => boolean = () => false): XmlElement => {
  const parser = new SaxesParser({ position: true })
  const root: XmlElement = { name: "", attributes: {}, children: [] }
  const open = [root]
  const scopes: Array<Renamed> = [new Map()]
  let elements = 0
  /** So many elements were held before each open one. */
  const before: Array<number> = []
  const failures: Array<Error> = []
  parser.on("error", (error) => {
    if (!/undefined entity|unbound namespace|disallowed character/i.test(error.message)) failures.push(error)
  })
  parser.on("opentag", ({ attributes: given, name }) => {
    const attributes = given as Record<string, string>
    if (open.length > deepest) throw new NotExtracted(`elements are nested more than ${deepest} deep`)
    before.push(elements)
    if (++elements > mostElements) throw new NotExtracted(`more than ${mostElements} elements`)
    const renamed = declared(scopes.at(-1)!, attributes)
    if (renamed.size > mostRenamed) throw new NotExtracted(`more than ${mostRenamed} names of namespaces`)
    const element: XmlElement =
      renamed.size === 0
        ? { name, attributes, children: [] }
        : { name: named(name, renamed), attributes: attributesNamed(attributes, renamed), children: [] }
    open.at(-1)!.children.push(element)
    open.push(element)
    scopes.push(renamed)
  })
  parser.on("closetag", () => {
    if (open.length === 1) return
    const closed = open.pop()!
    const held = before.pop()!
    scopes.pop()
    if (!taken(closed)) return
    open.at(-1)!.children.pop()
    elements = held
  })
  const text_ = (part: string) => open.at(-1)!.children.push(part)
  parser.on("text", text_)
  parser.on("cdata", text_)
  for (let at = 0; at < text.length && failures.length === 0; at += 65_536) parser.write(text.slice(at, at + 65_536))
  if (failures.length === 0) parser.close()
  const only = root.children.find((child) => typeof child !== "string")
  if (only === undefined || failures.length > 0)
    throw new NotExtracted(`malformed XML: ${failures[0]?.message ?? "no element"}`)
  return only
}

export const childrenOf = (element: XmlElement | undefined): ReadonlyArray<XmlElement> =>
  element === undefined ? [] : element.children.filter((child) => typeof child !== "string")

export const child = (element: XmlElement | undefined, name: string): XmlElement | undefined =>
  childrenOf(element).find((inner) => inner.name === name)

/** All elements below with this name, in document order. */
export const all = (element: XmlElement | undefined, name: string): ReadonlyArray<XmlElement> =>
  childrenOf(element).flatMap((inner) => (inner.name === name ? [inner, ...all(inner, name)] : all(inner, name)))

export const textIn = (element: XmlElement | undefined): string =>
  element === undefined ? "" : element.children.map((part) => (typeof part === "string" ? part : textIn(part))).join("")
