import {
  applyEdits,
  createScanner,
  type Edit,
  findNodeAtLocation,
  type Node,
  parse as parseLoosely,
  type ParseError,
  parseTree,
  printParseErrorCode
} from "jsonc-parser"

const at = (text: string, offset: number): string => {
  const before = text.slice(0, offset).split("\n")
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

const said = (code: string) => code.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase()

const treeOf = (text: string) => {
  const errors: Array<ParseError> = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first !== undefined) throw new Error(`${said(printParseErrorCode(first.error))} at ${at(text, first.offset)}`)
  return root
}

/** Parses JSON with comments and trailing commas. Throws the mistake and its place. */
export const parse = (text: string): unknown => {
  treeOf(text)
  return parseLoosely(text, [], { allowTrailingComma: true })
}

/** One level of the text's own indentation. */
const unitOf = (text: string): string => /\n(\t|[ ]{1,8})"/.exec(text)?.[1] ?? "  "

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? ""

const newlineOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n")

const written = (text: string, value: unknown, indent: string): string =>
  JSON.stringify(value, null, unitOf(text)).replace(/\n/g, `${newlineOf(text)}${indent}`)

const endOf = ({ length, offset }: Node): number => offset + length

/** The offset of the next comma, ignoring comments; none if something else follows. */
const commaAfter = (text: string, offset: number): number | undefined => {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  scanner.scan()
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : undefined
}

/** The end of the line if only a comment follows, so that the comment stays with what precedes it. */
const pastComment = (text: string, offset: number): number =>
  offset + (/^[ \t]*(?:\/\/[^\r\n]*)?(?=\r?\n)/.exec(text.slice(offset))?.[0].length ?? 0)

/** Adds a member after the others, which stay as they are written. */
const added = (text: string, object: Node, key: string, value: unknown): ReadonlyArray<Edit> => {
  const newline = newlineOf(text)
  const outer = indentAt(text, object.offset)
  const inner = outer + unitOf(text)
  const member = `${newline}${inner}${JSON.stringify(key)}: ${written(text, value, inner)}`
  const last = object.children?.at(-1)
  const close = endOf(object) - 1
  const closing = (from: number) => (text.slice(from, close).includes("\n") ? "" : newline + outer)
  if (last === undefined) {
    const from = pastComment(text, object.offset + 1)
    return [{ offset: from, length: 0, content: member + closing(from) }]
  }
  const comma = commaAfter(text, endOf(last))
  const from = pastComment(text, comma === undefined ? endOf(last) : comma + 1)
  const trailing = comma === undefined ? "" : ","
  return [
    ...(comma === undefined ? [{ offset: endOf(last), length: 0, content: "," }] : []),
    { offset: from, length: 0, content: member + trailing + closing(from) }
  ]
}

/** Removes a member, with the comma that separated it from its neighbour. */
const dropped = (text: string, object: Node, member: Node): ReadonlyArray<Edit> => {
  const members = object.children ?? []
  const previous = members[members.indexOf(member) - 1]
  const comma = commaAfter(text, endOf(member))
  const end = comma === undefined ? endOf(member) : comma + 1
  const start = text.slice(0, member.offset).trimEnd().length
  // Removes the white space before too, except the end of a comment's line.
  const edits = [{ offset: start, length: end - start, content: "" }]
  const before = comma === undefined && previous !== undefined ? commaAfter(text, endOf(previous)) : undefined
  if (before === undefined) return edits
  return before === start - 1
    ? [{ offset: before, length: end - before, content: "" }]
    : [{ offset: before, length: 1, content: "" }, ...edits]
}

const memberOf = (object: Node, key: string): Node | undefined => findNodeAtLocation(object, [key])?.parent

/** The text with a property of an object set. */
const set = (text: string, object: Node, key: string, value: unknown): string => {
  const known = findNodeAtLocation(object, [key])
  if (known === undefined) return applyEdits(text, [...added(text, object, key, value)])
  const same = JSON.stringify(parse(text.slice(known.offset, endOf(known)))) === JSON.stringify(value)
  const content = written(text, value, indentAt(text, known.offset))
  return same ? text : applyEdits(text, [{ offset: known.offset, length: known.length, content }])
}

/**
 * The text with `section.name` set: equal values keep their notation and comments. Throws if the text is not JSON, or
 * the section not an object.
 */
export const setEntry = (
  text: string,
  section: string,
  name: string,
  entry: Readonly<Record<string, unknown>>
): string => {
  const root = treeOf(text)
  if (root?.type !== "object") throw new Error("the file must hold an object")
  const inner = findNodeAtLocation(root, [section])
  if (inner === undefined) return set(text, root, section, { [name]: entry })
  if (inner.type !== "object")
    throw new Error(`${JSON.stringify(section)} must be an object (${at(text, inner.offset)})`)
  if (findNodeAtLocation(inner, [name])?.type !== "object") return set(text, inner, name, entry)
  return Object.entries(entry).reduce((before, [key, value]) => {
    const tree = treeOf(before)
    const object = tree === undefined ? undefined : findNodeAtLocation(tree, [section, name])
    return object === undefined ? before : set(before, object, key, value)
  }, text)
}

/** The text without `section.name`. Throws if the text is not JSON. */
export const dropEntry = (text: string, section: string, name: string): string => {
  const root = treeOf(text)
  const inner = root === undefined ? undefined : findNodeAtLocation(root, [section])
  const member = inner === undefined ? undefined : memberOf(inner, name)
  return inner === undefined || member === undefined ? text : applyEdits(text, [...dropped(text, inner, member)])
}
