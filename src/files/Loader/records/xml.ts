import type { Entry } from "../../../entries/Entry.ts"
import { xmlEntries } from "../../../entries/xml.ts"
import type { XmlElement } from "../extract/xml.ts"

const nameOf = ({ key }: Entry): string => (typeof key === "number" ? "" : key[0]!.split(" ")[0]!)

/** How many elements are compared to tell whether the file is a list. */
const looked = 40

/** The elements of one name within a file's outermost element; undefined if it contains anything else. */
export const xmlList = (text: string): Iterable<Entry> | undefined => {
  const [root] = xmlEntries(text, 0, text.length)
  if (root?.inside === undefined) return undefined
  const { body, read } = root.inside
  const names: Array<string> = []
  for (const entry of read(text, body, text.length, 0)) {
    names.push(nameOf(entry))
    if (names.length === looked) break
  }
  // A single element is not a list.
  if (names.length < 2 || names.some((name) => name !== names[0])) return undefined
  return read(text, body, text.length, 0)
}

/** Whether an entry's element has an attribute or a child element with its text. */
export const hasText = (text: string, entry: Entry): boolean => {
  const tag = text.slice(entry.from, Math.min(entry.value, entry.from + 4000))
  if (/\s(?:text|content) ?= ?["']/.test(tag)) return true
  if (entry.inside === undefined) return false
  let count = 0
  for (const inner of entry.inside.read(text, entry.inside.body, text.length, 0)) {
    if (/^(?:text|content)$/.test(nameOf(inner))) return true
    if (++count === looked) return false
  }
  return false
}

const deepest = 60

const wordsOf = ({ children }: XmlElement): string =>
  children.map((child) => (typeof child === "string" ? child : wordsOf(child))).join("")

/** An element as a record's value: its words if it has any between its children, else its children and attributes by name. */
export const valueOf = (element: XmlElement, depth = 0): unknown => {
  const { attributes, children } = element
  const elements = children.filter((child) => typeof child !== "string")
  const isMixed = children.some((child) => typeof child === "string" && child.trim() !== "")
  const isPlain = Object.keys(attributes).length === 0 || depth > 0
  if (depth === deepest || (isPlain && (isMixed || elements.length === 0))) return wordsOf(element).trim()
  const found = new Map<string, unknown>(Object.entries(attributes))
  for (const inner of elements) {
    const value = valueOf(inner, depth + 1)
    const before = found.get(inner.name)
    found.set(inner.name, before === undefined ? value : [before, value].flat())
  }
  if (isMixed && !found.has("text")) found.set("text", wordsOf(element).trim())
  return Object.fromEntries(found)
}
