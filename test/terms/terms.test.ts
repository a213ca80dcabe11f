import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { queryTerms, rankedTerms, salient, splitQuery, terms, weighted } from "../../src/terms/terms.ts"
import { maxTermLength } from "../../src/terms/word.ts"
import { fts5 } from "../fts5.ts"

/** Text of everything that means something to the scanner, lone surrogates included. */
const anyText = FastCheck.array(
  FastCheck.oneof(
    FastCheck.constantFrom(
      ..."aBz19.-_/@&',:>’‐+#\"*()% \t\n\0éßİΣς漢字かガｶﾞ한글กำ้\u0301\u200d\u00ad\ufe0f🚀\ud800\udc00ﷺ⑴½",
      "getUser",
      "HTTPServer",
      "v1.2.3",
      "1,000",
      "C++",
      "c#",
      ".NET",
      "don't",
      "U.S.",
      "𝐁",
      "RNAs",
      "x".repeat(70)
    ),
    FastCheck.fullUnicode()
  ),
  { maxLength: 40 }
).map((parts) => parts.join(""))

const table = (texts: ReadonlyArray<string>) => fts5(texts.map((text, id) => ({ id, title: "", heading: "", text })))

/** The texts that a query finds in FTS5, best first. */
const find = (texts: ReadonlyArray<string>, query: string): ReadonlyArray<string> =>
  table(texts)
    .search(query)
    .map(({ id }) => texts[id] as string)

describe("terms", () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["Running runners ran", "run runner ran"],
    ["naïve Ångström STRASSE straße Ærø Łódź", "naiv angstrom strass strass aero lodz"],
    ["getUserName", "get user name getusernam"],
    ["get_user_name get-user-name", "get user name getusernam get user name getusernam"],
    ["HTTPServer XMLHttpRequest", "http server httpserver xml http request xmlhttprequest"],
    ["foo.bar() __init__", "foo bar foobar init"],
    ["v1.2.3", "v1 1.2 1.2.3"],
    ["C C++ c++17 C# .NET node.js c/c++", "c c++ c++ 17 c# net .net node js nodej c c++ cc++"],
    ["src/text/chunk.ts", "src text chunk ts chunkt srctextchunkt"],
    ["--flag-name", "flag name flagnam"],
    ["std::fs::File::open $file->open", "std fs file open stdfsfileopen file open fileopen"],
    ["note: a :: b :::c fe80::1 --> 3->x", "note a b c fe80 1 3 x 3x"],
    ["user@example.com", "user exampl com examplecom userexamplecom"],
    ["GPT-4 IL-2 CO2 CO₂", "gpt 4 gpt4 il 2 il2 co2 co2"],
    ["β-catenin", "β catenin βcatenin"],
    ["3.5% 1,000,000 1,2 2020-01-31", "3.5 1000000 1 2 2020 01 31 2020-01-31"],
    ["RNAs mRNA GPUs", "rna rna mrna gpu"],
    ["dog's we'll don't O'Brien", "dog we don dont o brien obrien"],
    ["the U.S. economy, e.g. H2A.Z", "the us economi eg h2a z h2az"],
    ["ＡＢＣ１２ 𝐁𝐨𝐥𝐝", "abc12 bold"],
    ["東京都に行く。猫", "東京 京都 都に に行 行く く 猫"],
    ["ｶﾞｷﾞ", "ガギ ギ"],
    ["\u1112\u1161\u11ab\u1100\u1173\u11af 한글", "한글 글 한글 글"],
    ["น้ำ", "น้ํา ํา"],
    ["Tシャツ3枚", "t シャ ャツ ツ 3 枚"],
    ["🚀 go!", "🚀 go"],
    ["\"\0*() - ' . \ud800", ""]
  ]
  for (const [text, expected] of cases) {
    it(JSON.stringify(text), () => assert.strictEqual(terms(text).join(" "), expected))
  }

  it("does not stem what has digits", () => assert.deepStrictEqual(terms("h264ing"), ["h264ing"]))

  it("bounds a long term and still tells it from others that begin alike", () => {
    const [a, b] = [terms(`${"x".repeat(100)}a`), terms(`${"x".repeat(100)}b`)]
    assert.strictEqual(a.length, 1)
    assert.isAtMost(a[0]?.length ?? 0, maxTermLength)
    assert.notDeepEqual(a, b)
    assert.deepStrictEqual(terms(`${"X".repeat(100)}a`), a)
  })

  it("takes a long text without spaces, of any kind", () => {
    for (const unit of [
      "a",
      "aB",
      "é",
      "a.",
      "1.",
      "1,000",
      "a\u0301",
      "\u0301",
      "漢字",
      "c+",
      "a'",
      "漢\u0301",
      "-",
      "\ud800"
    ]) {
      const found = terms(unit.repeat(200_000 / unit.length))
      assert.isTrue(
        found.every((term) => term.length <= maxTermLength),
        unit
      )
    }
  }, 30_000)

  it.prop("come out of FTS5's tokenizer as they went in", [FastCheck.array(anyText, { maxLength: 5 })], ([texts]) => {
    assert.deepStrictEqual(new Set(table(texts).vocabulary()), new Set(texts.flatMap((text) => terms(text))))
  })

  it.prop("do not depend on what was read before", [anyText, FastCheck.array(anyText)], ([text, others]) => {
    const first = terms(text)
    others.forEach((other) => terms(other))
    assert.deepStrictEqual(terms(text), first)
  })

  it.prop("of a text are those of its paragraphs", [anyText, anyText], ([a, b]) =>
    assert.deepStrictEqual(terms(`${a}\n\n${b}`), [...terms(a), ...terms(b)])
  )

  it.prop("are found by every text that they were made from", [anyText], ([text]) => {
    assert.deepStrictEqual(find([text], text), queryTerms(text).length === 0 ? [] : [text])
  })
})

describe("a query", () => {
  const texts = [
    "call getUserName first",
    "the user has a name",
    "set get_user_name = 1",
    "release v1.2.3 is out",
    "release v1.2.4 is out",
    "write it in C++",
    "write it in C",
    "see src/text/chunk.ts",
    "東京都に行きました",
    "香水を買う",
    "水道の水",
    "a café in Łódź"
  ]
  const queries: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
    ["getUserName", [0, 2, 1]],
    ["get_user_name", [0, 2, 1]],
    ["user name", [1, 0, 2]],
    ["1.2.3", [3, 4]],
    ["v1.2.4", [4, 3]],
    ["v1.2", [3, 4]],
    ["C++", [5]],
    ["c", [6]],
    ["chunk.ts", [7]],
    ["東京", [8]],
    ["行き", [8]],
    ["CAFE lodz", [11]],
    ["nothing of it", []]
  ]
  for (const [query, expected] of queries) {
    it(JSON.stringify(query), () =>
      assert.deepStrictEqual(
        find(texts, query),
        expected.map((i) => texts[i] as string)
      )
    )
  }

  it("of one unspaced character finds it wherever it stands", () =>
    assert.sameMembers([...find(texts, "水")], ["香水を買う", "水道の水"]))

  it("does not look up the last character of a longer run by itself", () =>
    assert.deepStrictEqual(queryTerms("東京都"), ["東京", "京都"]))

  it.prop("of any text is no syntax", [anyText], ([query]) => {
    assert.isArray(find(["a b c"], query))
  })
})

describe("splitQuery", () => {
  it("sets function words apart, whatever their form, and keeps order and repeats", () =>
    assert.deepStrictEqual(splitQuery("What is the effect of the effects on it?"), {
      content: ["effect", "effect"],
      function: ["what", "is", "the", "of", "the", "on", "it"]
    }))

  it("sets Chinese words of grammar apart, with the pairs across them", () => {
    for (const [query, content] of [
      ["如何配置视图引擎", "配置 置视 视图 图引 引擎"],
      ["視圖的目的是什麼", "視圖 目的 的是"],
      ["我的狗需要了解吗", "我 狗需 需要 要了 了解"],
      ["自動的に配置", "自動 動的 配置"],
      ["吗啡的副作用", "吗啡 副作 作用"],
      ["附近的酒吧好吗", "附近 酒吧 吧好"],
      ["終了処理", "終了 了処 処理"],
      ["的黎波里", "的黎 黎波 波里"],
      ["一共有多少个端口", "一共 共有 端口"],
      ["有几个端口", "有 端口"],
      ["怎么", "怎么"]
    ] as const) {
      assert.strictEqual(splitQuery(query).content.join(" "), content)
    }
  })

  it("sets Japanese and Korean endings, particles and words that ask apart, and ranks by half of them", () => {
    for (const [query, content] of [
      ["ファイルの名前を変更するにはどうすればいいですか", "ファ ァイ イル 名前 変更"],
      ["接続が切れたときは何を書き換えますか", "接続 切れ 書き き換 換え"],
      ["取り消したい", "取り り消"],
      ["さくらの開花はいつですか", "さく くら 開花"],
      ["東京でのごみの出し方", "東京 ごみ 出し し方"],
      ["がん検診", "がん ん検 検診"],
      ["幾何学の公式", "幾何 何学 公式"],
      ["고양이 사진과 고속도로 전문가", "고양 양이 사진 진과 고속 속도 도로 전문 문가"],
      ["どうすればいいですか", "どう うす すれ れば ばい いい いで です すか"],
      ["파일에서 이름을 어떻게 변경하나요?", "파일 이름 변경"],
      ["config가 왜 왜곡되나요", "config 왜곡"],
      ["언제 하려면", "언제 하려 려면"]
    ] as const) {
      assert.strictEqual(splitQuery(query).content.join(" "), content)
      assert.deepStrictEqual(rankedTerms(query), queryTerms(query))
    }
    const weights = Object.fromEntries(weighted("名前は何ですか", "en"))
    assert.deepStrictEqual(weights, { 名前: 1, 前は: 0.5, は何: 0.5, 何で: 0.5, です: 0.5, すか: 0.5 })
  })

  it("takes a query of function words at its word", () =>
    assert.deepStrictEqual(splitQuery("to be or not to be"), {
      content: ["to", "be", "or", "not", "to", "be"],
      function: []
    }))

  it.prop("loses no term", [anyText], ([query]) => {
    const split = splitQuery(query)
    const found = [...split.content, ...split.function]
    if (/[的了吗嗎呢吧么麼怎如哪可\p{Script=Hiragana}\p{Script=Hangul}]/u.test(query))
      assert.includeMembers(found, queryTerms(query))
    else assert.deepStrictEqual(found.toSorted(), queryTerms(query).toSorted())
  })
})

describe("salient", () => {
  it("counts repeats, the most repeated first", () =>
    assert.deepStrictEqual(
      [...salient(["a", "b", "a", "c"])],
      [
        ["a", 2],
        ["b", 1],
        ["c", 1]
      ]
    ))

  it("stays short for a query of any length, keeping its two ends, and their repeats", () => {
    const many = Array.from({ length: 3000 }, (_, i) => `w${i % 1500}`)
    const kept = salient(["first", ...many, "often", "often", "often", "often", "often"])
    assert.strictEqual(
      [...kept.values()].reduce((sum, count) => sum + count, 0),
      64
    )
    assert.strictEqual(kept.get("often"), 4)
    assert.strictEqual(kept.get("first"), 1)
  })
})
