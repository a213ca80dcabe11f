import type { Passage, TextSpan } from "../model/Passage.ts"

/**
 * A passage's relation to an entity. `defines`: the entity is the document's title or another name of it. `heads`: the
 * passage is under a heading of that name. `links`: it links to the document. `imports`: its code imports the file.
 * `mentions`: it names it.
 */
export const relations = ["defines", "heads", "links", "imports", "mentions"] as const
export type Relation = (typeof relations)[number]

/** A passage's relation to an entity, with the span of its text that shows it, if there is one. */
export interface Mention extends TextSpan {
  readonly key: string
  readonly relation: Relation
}

const spelling = /[^\p{L}\p{N}+#]+/gu

/**
 * The key of a name: spellings that differ in case, accents, punctuation, a leading article, or the possessive or
 * plural of the last word have the same key. Empty if the name has neither letter nor digit.
 */
export const keyOf = (name: string): string => {
  if (name === "") return ""
  const lower = name.toLowerCase()
  return singular(withoutArticle(plain.test(lower) ? lower : folded(name)))
}

/** Whether a name begins with a text, whatever case, accents, punctuation and a leading article are. */
export const spelledAlike = (name: string, beginning: string): boolean => {
  const bare = (text: string) => withoutArticle(folded(text))
  return bare(name).startsWith(bare(beginning))
}

const withoutArticle = (name: string): string => name.replace(/^(?:the|an|a) (?=.)/u, "")

const accents = /\p{M}+/gu
const possessive = /['’]s(?![\p{L}\p{N}])/gu

/** Most names equal their keys except for capitals. */
const plain = /^[a-z\d+#]+(?: [a-z\d+#]+)*$/u

const folded = (name: string): string =>
  name.normalize("NFKD").replace(accents, "").toLowerCase().replace(possessive, "").replace(spelling, " ").trim()

/** Without the plural's s: "shells" becomes "shell"; "glass", "virus" and "series" stay. */
const singular = (key: string): string =>
  key.length > 4 && key.endsWith("s") && !/(?:[sui]s|ies|[xz]es|[cs]hes)$/u.test(key) ? key.slice(0, -1) : key

/** A key as a number of 47 bits, which SQLite stores in six bytes: ten million keys have about one collision. */
export const hashOf = (key: string): number => {
  let a = 0x811c9dc5
  let b = 0x9e3779b9
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x01000193)
    b = Math.imul(b ^ unit, 0x85ebca6b)
    b ^= b >>> 13
  }
  a = Math.imul(a ^ (a >>> 15), 0x2c1b3c6d)
  b = Math.imul(b ^ (b >>> 16), 0xc2b2ae35)
  return ((a ^ (a >>> 12)) >>> 0) * 0x8000 + ((b ^ (b >>> 15)) >>> 17)
}

/** A mention in stored form, with its entity as a hash. */
export interface PackedMention extends TextSpan {
  readonly entity: number
  readonly relation: Relation
}

/**
 * A passage's mentions as bytes: the relation, six bytes of the hash, varints of the span's start and length. `entities`
 * are the hashes of their keys.
 */
export const pack = (
  mentions: ReadonlyArray<Mention>,
  entities: ReadonlyArray<number> = mentions.map(({ key }) => hashOf(key))
): Uint8Array => {
  const bytes: Array<number> = []
  const varint = (value: number) => {
    let rest = value
    while (rest > 127) {
      bytes.push((rest & 127) | 128)
      rest >>>= 7
    }
    bytes.push(rest)
  }
  for (const [at, { end, relation, start }] of mentions.entries()) {
    bytes.push(relations.indexOf(relation))
    let hash = entities[at]!
    for (let i = 0; i < 6; i++) {
      bytes.push(hash % 256)
      hash = Math.floor(hash / 256)
    }
    varint(start)
    varint(end - start)
  }
  return Uint8Array.from(bytes)
}

/** The mentions that `pack` packed. */
export const unpack = (bytes: Uint8Array): ReadonlyArray<PackedMention> => {
  const mentions: Array<PackedMention> = []
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at++]!
      value |= (byte & 127) << shift
      if (byte < 128) break
    }
    return value
  }
  while (at + 9 <= bytes.length) {
    const relation = relations[bytes[at]!]!
    let entity = 0
    for (let i = 6; i > 0; i--) entity = entity * 256 + bytes[at + i]!
    at += 7
    const start = varint()
    mentions.push({ entity, relation, start, end: start + varint() })
  }
  return mentions
}

/** A file name that says nothing: the folder's name is used instead. */
const nameless = /^(?:index|readme|mod|main|__init__|default|_index)$/i

const ending = /(?<=.)\.[\p{L}\p{N}]{1,10}$/u

/**
 * The text that is searched as a document's title: its title, and its file's name without the ending, if the source is
 * a file and not a record in one. Names that say nothing are not added.
 */
export const searchedTitle = (title: string | null | undefined, source: string | null | undefined): string => {
  const name = fileName(source)
  if (name === "") return title ?? ""
  return title ? `${title}\n${name}` : name
}

const fileName = (source: string | null | undefined): string => {
  if (!source || source.includes("#")) return ""
  const parts = source.slice(-300).split(/[/\\]/)
  const stem = parts.at(-1)!.replace(ending, "")
  return nameless.test(stem) ? (parts.at(-2) ?? "") : stem
}

/** The text that is searched as a passage's heading: its headings, and the column names of its table. */
export const searchedHeading = ({ heading, tableHeader }: Pick<Passage, "heading" | "tableHeader">): string =>
  (tableHeader === undefined ? heading : [...heading, tableHeader]).join(" > ")

/** Keys of links and files are paths, and name nothing that somebody would type. */
export const isName = (key: string): boolean => !key.startsWith("/") && !key.startsWith("~")
