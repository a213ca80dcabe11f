import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type { Encoding } from "../../../src/files/Loader.ts"
import { decode, decodeLine, detect, narrow } from "../../../src/files/Loader/decode.ts"
import { kindOf } from "../../../src/files/Loader/read.ts"

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const utf16le = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "utf16le"))
const utf16be = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "utf16le").swap16())
const latin1 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "latin1"))

const read = (bytes: Uint8Array): string => {
  const encoding = detect(bytes)
  return encoding === "binary" || encoding === "unrecognised" ? encoding : `${encoding}: ${decode(bytes, encoding)}`
}

const german = "Falsches Üben von Xylophonmusik quält jeden größeren Zwerg.\r\nÄ, ö, ß.\n"

describe("detect and decode", () => {
  const cases: ReadonlyArray<readonly [string, Uint8Array, string]> = [
    ["UTF-8", utf8(german), `utf-8: ${german}`],
    ["UTF-8 with its mark", utf8(`\ufeff${german}`), `utf-8: ${german}`],
    ["only one mark is dropped", utf8("\ufeff\ufeffa"), "utf-8: \ufeffa"],
    ["UTF-16, little end first", utf16le(`\ufeff${german}`), `utf-16le: ${german}`],
    ["UTF-16, big end first", utf16be(`\ufeff${german}`), `utf-16be: ${german}`],
    ["UTF-16 without a mark", utf16le(german), `utf-16le: ${german}`],
    ["UTF-16 without a mark, big end first", utf16be(german), `utf-16be: ${german}`],
    [
      "UTF-16 in Cyrillic without a mark",
      utf16le("Съешь ещё этих мягких французских булок, да выпей чаю.\n"),
      "utf-16le: Съешь ещё этих мягких французских булок, да выпей чаю.\n"
    ],
    ["UTF-16 in Chinese with a mark", utf16be("\ufeff敏捷的棕色狐狸"), "utf-16be: 敏捷的棕色狐狸"],
    ["Latin-1", latin1(german), `windows-1252: ${german}`],
    ["Windows-1252", Uint8Array.of(0x93, 0x61, 0x94, 0x20, 0x80, 0x35), "windows-1252: “a” €5"],
    ["one bad byte in UTF-8", Uint8Array.of(...utf8("größer "), 0xff, ...utf8(" ä")), "utf-8: größer \ufffd ä"],
    ["UTF-8 that was cut off", utf8("größe é").subarray(0, -1), "utf-8: größe \ufffd"],
    ["colours of a terminal", utf8("\u001b[31mred\u001b[0m\n"), "utf-8: \u001b[31mred\u001b[0m\n"],
    [
      "a terminal's sequence that looks like ISO-2022-JP's",
      utf8("\u001b$Ba\u001b[0m\n"),
      "utf-8: \u001b$Ba\u001b[0m\n"
    ],
    ["a page break", utf8("one\f\ntwo"), "utf-8: one\f\ntwo"],
    ["a zero byte", Uint8Array.of(0x61, 0, 0x62, 0x63, 0, 0x64), "binary"],
    ["one zero byte in a text", Buffer.from("hello\0world and more text here, and a little more of it"), "binary"],
    ["controls", Uint8Array.of(1, 2, 3, 4, 0x61), "binary"],
    ["a zero byte after UTF-16's mark", Uint8Array.of(0xff, 0xfe, 0, 0xd8, 0, 0xd8, 3, 4, 0, 0), "binary"],
    [
      "Shift-JIS",
      Uint8Array.of(0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x82, 0xcc, 0x83, 0x65, 0x81, 0x5b),
      "unrecognised"
    ],
    [
      "Cyrillic of one byte",
      Uint8Array.of(0xd1, 0xfa, 0xe5, 0xf8, 0xfc, 0x20, 0xe5, 0xf9, 0xb8, 0x20, 0xfd),
      "unrecognised"
    ],
    ["UTF-32", Uint8Array.of(0xff, 0xfe, 0, 0, 0x61, 0, 0, 0), "unrecognised"]
  ]
  for (const [name, bytes, expected] of cases) it(name, () => assert.strictEqual(read(bytes), expected))

  // Text as people write it: letters of several scripts, spaces, line ends.
  const text = FastCheck.array(
    FastCheck.oneof(
      { weight: 6, arbitrary: FastCheck.constantFrom(..."abcdefgh XYZ.,;\n\t\r\"'") },
      FastCheck.constantFrom(..."äöüéñßЖщ漢字語😀𝔘ـا")
    ),
    { minLength: 1, maxLength: 80 }
  ).map((chars) => chars.join(""))

  it.prop("gives back what was written", [text], ([written]) => {
    assert.strictEqual(read(utf8(written)), `utf-8: ${written}`)
    assert.strictEqual(read(utf8(`\ufeff${written}`)), `utf-8: ${written}`)
    assert.strictEqual(read(utf16le(`\ufeff${written}`)), `utf-16le: ${written}`)
    assert.strictEqual(read(utf16be(`\ufeff${written}`)), `utf-16be: ${written}`)
  })

  it.prop("is not led astray where the head is cut", [text, FastCheck.nat(3)], ([written, cut]) => {
    const bytes = utf8(`Grüße und noch mehr davon, ${written}`)
    assert.strictEqual(detect(bytes.subarray(0, Math.max(20, bytes.length - cut))), "utf-8")
    const wide = utf16le(`\ufeff${written}`)
    if (wide.length - cut > 3) assert.strictEqual(detect(wide.subarray(0, wide.length - cut)), "utf-16le")
  })

  it("knows a picture, an archive and random bytes from text", () => {
    const random = new Uint8Array(4096)
    let state = 42
    for (let i = 0; i < random.length; i++) {
      state = (state * 1103515245 + 12345) & 0x7fffffff
      random[i] = state >> 16
    }
    assert.strictEqual(detect(random), "binary")
    assert.strictEqual(detect(random.map((byte) => byte || 1)), "binary")
    assert.strictEqual(detect(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3)), "binary")
  })
})

describe("other encodings", () => {
  const written: ReadonlyArray<readonly [encoding: string, text: string, hex: string]> = [
    [
      "shift_jis",
      "日本語の文章です。潮が満ちると鐘が鳴ります。",
      "93fa967b8cea82cc95b68fcd82c582b7814292aa82aa969e82bf82e982c68fe082aa96c282e882dc82b78142"
    ],
    [
      "euc-jp",
      "日本語の文章です。潮が満ちると鐘が鳴ります。",
      "c6fccbdcb8eca4cecab8becfa4c7a4b9a1a3c4aca4accbfea4c1a4eba4c8bee2a4acccc4a4eaa4dea4b9a1a3"
    ],
    [
      "iso-2022-jp",
      "日本語の文章です。潮が満ちると鐘が鳴ります。",
      "1b2442467c4b5c386c244e4a383e4f244724392123442c242c4b7e2441246b24483e62242c4c44246a245e243921231b2842"
    ],
    [
      "gb18030",
      "这是中文文章。月亮牵引着大海，每天两次潮起潮落。",
      "d5e2cac7d6d0cec4cec4d5c2a1a3d4c2c1c1c7a3d2fdd7c5b4f3baa3a3acc3bfccecc1bdb4ceb3b1c6f0b3b1c2e4a1a3"
    ],
    [
      "big5",
      "這是一篇中文文章。月亮牽引著大海，每天兩次潮起潮落。設定檔在專案的根目錄中。",
      "b36fac4fa440bd67a4a4a4e5a4e5b3b9a143a4ebab47b26fa4deb5dba46aaefca141a843a4d1a8e2a6b8bce9b05fbce9b8a8a143b35da977c0c9a662b14daed7aabaaedaa5d8bffda4a4a143"
    ],
    [
      "euc-kr",
      "이것은 한국어 문장입니다. 달이 바다를 당깁니다.",
      "c0ccb0cdc0ba20c7d1b1b9beee20b9aec0e5c0d4b4cfb4d92e20b4dec0cc20b9d9b4d9b8a620b4e7b1e9b4cfb4d92e"
    ],
    [
      "koi8-r",
      "Это русский текст. Луна притягивает море, и дважды в день вода поднимается.",
      "fcd4cf20d2d5d3d3cbc9ca20d4c5cbd3d42e20ecd5cec120d0d2c9d4d1c7c9d7c1c5d420cdcfd2c52c20c920c4d7c1d6c4d920d720c4c5ced820d7cfc4c120d0cfc4cec9cdc1c5d4d3d12e"
    ],
    [
      "windows-1251",
      "Это русский текст. Луна притягивает море, и дважды в день вода поднимается.",
      "ddf2ee20f0f3f1f1eae8e920f2e5eaf1f22e20cbf3ede020eff0e8f2ffe3e8e2e0e5f220eceef0e52c20e820e4e2e0e6e4fb20e220e4e5edfc20e2eee4e020efeee4ede8ece0e5f2f1ff2e"
    ]
  ]
  for (const [encoding, text, hex] of written) {
    it.effect(encoding, () =>
      Effect.gen(function* () {
        const bytes = Uint8Array.from(Buffer.from(hex, "hex"))
        assert.deepStrictEqual(yield* kindOf("a.txt", bytes), { _tag: "Text", encoding })
        assert.strictEqual(decode(bytes, encoding), text)
        const recode = narrow(encoding)
        const pieces = Array.from(bytes, (byte) => recode(Uint8Array.of(byte)))
        assert.strictEqual(Buffer.concat(pieces).toString("utf8"), text)
      })
    )
  }

  const among = (comments: ReadonlyArray<Uint8Array>): Uint8Array =>
    Buffer.concat(
      comments.flatMap((comment) => [
        Buffer.from("// "),
        comment,
        Buffer.from(
          "\nint init_database_connection(const char *host, int port, struct options *options) {\n  return 0;\n}\n"
        )
      ])
    )

  for (const [encoding, , hex] of written) {
    it.effect(`${encoding} in comments of code, whose letters are mostly ASCII`, () =>
      Effect.gen(function* () {
        const source = among(Array.from({ length: 4 }, () => Buffer.from(hex, "hex")))
        assert.deepStrictEqual(yield* kindOf("a.c", source), { _tag: "Text", encoding })
      })
    )
  }

  const westerners: Readonly<Record<string, ReadonlyArray<string>>> = {
    French: [
      "Le fichier n’a pas été créé : vérifiez que le répertoire existe déjà.",
      "« Où êtes-vous allé cet été ? » demanda-t-il à l’élève, très gêné.",
      "À défaut, la clé « créée » dégénère ; ça coûte 5 €… même à Noël.",
      "ÉTÉ, FORÊT, GARÇON, DÉJÀ, CŒUR, MAÏS, À CÔTÉ",
      "une préférée dégénérée, réélue, créée"
    ],
    German: [
      "Prüft, ob die Größe des Puffers für Übergänge genügt.",
      "„Müßige Füchse“ – so heißt es – „äsen öfter über Äckern“.",
      "ÜBERGRÖSSE, ÄRZTE, ÖFEN, Straße, Fußgängerübergänge",
      "Österreich: 5 €, größer als 20 °C, süß, weiß, Maß"
    ],
    Spanish: [
      "¿Está seguro de que quiere eliminar la configuración del año?",
      "¡Atención! El tamaño del búfer está dañado: inténtelo otra vez.",
      "La función devolverá «vacío» si no encontró ningún índice.",
      "ÑANDÚ, CIGÜEÑA, ÁRBOL, ÉXITO, ÍNDICE, ÓPERA, ÚTIL"
    ],
    "of tables": [
      'tr("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ")',
      "/[àâçéèêëîïôûùüÿñæœ]/ /[äöüÄÖÜß]+/ /[áéíóúüñÁÉÍÓÚÜÑ¿¡]/",
      "————————————————————————————————————————",
      "©®™±²³µ¶·¹º»¼½¾¿÷×"
    ]
  }
  const signs = "€…‘’“”„–—™œŒ"
  const asWestern = (text: string) =>
    Buffer.from(
      text.replace(
        /[€…‘’“”„–—™œŒ]/g,
        (sign) => "\x80\x85\x91\x92\x93\x94\x84\x96\x97\x99\x9c\x8c"[signs.indexOf(sign)]!
      ),
      "latin1"
    )

  for (const [language, texts] of Object.entries(westerners)) {
    it.effect(`windows-1252 ${language} stays it, alone and in comments`, () =>
      Effect.gen(function* () {
        const bytes = texts.map(asWestern)
        const all = [...texts.map((text) => [asWestern(text)]), bytes, [...bytes, ...bytes, ...bytes]]
        for (const some of all) {
          const source = among(some)
          assert.deepStrictEqual(yield* kindOf("a.c", source), { _tag: "Text", encoding: "windows-1252" })
        }
        assert.strictEqual(decode(among(bytes), "windows-1252"), Buffer.from(among(texts.map(utf8))).toString())
        if (language !== "of tables")
          assert.deepStrictEqual(yield* kindOf("a.txt", Buffer.concat(bytes)), {
            _tag: "Text",
            encoding: "windows-1252"
          })
      })
    )
  }

  it.effect("UTF-32 is no guess", () =>
    Effect.gen(function* () {
      const wide = (mark: ReadonlyArray<number>, text: string) =>
        Uint8Array.from([...mark, ...Array.from(text, (char) => [char.charCodeAt(0), 0, 0, 0]).flat()])
      const kind = yield* kindOf("a.txt", wide([0xff, 0xfe, 0, 0], "Hello there, how are you?\n".repeat(20)))
      assert.strictEqual(
        kind._tag === "Other" && kind.reason.split(":")[0],
        "text in an encoding that is not recognised"
      )
    })
  )

  it("is the one that XML or a page declares, however little text shows it", () => {
    const as = (declaration: string) => latin1(`${declaration}\n<p>A \xd2 in English text.</p>`)
    assert.strictEqual(detect(as('<?xml version="1.0" encoding="koi8-r"?>')), "koi8-r")
    assert.strictEqual(detect(as('<meta charset="windows-1251">')), "windows-1251")
    assert.strictEqual(detect(as('<?xml version="1.0" encoding="nobody-9"?>')), "windows-1252")
    assert.strictEqual(detect(as("<p>")), "windows-1252")
  })
})

describe("narrow", () => {
  it.prop(
    "recodes pieces, however they are cut, as the whole",
    [
      FastCheck.string({ unit: FastCheck.constantFrom(..."aé€ß漢😀\n") }),
      FastCheck.constantFrom<Encoding>("utf-8", "utf-16le", "utf-16be"),
      FastCheck.integer({ min: 1, max: 5 })
    ],
    ([text, encoding, size]) => {
      const bytes = encoding === "utf-8" ? utf8(text) : encoding === "utf-16le" ? utf16le(text) : utf16be(text)
      const recode = narrow(encoding)
      const pieces: Array<Uint8Array> = []
      for (let at = 0; at < bytes.length; at += size) pieces.push(recode(bytes.subarray(at, at + size)))
      assert.strictEqual(Buffer.concat(pieces).toString("utf8"), text)
    }
  )

  it("leaves other encodings to each line", () => {
    assert.deepStrictEqual(narrow("windows-1252")(Uint8Array.of(0xe9, 0x80)), Uint8Array.of(0xe9, 0x80))
    assert.strictEqual(decodeLine(Buffer.of(0xe9, 0x80)), "é€")
    assert.strictEqual(decodeLine(Buffer.from("é€")), "é€")
  })
})
