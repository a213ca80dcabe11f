import { type BertNormalizer, type Normalizer, UnsupportedTokenizer } from "./TokenizerJson.ts"
import { regExpOf } from "./preTokenize.ts"

/*
 * SentencePiece's precompiled_charsmap: a little-endian u32, that many bytes of a Darts-clone double array (u32 units),
 * then replacements in UTF-8, each ended by NUL. The trie's keys are UTF-8 sequences, its values offsets into these.
 * A unit's bits: 0–7 and 31 label, 8 has a leaf, 9 the offset is shifted by 8, 10–30 offset; a leaf's 0–30 its value.
 */
const label = (unit: number): number => unit & 0x800000ff
const offset = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >>> 6)
const hasLeaf = (unit: number): boolean => (unit & 0x100) !== 0

const utf8 = new TextEncoder()

/** Characters of which several can form a grapheme: only around them must clusters be searched. */
const joining =
  /[\p{M}\p{Cf}\u0e33\u0eb3\u0d4e\uff9e\uff9f\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\u{111c2}\u{111c3}\u{1193f}\u{11941}\u{11a3a}\u{11a84}-\u{11a89}\u{11d46}\u{11f02}\u{1f1e6}-\u{1f1ff}\u{1f3fb}-\u{1f3ff}]/u

/**
 * The normalizer in a SentencePiece model, as the tokenizers library applies it: a grapheme of fewer than six bytes is
 * replaced by the replacement of its shortest known prefix; in others, each character is replaced separately. Throws
 * UnsupportedTokenizer if the map is damaged.
 */
const precompiled = (charsmap: Uint8Array): ((text: string) => string) => {
  const damaged = (what: string) => new UnsupportedTokenizer({ reason: `precompiled_charsmap is damaged: ${what}` })
  const view = new DataView(charsmap.buffer, charsmap.byteOffset, charsmap.byteLength)
  if (charsmap.length < 8) throw damaged(`it has ${charsmap.length} bytes`)
  const trieBytes = view.getUint32(0, true)
  if (trieBytes % 4 !== 0 || trieBytes === 0 || 4 + trieBytes > charsmap.length) {
    throw damaged(`it announces a trie of ${trieBytes} bytes but has ${charsmap.length - 4}`)
  }
  const trie = Uint32Array.from({ length: trieBytes / 4 }, (_, i) => view.getUint32(4 + 4 * i, true))
  const pool = charsmap.subarray(4 + trieBytes)
  const decoder = new TextDecoder()

  const replacement = (bytes: Uint8Array): string | undefined => {
    let node = offset(trie[0]!)
    for (const byte of bytes) {
      node ^= byte
      const unit = trie[node]
      if (byte === 0 || unit === undefined || label(unit) !== byte) return undefined
      node ^= offset(unit)
      if (!hasLeaf(unit)) continue
      const start = (trie[node] ?? 0) & 0x7fffffff
      const end = pool.indexOf(0, start)
      return decoder.decode(pool.subarray(start, end === -1 ? pool.length : end))
    }
    return undefined
  }

  const ofCharacter = new Map<string, string>()
  const character = (c: string): string => {
    let found = ofCharacter.get(c)
    if (found === undefined) {
      found = replacement(utf8.encode(c)) ?? c
      if (ofCharacter.size < 20_000) ofCharacter.set(c, found)
    }
    return found
  }
  const each = (text: string): string => {
    let out = ""
    for (const c of text) out += character(c)
    return out
  }

  const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })
  const clusters = (text: string): string => {
    let out = ""
    for (const { segment } of graphemes.segment(text)) {
      const bytes = segment.length < 6 ? utf8.encode(segment) : undefined
      const whole = bytes !== undefined && bytes.length < 6 ? replacement(bytes) : undefined
      out += whole ?? each(segment)
    }
    return out
  }

  // Most ASCII is unchanged. The rest is looked up, and so is any non-ASCII text together with an ASCII character or
  // line break on either side, which may form one grapheme with it.
  const changed = Array.from({ length: 128 }, (_, c) => String.fromCharCode(c)).filter((c) => character(c) !== c)
  const changedClass = changed.map((c) => String.raw`\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`).join("")
  const edge = String.raw`(?:\r\n|[\0-\x7f])?`
  const affected = new RegExp(
    [
      String.raw`${edge}(?:[^\0-\x7f]+${edge})+`,
      String.raw`\r\n`,
      ...(changed.length > 0 ? [`[${changedClass}]`] : [])
    ].join("|"),
    "gu"
  )
  return (text) =>
    text.replace(affected, (part) => (part.includes("\r\n") || joining.test(part) ? clusters(part) : each(part)))
}

export type Normalize = (text: string) => string

/** Each character separately: a sigma at the end of a word stays σ. */
const lowercase: Normalize = (text) => (text.includes("Σ") ? text.replaceAll("Σ", "σ") : text).toLowerCase()

const control = /[^\P{Cc}\t\n\r]|[\p{Cf}\p{Co}\p{Cs}\ufffd]/gu
const whiteSpace = /\p{White_Space}/gu
const cjk =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu
const nonSpacingMark = /\p{Mn}/gu
const mark = /\p{M}/gu

const bert = (options: BertNormalizer): Normalize => {
  const stripAccents = options.strip_accents ?? options.lowercase
  return (text) => {
    let out = text
    if (options.clean_text) out = out.replace(control, "").replace(whiteSpace, " ")
    if (options.handle_chinese_chars) out = out.replace(cjk, " $& ")
    if (stripAccents) out = out.normalize("NFD").replace(nonSpacingMark, "")
    return options.lowercase ? lowercase(out) : out
  }
}

const nmtDropped = /[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]/g
const nmtSpace = /[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g

const base64 = (text: string): Uint8Array => {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
  } catch {
    throw new UnsupportedTokenizer({ reason: "precompiled_charsmap is damaged: it is not base64" })
  }
}

/**
 * The normalizer as a function. It uses the character classes of the running Unicode version, which is newer than the
 * library's: they only differ for characters assigned since Unicode 8. Throws UnsupportedTokenizer.
 */
export const normalizer = (spec: Normalizer): Normalize => {
  switch (spec.type) {
    case "BertNormalizer":
      return bert(spec)
    case "Lowercase":
      return lowercase
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD":
      return (text) => text.normalize(spec.type)
    case "Nmt":
      return (text) => text.replace(nmtDropped, "").replace(nmtSpace, " ")
    case "StripAccents":
      return (text) => text.replace(mark, "")
    case "Strip": {
      const left = spec.strip_left ? /^\p{White_Space}+/u : /^(?!)/
      return (text) => {
        const rest = text.replace(left, "")
        if (!spec.strip_right) return rest
        let end = rest.length
        while (end > 0 && /\p{White_Space}/u.test(rest[end - 1]!)) end--
        return rest.slice(0, end)
      }
    }
    case "Prepend":
      return (text) => (text === "" ? "" : spec.prepend + text)
    case "Replace": {
      const pattern = "String" in spec.pattern ? spec.pattern.String : regExpOf(spec.pattern)
      return (text) => text.replaceAll(pattern, () => spec.content)
    }
    case "Precompiled":
      return spec.precompiled_charsmap ? precompiled(base64(spec.precompiled_charsmap)) : (text) => text
    case "Sequence": {
      const steps = spec.normalizers.map(normalizer)
      return (text) => steps.reduce((out, step) => step(out), text)
    }
  }
}
