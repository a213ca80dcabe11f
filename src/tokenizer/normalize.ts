import { regExpOf } from "./pattern.ts"
import { precompiled } from "./precompiled.ts"
import type { BertNormalizer, Normalizer } from "./TokenizerJson.ts"
import { UnsupportedTokenizer } from "./UnsupportedTokenizer.ts"

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
