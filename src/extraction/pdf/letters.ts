import type { Glyph } from "./line.ts"

/** A control character stands where a font's table of letters has a gap, as many tables have for ligatures. */
export const letterless = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffd]/g

/** The letters of a glyph's name: `fi`, `f_i`, `f_i.alt`, `uniFB01`, `u1D40E`; none for other names. */
const lettersOf = (name: string): string | undefined => {
  const parts = name
    .split(".", 1)[0]!
    .split("_")
    .map((part) => {
      if (/^(?:\p{L}|f[fijlt]|ff[il])$/u.test(part)) return part
      const hex = /^(?:uni([\dA-F]{4})|u([\dA-F]{4,5}))$/.exec(part)
      return hex === null ? undefined : String.fromCodePoint(Number.parseInt(hex[1] ?? hex[2]!, 16))
    })
  return parts.includes(undefined) ? undefined : parts.join("")
}

/** What pdf.js tells of a font, by its characters' codes. */
interface Names {
  readonly differences?: ReadonlyArray<string | undefined>
  readonly defaultEncoding?: ReadonlyArray<string | undefined>
}

/** Fills the gaps of runs, in the order of the page's glyphs, from the names of the glyphs. */
export const withLetters = <Run extends { readonly str: string; readonly fontName: string }>(
  runs: ReadonlyArray<Run>,
  glyphs: ReadonlyArray<Glyph>,
  fontOf: (id: string) => Names
): ReadonlyArray<Run> => {
  const gaps = glyphs.filter(({ unicode }) => unicode.search(letterless) >= 0)
  const shown = runs.map(({ str }) => str?.match(letterless)?.join("") ?? "").join("")
  // A page may draw beyond its edge what its runs do not have.
  if (shown !== gaps.map(({ unicode }) => unicode).join("")) return runs
  let at = 0
  return runs.map((run) => {
    if (typeof run.str !== "string" || run.str.search(letterless) < 0) return run
    const { defaultEncoding, differences } = fontOf(run.fontName)
    const str = run.str.replace(letterless, (gap) => {
      const { originalCharCode: code } = gaps[at++]!
      return lettersOf(differences?.[code] ?? defaultEncoding?.[code] ?? "") ?? gap
    })
    return { ...run, str }
  })
}
