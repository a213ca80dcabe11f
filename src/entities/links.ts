import { keyOf } from "./key.ts"
import type { Mention, Relation } from "./mention.ts"
import { targetKey } from "./paths.ts"

interface Rule {
  readonly relation: Relation
  /** A string that every match of the pattern contains; searched for first. */
  readonly sign: string
  /** Its first group is the target. Bounded repeats keep it linear on any text. */
  readonly pattern: RegExp
  readonly key: (source: string, target: string) => string | undefined
}

const byName = (_source: string, target: string) => keyOf(target)
const relative = (source: string, target: string) =>
  /^\.{1,2}\//u.test(target) ? targetKey(source, target) : undefined

const rules: ReadonlyArray<Rule> = [
  // Markdown: [text](target "title")
  { relation: "links", sign: "[", pattern: /\]\(<?([^()<>\s"]{1,500})>?(?:\s[^()]{0,200})?\)/gu, key: targetKey },
  // Markdown: [label]: target
  { relation: "links", sign: "[", pattern: /^ {0,3}\[[^[\]\n]{1,200}\]: {1,4}<?([^<>\s]{1,500})/gmu, key: targetKey },
  { relation: "links", sign: "=", pattern: /\bhref\s{0,4}=\s{0,4}["']([^"'\s]{1,500})["']/giu, key: targetKey },
  // Wiki: [[Page#section|label]]
  { relation: "links", sign: "[", pattern: /\[\[([^[\]|#\n]{1,200})(?:[#|][^[\]\n]{0,200})?\]\]/gu, key: byName },
  // AsciiDoc
  { relation: "links", sign: "[", pattern: /\blinkgit:([\w.-]{1,100})\[/gu, key: byName },
  { relation: "links", sign: "[", pattern: /\b(?:link|xref|include)::?([^[\]\s{}:]{1,300})\[/gu, key: targetKey },
  // JavaScript and TypeScript
  {
    relation: "imports",
    sign: "./",
    pattern: /\b(?:from|import|require\()\s{0,4}["']([^"'\n]{1,300})["']/gu,
    key: relative
  },
  // C
  {
    relation: "imports",
    sign: "#",
    pattern: /^[ \t]{0,8}#[ \t]{0,8}include[ \t]{0,8}"([^"\n]{1,300})"/gmu,
    key: targetKey
  }
]

const signs = [...new Set(rules.map(({ sign }) => sign))]

/** A document's links and imports, by the rules of the formats that have them. */
export const links = (text: string, source: string): ReadonlyArray<Mention> => {
  const found: Array<Mention> = []
  const there = new Map(signs.map((sign) => [sign, text.includes(sign)]))
  for (const { key, pattern, relation, sign } of rules) {
    if (there.get(sign) !== true) continue
    for (const match of text.matchAll(pattern)) {
      const known = key(source, match[1]!)
      if (known === undefined || known === "") continue
      const start = match.index + match[0].indexOf(match[1]!)
      found.push({ key: known, relation, start, end: start + match[1]!.length })
    }
  }
  return found
}
