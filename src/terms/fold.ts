/** Marks that searchers omit: accents, Hebrew points, Arabic vowel signs; and invisible characters. */
const dropped =
  /[\u0300-\u036F\u0591-\u05C7\u0610-\u061A\u064B-\u065F\u0670\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE00-\uFE2F\u00AD\u200B-\u200D\u2060\uFEFF]/g
/** Remains of compatibility forms that belong to no term ("⑴" becomes "(1)"). */
const noTerm = /[^\p{L}\p{M}\p{N}]/gu
const spelled: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ħ: "h",
  ŧ: "t",
  ı: "i",
  ĸ: "k",
  ŋ: "n",
  ſ: "s",
  ς: "σ"
}
const spelledOut = new RegExp(`[${Object.keys(spelled).join("")}]`, "g")
export const isAscii = /^[\x20-\x7e]*$/

/** A word in lower case, without accents, in compatible form: "Ångström" becomes "angstrom", "ＡＢＣ" "abc". */
export const fold = (word: string): string => {
  const lower = word.toLowerCase()
  return isAscii.test(lower)
    ? lower
    : lower
        .normalize("NFKD")
        .replace(dropped, "")
        .replace(noTerm, "")
        .toLowerCase()
        .replace(spelledOut, (c) => spelled[c] as string)
}

const selectors = /[\uFE00-\uFE0F\u{E0100}-\u{E01EF}]/gu

/** Kana, Han and Hangul without another form. */
const usual = /^[\u3041-\u3096\u30A1-\u30FE\u3400-\u9FFF\uAC00-\uD7A3]$/

/** A character of an unspaced script in its usual form, with its marks: half-width "ｶﾞ" becomes "ガ". */
export const foldUnspaced = (character: string): string =>
  usual.test(character) ? character : character.normalize("NFKC").replace(selectors, "").replace(noTerm, "")
