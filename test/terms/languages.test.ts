import { assert, describe, it } from "vitest"
import { likeliest, splits } from "../../src/terms/compounds.ts"
import { documentLanguage, queryLanguage } from "../../src/terms/detect.ts"
import type { Language } from "../../src/terms/languages.ts"

const prose: ReadonlyArray<readonly [Language, string]> = [
  ["en", "The branch is a pointer to a commit, and it moves with every commit that you make on it."],
  ["de", "Ein Branch ist ein Zeiger auf einen Commit, und er wandert mit jedem Commit weiter, den du machst."],
  ["fr", "Une branche est un pointeur vers un commit, et elle avance avec chaque commit que vous faites."],
  ["es", "Una rama es un puntero a una confirmación, y avanza con cada confirmación que se hace en ella."],
  ["it", "Un ramo è un puntatore a un commit, e si sposta con ogni commit che viene fatto su di esso."],
  ["pt", "Um ramo é um ponteiro para um commit, e ele avança com cada commit que você faz nele."],
  ["nl", "Een branch is een verwijzing naar een commit, en die gaat mee met elke commit die je erop maakt."],
  ["sv", "En gren är en pekare till en commit, och den flyttas med varje commit som du gör på den."],
  ["fi", "Haara on osoitin, joka siirtyy eteenpäin kun teet uuden commitin, ja se voi olla myös tyhjä."],
  ["ru", "Ветка — это указатель на коммит, и он перемещается с каждым новым коммитом, который вы делаете."],
  ["uk", "Гілка — це вказівник на коміт, і він переміщується з кожним новим комітом."],
  ["pl", "Gałąź jest wskaźnikiem na commit i przesuwa się z każdym commitem, który na niej utworzysz."],
  ["tr", "Dal, bir commit'i gösteren işaretçidir ve yaptığınız her yeni commit ile ilerler."],
  // Where endings say what words of grammar say elsewhere, letters tell.
  ["tr", "Bileşenler hızlıca çizilir. Sayfanın açılışında sırasıyla ağacın dalları yenilenir."],
  ["ar", "الفرع مؤشر إلى إيداع، وهو يتحرك مع كل إيداع جديد تنشئه عليه في المستودع."],
  ["fa", "شاخه اشاره‌گری به یک کامیت است و با هر کامیت تازه که روی آن می‌سازید پیش می‌رود؛ پایگاه کد همین است."]
]

describe("the language of a document", () => {
  for (const [language, text] of prose) {
    it(`is told by words of grammar: ${language}`, () => assert.strictEqual(documentLanguage([{ text }]), language))
  }

  it("is English where nothing tells another", () => {
    for (const text of [
      "",
      "Referenzzähler",
      "for (var i = 0; i < n; i++) { if (e in o) return a[i] as any }",
      "var size = 10",
      "Run jest in one pod",
      "def f(x, y): return x if y is None else y # no de la",
      "It was chaired by Michał Kłosowski, with Łukasz Święcicki, Małgorzata Wąs, Paweł Żółć and Stanisław Łoś.",
      "The authors are Recep Erdoğan, Ahmet Davutoğlu, Mustafa Kılıçdaroğlu, Işık, Yıldız and Çağlar of Diyarbakır.",
      "ئۇيغۇر خەلقى مەركىزىي ئاسىيادا ياشايدۇ، ئۇلارنىڭ تىلى تۈركىي تىل.",
      "شاری هەولێر پایتەختی هەرێمەکەیە و گەلێک چیا و ڕووباری هەیە.",
      "Галінка — гэта паказальнік на каміт, і ён перамяшчаецца з кожным новым камітам, ў які вы глядзіце.",
      "所有权是 Rust 最独特的特性"
    ]) {
      assert.strictEqual(documentLanguage([{ text }]), "en", text)
    }
  })

  it("is Russian where its letters are, whatever stands between them, and no other that has such letters", () => {
    const option = "--preserve=mode,ownership  сохранять указанные атрибуты (обычный файл, владелец, время)\n"
    assert.strictEqual(documentLanguage([{ text: option.repeat(8) }]), "ru")
    const kazakh = "Бұл құжатта файлды көшіру, оның атын өзгерту және тармақты бөлу туралы жазылған, ыңғайлы.\n"
    assert.strictEqual(documentLanguage([{ text: kazakh.repeat(4) }]), "en")
  })

  it("is told by its letters, whatever names of another language stand among them", () => {
    const texts: ReadonlyArray<readonly [Language, string]> = [
      ["ar", `${"الفرع مؤشر إلى إيداع، وهو يتحرك مع كل إيداع جديد. ".repeat(8)}من مدنها گیلان وچابهار.`],
      ["uk", `${"Гілка є вказівником на коміт, і її можна перейменувати. ".repeat(8)}Російською це «выборы».`],
      ["ru", `${"Ветка — это указатель на коммит, вы её создаёте. ".repeat(8)}Украинское слово: «її».`]
    ]
    for (const [language, text] of texts) assert.strictEqual(documentLanguage([{ text }]), language)
  })

  it("is that of the words between tags", () => {
    const tags =
      '<link type="guide" xref="files#faq"/><credit type="author copyright"><name>A. B. of C</name></credit>\n'
    const text = `${tags.repeat(6)}<p>${prose[1]![1]}</p>`
    assert.strictEqual(documentLanguage([{ text }]), "de")
  })

  it("counts the prose around code in English", () => {
    const code = "if (this.is.not(a)) { return of(the.for, in, to) }\n"
    assert.strictEqual(documentLanguage([prose[1]![1], code, prose[1]![1]].map((text) => ({ text }))), "de")
  })
})

describe("the language of a query", () => {
  const mixed = new Map<Language, number>([
    ["en", 900],
    ["de", 100],
    ["fr", 50]
  ])
  it("is one of those that are searched", () => {
    assert.strictEqual(queryLanguage("Wie ändere ich den Namen?", new Map([["en", 5]])), "en")
    assert.strictEqual(queryLanguage("переименовать ветку", mixed), "en")
    assert.strictEqual(queryLanguage("переименовать ветку", new Map([...mixed, ["ru", 1]])), "ru")
    const both = new Map([...mixed, ["ru", 1], ["uk", 9]] as const)
    assert.strictEqual(queryLanguage("Почему не переименована ветка?", both), "ru")
    assert.strictEqual(queryLanguage("Чому не перейменована гілка?", both), "uk")
    assert.strictEqual(queryLanguage("HEAD гілки", both), "uk")
    assert.strictEqual(queryLanguage("что такое useImperativeHandle", both), "ru")
    assert.strictEqual(queryLanguage("як встановити Docker Compose kubernetes cluster", both), "uk")
    const many = new Map([...both, ["tr", 1], ["fa", 1], ["ar", 2]] as const)
    for (const [language, query] of [
      ["tr", "ağaçların dalı"],
      ["fa", "گزینه‌ها"],
      ["ru", "рыбы"],
      ["de", "Äste"]
    ] as const) {
      assert.strictEqual(queryLanguage(query, many), language, query)
    }
    assert.strictEqual(queryLanguage("useImperativeHandle хук", new Map([...mixed, ["ru", 1]])), "ru")
    for (const query of ["buffer size", "var keyword", "git push -u", "kubernetes pod"]) {
      assert.strictEqual(queryLanguage(query, new Map([...mixed, ["pl", 1], ["tr", 1]])), "en", query)
    }
    assert.strictEqual(queryLanguage("Was heißt auf Deutsch das Wort мир?", both), "de")
  })
  it("is told by its words of grammar, else by its letters, else by what there is most of", () => {
    assert.strictEqual(queryLanguage("Wie warte ich auf das Ende?", mixed), "de")
    assert.strictEqual(queryLanguage("quels fichiers sont ignorés", mixed), "fr")
    assert.strictEqual(queryLanguage("which files are ignored", mixed), "en")
    assert.strictEqual(queryLanguage("Referenzzähler", mixed), "de")
    assert.strictEqual(queryLanguage("rebase commits", mixed), "en")
    assert.strictEqual(queryLanguage("rebase commits", new Map([["de", 9]])), "de")
  })
})

describe("a compound", () => {
  const known = new Map([
    ["referenz", 8],
    ["zähler", 3],
    ["zahl", 100],
    ["leben", 4],
    ["lebensdauer", 5],
    ["dauer", 2],
    ["regeln", 7]
  ])
  const parts = (word: string) => likeliest(splits(word, "de"), (part) => known.get(part) ?? 0)
  it("is taken apart into words that there are, with what joins them left out", () => {
    assert.deepStrictEqual(parts("Referenzzähler"), ["referenz", "zähler"])
    assert.deepStrictEqual(parts("Lebensdauerregeln"), ["lebensdauer", "regeln"])
    assert.deepStrictEqual(parts("Lebensdauer"), ["leben", "dauer"])
  })
  it("is left whole where a part is none, and in languages that write words apart", () => {
    assert.isUndefined(parts("Referenzzirkel"))
    assert.deepStrictEqual(splits("referenzzähler", "fr"), [])
    assert.deepStrictEqual(splits("kurz", "de"), [])
  })
})
