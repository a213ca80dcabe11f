import { lazily } from "../model/lazily.ts"
import { stem } from "porter2"
import { fold } from "./fold.ts"

/** Removes the endings of a word in lower case; accents stay. */
type Stem = (word: string) => string

/** Words of grammar in lower case, without accents; one-letter words say nothing in code. */
const english =
  "a an the of in on at to for from by with as into onto and or but nor so if than then that this these those there is " +
  "are was were be been being am do does did has have had having will would shall should can could may might must it its " +
  "he him his she her they them their we our you your i my me who whom whose which what when where why how not no"

/** Likewise; where few words decide, those that English and code have too (Polish one, Turkish size and var) mislead. */
const known = {
  ar:
    "في من على إلى عن مع و أو ثم أن إن ما ماذا هل كيف لماذا متى أين كم أي أية هو هي هم هما أنا نحن أنت أنتم هذا هذه " +
    "ذلك تلك هؤلاء الذي التي الذين كان كانت يكون تكون ليس ليست لا لم لن قد كل بعض بين حتى عند عندما إذا لو لكن لأن " +
    "كما بعد قبل غير به بها له لها فيه فيها عليه عليها منه منها هناك هنا يمكن يجب",
  da:
    "og i jeg det at en den til er som pa de med han af for ikke der mig sig men et har om vi min havde ham hun nu " +
    "over da fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil blev kunne ind nar vaere dog noget " +
    "ville deres efter ned skulle denne end dette mit ogsa under have dig hende mine alt meget sit sine vor mod disse " +
    "hvis din nogle hos blive mange bliver hendes hvem hvilken hvordan hvorfor kan mellem",
  de:
    "der die das dem den des ein eine einem einen einer eines und oder aber auch als am an auf aus bei bin bis bist da " +
    "dass damit dann denn dein deine deinem deinen deiner deines dich dir du doch durch er es euch euer fur gegen gibt " +
    "habe haben hat hatte hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder " +
    "jedes jetzt kann kein keine keinem keinen keiner konnen man mehr mein meine meinem meinen meiner meines mich mir " +
    "mit muss mussen nach nicht noch nun nur ob ohne sehr sein seine seinem seinen seiner seines sich sie sind so soll " +
    "sollte sondern um uber uns unser unter vom von vor wann warum was welche welchem welchen welcher welches wem wen " +
    "wenn wer werde werden wessen wie wieder wieso will wir wird wo wohin worden wurde wurden zu zum zur zwischen",
  es:
    "el la los las lo un una unos unas y o u e de del al a ante con contra desde durante en entre hacia hasta para por " +
    "segun sin sobre tras que quien quienes cual cuales cuyo cuando cuanto donde como porque si no ni pero sino aunque " +
    "mas muy tambien ya yo tu el ella ello nosotros vosotros ellos ellas usted ustedes me te se nos os le les mi mis tus " +
    "su sus nuestro nuestra este esta esto estos estas ese esa eso esos esas aquel aquella es son era eran fue fueron " +
    "ser sido sea estan estar esta hay ha han he hemos haber habia puede pueden puedo debe deben tiene tienen",
  fa:
    "و در به از که را با برای این آن است بود شد شده شود شوند می نمی هم یا تا بر یک هر اگر اما ولی نیز پس چون چه چرا " +
    "چگونه چطور کجا کی کدام چند چقدر آیا من تو او ما شما آنها ایشان خود باید شاید هست نیست هستند باشد باشند بودن کرد " +
    "کرده کند کنند کنم کنید کردن دارد دارند داشته می‌شود می‌شوند می‌کند می‌کنند می‌کنم می‌کنید می‌توان می‌تواند " +
    "می‌توانید می‌توانم نمی‌شود همین همان همه دیگر فقط حتی وقتی بین بدون توسط",
  fi:
    "ja on ei se han mina sina me te he ne tama tuo nama nuo mika mita missa mihin mista kuka ketka kun kuin jos jotta " +
    "koska etta mutta vaan tai seka niin myos vain jo viela nyt ovat oli olivat olla ollut ole olen olet olemme olette " +
    "en et emme ette eivat joka jotka jonka jossa josta johon jota joita siina siita siihen sen sita niita niiden tassa " +
    "tasta tahan taman tata naiden naita miten miksi milloin voi voidaan voit kanssa mukaan kautta ilman ennen jalkeen",
  fr:
    "le la les l un une des du de d au aux a et ou mais donc or ni car que qu qui quoi dont quand comment pourquoi " +
    "combien quel quelle quels quelles lequel laquelle si ne n pas plus je j tu il elle on nous vous ils elles me m te t " +
    "se s lui leur leurs y en mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces ceci cela ca dans " +
    "par pour sur sous avec sans entre vers chez depuis pendant avant apres comme est sont etait etaient etre ete suis " +
    "es sommes etes ai as ont avons avez avait avoir peut peuvent peux doit doivent faut aussi tres deja ainsi alors",
  it:
    "il lo la i gli le l un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dallo dalla " +
    "dai dagli dalle in nel nello nella nei negli nelle con su sul sulla sui sugli sulle per tra fra e ed o ma se che " +
    "chi cui quale quali quanto quando come dove perche non piu anche io tu lui lei noi voi loro mi ti si ci vi ne mio " +
    "mia suo sua suoi sue questo questa questi queste quello quella quelli quelle e sono era erano essere stato stata " +
    "ha hanno ho abbiamo avere puo possono deve devono viene vengono gia ancora",
  nl:
    "de het een en of maar dat die dit deze van in op te ten ter aan met voor door uit bij naar over om tot tegen onder " +
    "tussen zonder is zijn was waren wordt worden werd ben bent heb hebt heeft hebben had kan kunnen moet moeten zal " +
    "zullen zou mag ik je jij u hij zij ze we wij jullie hem haar hen hun mijn jouw zijn ons onze er hier daar waar wat " +
    "wie welke wanneer waarom hoe als dan toen want omdat niet geen ook nog al wel meer zich zelf",
  no:
    "og i jeg det at en et den til er som pa de med han av ikke der sa meg seg men ett har om vi min mitt ha hadde " +
    "hun na over da ved fra du ut sin dem oss opp man kan hans hvor eller hva skal selv sjol her alle vil bli ble blitt " +
    "kunne inn nar vaere kom noen noe ville dere deres kun ja etter ned skulle denne for deg si sine sitt mot a meget " +
    "hvorfor dette disse uten hvordan ingen din ditt blir samme hvilken hvilke sann inni mellom var hver hvem enn ogsa",
  pl:
    "we ze na do od dla po przez przy nad bez oraz lub albo ale że żeby aby by jeśli jeżeli gdy kiedy " +
    "gdzie skąd dokąd jak jaki jaka jakie jakich jakim jaką który która które którego której których którym którą co " +
    "czego czemu czym kto kogo komu kim czy dlaczego ile nie tak to ta te tego tej tych tym tę tą on ona ono " +
    "oni jego jej ich jemu im nim nią nich mnie mi mną ja ty my wy nas nam was wam cię mój moja moje nasz nasza " +
    "nasze swój swoja swoje się sobie siebie jest są był była było były być będzie będą może mogą można trzeba już " +
    "jeszcze tylko także też również bardzo bardziej niż tam tu tutaj za między",
  pt:
    "o a os as um uma uns umas de do da dos das em no na nos nas num numa por pelo pela pelos pelas para com sem sobre " +
    "entre ate desde e ou mas nem se que quem qual quais quando quanto onde como porque nao mais muito tambem ja eu tu " +
    "ele ela nos vos eles elas voce voces me te lhe lhes meu minha seu sua seus suas nosso nossa este esta isto estes " +
    "estas esse essa isso esses essas aquele aquela ao aos e sao era eram foi foram ser sido seja esta estao estar ha " +
    "tem tinha ter pode podem deve devem",
  ru:
    "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще " +
    "нет о из ему когда даже ну ли если уже или ни быть был него до вас опять вам ведь там потом себя ничего ей может " +
    "они тут где есть надо ней для мы тебя их чем была сам чтоб без будто чего раз тоже себе под будет ж тогда кто этот " +
    "того потому этого какой ним здесь этом мой тем чтобы нее были куда зачем всех можно при об хоть над больше тот " +
    "через эти нас про всего них какая много разве эту моя свою этой перед чуть том такой им более всю между это эта " +
    "почему сколько откуда какие каких каким какое который которая которое которые которых которым чья чье",
  sv:
    "och det att i en jag hon som han pa den med var sig for sa till ar men ett om hade de av icke inte mig du henne da " +
    "sin nu har hans honom skulle hennes dar min man ej vid kunde nagot fran ut nar efter upp vi dem vara vad over an " +
    "dig kan sina har ha mot alla under nagon eller allt mycket sedan ju denna sjalv detta at utan varit hur ingen mitt " +
    "ni bli blev oss din dessa nagra deras blir mina samma vilken er sadan blivit dess inom mellan sadant varfor " +
    "varje vilka ditt vem vilket sitta sadana vart dina vars vart vara ert era",
  tr:
    "ve veya ya da de ki bir bu şu ile için gibi kadar daha çok en ne nasıl neden niçin niye hangi hangisi " +
    "kimin nerede nereden nereye kaç mı mi mu mü mıdır midir mudur müdür nedir değil yok olan olarak olur olduğu " +
    "olduğunu olması olmak oldu her hiç hem ama ancak fakat çünkü eğer ise sonra göre tüm bütün bazı biz " +
    "siz onlar bana sana ona bize onlara beni seni onu bizi sizi onları benim senin onun bizim sizin onların " +
    "bunu şunu bunun buna bunlar şunlar burada orada böyle şöyle öyle şey diye",
  uk:
    "і й та в у на не що як до з із зі за по про для від при без через над під між але або чи якщо коли де куди " +
    "звідки чому навіщо хто кого кому ким чого чим який яка яке які якого якої яким яку яких це цей ця ці цього цієї " +
    "цьому цих той те ті того тієї тому тих він вона воно вони його її їх йому їй їм я ми ви ти мене нас вас тебе " +
    "мені нам вам тобі мій моя моє мої наш наша наше наші ваш ваша ваше ваші свій своя своє свої себе собі є був була " +
    "було були бути буде будуть може можуть можна треба потрібно так ні ж же б би лише тільки також ще вже дуже більш " +
    "ніж щоб тоді там тут все всі всіх скільки"
}

/** The language by whose rules words are stemmed; "en" if nothing shows another. ISO 639-1. */
export type Language = keyof typeof known | "en"

/** A language with its own rules. */
export type Other = Exclude<Language, "en">

export const isLanguage = (code: string): code is Language => code === "en" || Object.hasOwn(known, code)

/** The language of a code; English if there is none, as where none was detected. */
export const languageNamed = (code: string | null | undefined): Language =>
  typeof code === "string" && isLanguage(code) ? code : "en"

/** The languages that have a word, folded, among their words of grammar. */
export const languagesByWord = lazily((): ReadonlyMap<string, ReadonlyArray<Language>> => {
  const found = new Map<string, Array<Language>>()
  for (const [language, grammar] of [["en", english], ...Object.entries(known)] as ReadonlyArray<[Language, string]>) {
    for (const word of new Set(grammar.split(" ").map(fold))) found.set(word, [...(found.get(word) ?? []), language])
  }
  return found
})

const stemmers = new Map<Language, Stem | undefined>()

/** Sets how words of a language are stemmed, if there are rules for it; its terms can be made afterwards. */
export const learn = (language: Language, stem: Stem | undefined): void => {
  stemmers.set(language, stem)
}

export const isLearned = (language: Language): boolean => language === "en" || stemmers.has(language)

/** Languages with other letters than Latin ones: those that only they have, and those of others with the same script. */
export const alphabets: ReadonlyArray<readonly [language: Language, script: RegExp, own: RegExp, others: RegExp]> = [
  ["ar", /\p{Script=Arabic}/gu, /[\u0623\u0625\u0629\u0649]/g, /[\u0679-\u06d5]/g],
  [
    "fa",
    /\p{Script=Arabic}/gu,
    /[\u067e\u0686\u0698\u06af]/g,
    /[\u0623\u0625\u0629\u0649\u0679-\u067d\u067f-\u0685\u0687-\u0697\u0699-\u06a8\u06aa-\u06ae\u06b0-\u06bf\u06c1-\u06cb\u06cd-\u06d5]/g
  ],
  ["ru", /\p{Script=Cyrillic}/gu, /[\u044b\u044d]/g, /[\u0450\u0452-\u052f]/g],
  ["uk", /\p{Script=Cyrillic}/gu, /[\u0454\u0457\u0491]/g, /[\u044a\u044b\u044d\u0451\u045e]/g]
]
const otherScript = new Set(alphabets.map(([language]) => language))

const latin = /^[a-z]+$/
const letters = /^\p{L}{3,40}$/u
/** Endings that people write without accents, but that the rules expect with them. */
const accented: Partial<Record<Language, ReadonlyArray<readonly [RegExp, string]>>> = {
  es: [[/(?<=[cs])ion$/, "i\u00f3n"]],
  it: [[/ita$/, "it\u00e0"]],
  pt: [
    [/cao$/, "\u00e7\u00e3o"],
    [/coes$/, "\u00e7\u00f5es"]
  ]
}

/** The folded stem of a word by a loaded language's rules; undefined if they do not apply, as in English. */
export const stemIn = (language: Language, word: string): string | undefined => {
  if (language === "en") return undefined
  // The capital of Turkish i has a dot, and that of \u0131 has none. Persian separates endings by a non-joiner.
  const lower = word
    .normalize("NFC")
    .toLocaleLowerCase(language === "tr" ? "tr" : "en")
    .replaceAll("\u200c", "")
  if (!letters.test(lower) || (otherScript.has(language) && latin.test(lower))) return undefined
  if (!stemmers.has(language)) throw new Error(`The stems of ${language} are not loaded`)
  const stem = stemmers.get(language)
  if (stem === undefined) return undefined
  const rules = accented[language] ?? []
  return fold(stem(rules.reduce((text, [ending, becomes]) => text.replace(ending, becomes), lower)))
}

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

/**
 * The terms of English words of grammar. Nearly every passage contains them, so they rank nothing (BM25 gives no weight
 * to a term of more than half of all passages), and they cost most of a query's time.
 */
export const functionWords: ReadonlySet<string> = new Set(`${english} eg ie etc`.split(" ").map(stem))
