/** A value in a text of JSON, comments and trailing commas allowed: where it stands, and what it is. */
export interface Node {
  readonly start: number
  readonly end: number
  readonly value: unknown
  /** Of an object, in order. */
  readonly members?: ReadonlyArray<{ readonly key: string; readonly node: Node }>
}

/** The text is no JSON; the message says where. */
export class JsonError extends Error {}

const at = (text: string, offset: number): string => {
  const before = text.slice(0, offset).split("\n")
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

/** White space and comments, which stand anywhere between tokens. */
const gap = /(?:[\s\ufeff]|\/\/[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*/y

const afterGap = (text: string, from: number): number => {
  gap.lastIndex = from
  gap.exec(text)
  return Math.max(from, gap.lastIndex)
}

const scalar = /"(?:[^"\\\u0000-\u001f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Reads a whole text. Throws JsonError. */
export const parse = (text: string): Node => {
  let offset = 0
  const fail = (wanted: string): never => {
    const found = offset < text.length ? JSON.stringify(text[offset]) : "the end"
    throw new JsonError(`${wanted} expected at ${at(text, offset)}, found ${found}`)
  }
  const skip = () => {
    offset = afterGap(text, offset)
  }
  const takes = (mark: string): boolean => {
    skip()
    if (text[offset] !== mark) return false
    offset++
    return true
  }
  const atom = (wanted: string): Node => {
    skip()
    scalar.lastIndex = offset
    const found = scalar.exec(text)?.[0]
    if (found === undefined) return fail(wanted)
    const start = offset
    offset += found.length
    try {
      return { start, end: offset, value: JSON.parse(found) }
    } catch {
      throw new JsonError(`a string is not valid at ${at(text, start)}`)
    }
  }
  const several = (close: string, one: () => void) => {
    while (!takes(close)) {
      one()
      if (takes(",")) continue
      if (takes(close)) return
      fail(`"," or ${JSON.stringify(close)}`)
    }
  }
  const any = (): Node => {
    skip()
    const start = offset
    if (takes("{")) {
      const members: Array<{ key: string; node: Node }> = []
      several("}", () => {
        const key = atom("a property's name")
        if (typeof key.value !== "string") {
          offset = key.start
          return fail("a property's name")
        }
        if (!takes(":")) fail('":"')
        members.push({ key: key.value, node: any() })
      })
      return {
        start,
        end: offset,
        members,
        value: Object.fromEntries(members.map(({ key, node }) => [key, node.value]))
      }
    }
    if (takes("[")) {
      const items: Array<unknown> = []
      several("]", () => items.push(any().value))
      return { start, end: offset, value: items }
    }
    return atom("a value")
  }
  const root = any()
  skip()
  return offset < text.length ? fail("nothing more") : root
}

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? ""

const written = (value: unknown, indent: string, unit: string): string =>
  JSON.stringify(value, null, unit).replace(/\n/g, `\n${indent}`)

/** One level of the text's own indentation. */
const unitOf = (text: string): string => /\n(\t|[ ]{1,8})"/.exec(text)?.[1] ?? "  "

/** The text with a property of an object set; everything else stays as it was written. */
const setMember = (text: string, object: Node, key: string, value: unknown): string => {
  const unit = unitOf(text)
  const known = object.members?.findLast((member) => member.key === key)
  if (known !== undefined) {
    const { end, start } = known.node
    return text.slice(0, start) + written(value, indentAt(text, start), unit) + text.slice(end)
  }
  const outer = indentAt(text, object.start)
  const last = object.members?.at(-1)?.node
  const inner = outer + unit
  const close = object.end - 1
  const from = last?.end ?? object.start + 1
  const between = text.slice(from, close).trimEnd()
  // A comma may be there already, after a comment too.
  const hasComma = last !== undefined && between.charAt(afterGap(between, 0)) === ","
  const comma = last === undefined || hasComma ? "" : ","
  return `${text.slice(0, from)}${comma}${between}\n${inner}${JSON.stringify(key)}: ${written(value, inner, unit)}\n${outer}}${text.slice(object.end)}`
}

/**
 * The text with `section.name` set, a blank one taken for an empty object. Throws JsonError where the text is no JSON,
 * or where the section is no object.
 */
export const setEntry = (text: string, section: string, name: string, value: object): string => {
  if (text.trim() === "") return `${JSON.stringify({ [section]: { [name]: value } }, null, 2)}\n`
  const root = parse(text)
  if (root.members === undefined) throw new JsonError("the file must hold an object")
  const inner = root.members.findLast(({ key }) => key === section)?.node
  if (inner === undefined) return setMember(text, root, section, { [name]: value })
  if (inner.members === undefined)
    throw new JsonError(`${JSON.stringify(section)} must be an object (${at(text, inner.start)})`)
  return setMember(text, inner, name, value)
}
