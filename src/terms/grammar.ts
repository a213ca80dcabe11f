/** Chinese words that ask, and particles, but not what is part of a word: 目的, 的士, 终了, 吗啡, 酒吧. */
const chineseGrammar =
  /[为為]什[么麼]|怎[么麼]?[样樣办辦]?|如何|什[么麼]|哪[里裡个個些]|多少[个個]?|[几幾][个個]|[应應][该該]|可以|(?<=\p{Script=Han})(?<![目标標])的(?![确確士])|(?:[吗嗎呢]|(?<![酒网網])吧|(?<![终終完])了)(?!\p{Script=Han})/gu

/** Words of Japanese grammar that begin no other word; も begins もも, and か begins かに. */
const japaneseWords =
  "どう どの どんな どれ どこ どちら どのくらい いつ なぜ なに だれ いくら いくつ この その あの ここ これ それ する した して します しました " +
  "しない しよう したい したく すれば される された されて させ させる できる できます できない です でした ます ました ません でしょう ください とき こと " +
  "ため ところ ほう よう いい いけない"
/** Particles that end no word of several letters. */
const japaneseParticles = "の は が を に で と も"
/** What else may stand between and behind them. */
const japaneseEndings =
  "へ や か て ば な ね よ た だ から まで より だけ など ある ない なく なる なった なら いる いない べき たい たく れば よい くれる だめ てい らない せる"

const setOf = (...words: ReadonlyArray<string>) => new Set(words.join(" ").split(" "))
const beginning = setOf(japaneseWords)
const ending = setOf(japaneseWords, japaneseParticles)
const following = setOf(japaneseWords, japaneseParticles, japaneseEndings)
/** Particles at its start that are no ending of a word in Han. */
const certain = /^(?:を|の|では|には|との|への|での|からの)/

/** Whether a run of hiragana consists of such words, the first one of these. */
const isGrammar = (run: string, first: ReadonlySet<string>): boolean => {
  const reached = [true]
  for (let end = 1; end <= run.length; end++) {
    for (let start = Math.max(0, end - 6); start < end && reached[end] !== true; start++) {
      if (reached[start] === true) reached[end] = (start === 0 ? first : following).has(run.slice(start, end))
    }
  }
  return reached[run.length] === true
}

/** Longest run of hiragana that is looked at. */
const longestRun = 40

/** A run of hiragana without its grammar: all of it, or what begins and ends it. */
const ungrammatical = (run: string, before: string): string => {
  if (run.length > longestRun) return run
  const isInside = /[\p{L}\p{N}]/u.test(before)
  if (isGrammar(run, isInside ? following : beginning)) return " "
  // The first letter after Han may be its word's: 消す, 書き込み.
  const isInHan = /\p{Script=Han}/u.test(before)
  for (let at = isInHan ? 1 : 2; at < run.length; at++) {
    const isEnd = isGrammar(run.slice(at), at === 1 ? following : ending)
    if (isEnd) return `${run.slice(0, at).replace(certain, " ")} `
  }
  return run.replace(certain, " ")
}

const withoutJapaneseGrammar = (text: string): string =>
  text
    .replace(/何故|(?<!幾)何(?![人時回度])[がをもに]?/g, " ")
    .replace(/\p{Script=Hiragana}+/gu, (run, at: number, all: string) => ungrammatical(run, all[at - 1] ?? ""))

/** Korean words that ask or want, particles, and endings of verbs; not 이, 가, 과, 도 and 로, in which nouns end too: 고양이, 고속도로. */
const koreanGrammar =
  /(?<!\p{Script=Hangul})(?:왜(?!\p{Script=Hangul})|(?:어떻게|어떤|무엇|무슨|언제|어디|얼마|싶|있[나는습어을]|없[나는습어을]|해야|하나요|되나요|하려면|하면)\p{Script=Hangul}{0,8})|(?<=[\p{Script=Latin}\p{N}])(?:이|가|과|와|도|로|만|의)(?!\p{Script=Hangul})|(?<=\p{Script=Hangul}{2}|[\p{Script=Latin}\p{N}])(?:에서|에게|으로|까지|부터|처럼|에|은|는|을|를)(?:는|도|만|의)?(?!\p{Script=Hangul})|(?<=\p{Script=Hangul})(?:하|되|시키|으|인)?(?:려면|려고|나요|가요|까요|는지|지만|어야|도록|습니까|습니다|합니다|됩니다|입니다|해야|해서|하기|하는|하게|하여|하지|하면|[아어해]요)(?!\p{Script=Hangul})/gu

const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u

const kanaOrHangul = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u
export const hasKanaOrHangul = (text: string): boolean => kanaOrHangul.test(text)

/** Leaves out Chinese words of grammar; Japanese has kana beside them. */
export const withoutChineseGrammar = (text: string): string =>
  kana.test(text) ? text : text.replace(chineseGrammar, " ")

/**
 * A question without Chinese, Japanese and Korean words of grammar, and so without the pairs that they begin and end, which
 * say nothing either.
 */
export const withoutGrammar = (text: string): string =>
  kana.test(text) ? withoutJapaneseGrammar(text) : withoutChineseGrammar(text).replace(koreanGrammar, " ")
