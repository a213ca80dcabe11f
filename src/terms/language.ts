/** Frequent words of grammar by language, which are rare in other languages. */
const grammar: Readonly<Record<string, string>> = {
  en: "the of and to in is that it for on with as was be by this are or from at have not which but you we an can if when",
  de: "der die und das ist nicht ein eine zu den von mit sich auf für dem auch wird werden im des oder wie bei wenn kann",
  fr: "le la les des et est un une que dans pour pas sur qui avec par au ce sont du ne plus ou cette aux être",
  es: "el la los las que en un una es por con para del se no al como más está su pero lo este son",
  it: "il di che è e la per un non una con sono del della nel le gli si dei come più alla ma anche",
  pt: "o que de e do da em um uma para com não os as dos no na se por mais como ao é das",
  nl: "de het een van en is dat niet op te zijn voor met die aan er om ook als bij worden kan naar",
  sv: "och att det som en är av för på den med inte om ett har de till kan vi eller",
  pl: "i w na z do nie się jest to że o jak po za od są przez dla lub",
  tr: "ve bir bu için ile de da olarak olan çok daha gibi ne veya kadar"
}

const words = new Map<string, ReadonlySet<string>>(
  Object.entries(grammar).map(([language, list]) => [language, new Set(list.split(" "))])
)

/** Characters read per text. */
const most = 2000
/** Fewer words than this decide nothing. */
const least = 12

/** Whether a text is English, by its letters and words of grammar; undefined: it is code, names or too short. */
export const isEnglish = (text: string): boolean | undefined => {
  const found =
    text
      .slice(0, most)
      .toLowerCase()
      .match(/\p{L}+/gu) ?? []
  const letters = found.reduce((sum, word) => sum + word.length, 0)
  if (letters < 3 * least) return undefined
  const foreign = found.reduce((sum, word) => sum + (/^\p{sc=Latin}/u.test(word) ? 0 : word.length), 0)
  if (foreign > letters / 2) return false
  if (found.length < least) return undefined
  const share = (language: string) => found.filter((word) => words.get(language)!.has(word)).length / found.length
  const english = share("en")
  const other = Math.max(...[...words.keys()].filter((language) => language !== "en").map(share))
  return Math.max(english, other) < 0.1 ? undefined : english >= other
}

/** Scripts that identify a language, or a few that share no words with the others. */
const scripts: ReadonlyArray<readonly [string, RegExp]> = [
  ["ja", /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ["zh", /\p{Script=Han}/gu],
  ["ko", /\p{Script=Hangul}/gu],
  ["cyrillic", /\p{Script=Cyrillic}/gu],
  ["greek", /\p{Script=Greek}/gu],
  ["arabic", /\p{Script=Arabic}/gu],
  ["hebrew", /\p{Script=Hebrew}/gu],
  ["thai", /\p{Script=Thai}/gu],
  ["devanagari", /\p{Script=Devanagari}/gu]
]

/** The language or script of a text, even of a single sentence; undefined if its words of grammar do not decide. */
export const languageOf = (text: string): string | undefined => {
  const head = text.slice(0, most).toLowerCase()
  const letters = head.match(/\p{L}/gu)?.length ?? 0
  if (letters === 0) return undefined
  for (const [language, script] of scripts) {
    if ((head.match(script)?.length ?? 0) > letters * 0.3) return language
  }
  const found = head.match(/\p{L}+/gu) ?? []
  const counts = [...words]
    .map(([language, list]) => ({ language, count: found.filter((word) => list.has(word)).length }))
    .sort((a, b) => b.count - a.count)
  const [first, second] = counts
  return first!.count > second!.count ? first!.language : undefined
}
