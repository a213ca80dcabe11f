import type { Entry } from "./Entry.ts"

const skipped = [
  ["<!--", "-->"],
  ["<![CDATA[", "]]>"],
  ["<?", "?>"]
] as const

/** The end of the tag, comment or declaration that begins at `at`. */
const markEnd = (text: string, at: number, to: number): number => {
  const found = skipped.find(([open]) => text.startsWith(open, at))
  if (found !== undefined) {
    const end = text.indexOf(found[1], at + found[0].length)
    return end < 0 || end >= to ? to : end + found[1].length
  }
  const isType = text.startsWith("<!", at)
  let depth = 0
  for (let i = at + 1; i < to; i++) {
    const char = text.charAt(i)
    if (char === '"' || char === "'") {
      const end = text.indexOf(char, i + 1)
      if (end < 0 || end >= to) return to
      i = end
    } else if (isType && char === "[") depth++
    else if (isType && char === "]") depth--
    else if (char === ">" && depth <= 0) return i + 1
  }
  return to
}

const longestTag = 600
const named = /^<([^\s/<>]{1,200})/
const attribute = /\s(?:name|title|id|xml:id|key)\s{0,4}=\s{0,4}(?:"([^"]{1,80})"|'([^']{1,80})')/

/** Child elements that name their parent, and how far from its start they are searched. */
const child = /<(?:\w{1,20}:)?(name|title|id|artifactId|key|Name|Title|Id)(?:\s[^<>]{0,200})?>([^<]{1,80})</
const near = 400

/** An element's name, from an attribute, or else from a child element. */
const labelled = (tag: string, within: string): string => {
  const given = attribute.exec(tag)
  const found = given === null ? child.exec(within) : null
  const before = within.slice(0, found?.index ?? 0)
  const opened = before.split(/<[^/!?]/).length - before.split("</").length - (before.split("/>").length - 1)
  const label = given?.[1] ?? given?.[2] ?? (opened === 0 ? found?.[2] : undefined) ?? ""
  return label.trim().replace(/\s+/g, " ")
}

/** The child elements, from the end of the enclosing tag; text before the first is no entry. */
export function* xmlEntries(text: string, body: number, to: number): Generator<Entry> {
  let depth = 0
  for (let at = text.indexOf("<", body); at >= 0 && at < to;) {
    const end = markEnd(text, at, to)
    if (text.startsWith("</", at)) {
      if (--depth < 0) return
    } else if (!text.startsWith("<!", at) && !text.startsWith("<?", at)) {
      const tag = text.slice(at, Math.min(end, at + longestTag))
      const name = named.exec(tag)?.[1]
      const isEmpty = text.startsWith("/>", end - 2)
      if (name !== undefined && depth === 0) {
        const within = isEmpty ? "" : text.slice(end, end + near).split(`</${name}`, 1)[0]!
        const label = labelled(tag, within)
        yield {
          from: at,
          key: [label === "" ? name : `${name} ${label}`],
          value: end,
          inside: isEmpty ? undefined : { read: xmlEntries, body: end, base: 0 }
        }
      }
      if (name !== undefined && !isEmpty) depth++
    }
    at = text.indexOf("<", Math.max(end, at + 1))
  }
}
