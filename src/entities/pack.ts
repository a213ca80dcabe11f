import { hashOf } from "./key.ts"
import { type Mention, type Relation, relations, type Span } from "./mention.ts"

/** A mention in stored form, with its entity as a hash. */
export interface PackedMention extends Span {
  readonly entity: number
  readonly relation: Relation
}

/**
 * A passage's mentions as bytes. For each: the relation, six bytes of the hash, and varints of the span's start and
 * length.
 */
export const pack = (mentions: ReadonlyArray<Mention>): Uint8Array => {
  const bytes: Array<number> = []
  const varint = (value: number) => {
    let rest = value
    while (rest > 127) {
      bytes.push((rest & 127) | 128)
      rest >>>= 7
    }
    bytes.push(rest)
  }
  for (const { end, key, relation, start } of mentions) {
    bytes.push(relations.indexOf(relation))
    let hash = hashOf(key)
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
