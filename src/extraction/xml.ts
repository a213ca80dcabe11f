import { SaxesParser } from "saxes"
import { NotExtracted } from "./Extracted.ts"

/** An XML element. Names keep their usual prefix: `w:p`. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Array<XmlElement | string>
}

const deepest = 2000
const mostElements = 5_000_000

/**
 * Parses XML to a tree. Entities of a document type are not expanded, and nothing is fetched: an entity that XML itself
 * does not define is a syntax error, and stays as written.
 */
export const xml = (text: string): XmlElement => {
  const parser = new SaxesParser({ position: true })
  const root: XmlElement = { name: "", attributes: {}, children: [] }
  const open = [root]
  let elements = 0
  const failures: Array<Error> = []
  parser.on("error", (error) => {
    if (!/undefined entity|unbound namespace|disallowed character/i.test(error.message)) failures.push(error)
  })
  parser.on("opentag", ({ attributes: given, name }) => {
    const attributes = given as Record<string, string>
    if (open.length > deepest) throw new NotExtracted(`elements are nested more than ${deepest} deep`)
    if (++elements > mostElements) throw new NotExtracted(`more than ${mostElements} elements`)
    const element: XmlElement = { name, attributes, children: [] }
    open.at(-1)!.children.push(element)
    open.push(element)
  })
  parser.on("closetag", () => {
    if (open.length > 1) open.pop()
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
