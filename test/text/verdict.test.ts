import { assert, describe, it } from "@effect/vitest"
import { languageOf } from "../../src/text/language.ts"
import { verdictOf } from "../../src/text/verdict.ts"

const passage =
  "Backups\nBackups are kept for 28 days and are never encrypted. The port of BackupServer is 5,432 by default. " +
  "A client that fails to log in is closed after thirty seconds; anyone can read the list."

const verdict = (sentence: string, support = 0.8) => verdictOf({ passage, sentence, support })

describe("verdictOf", () => {
  it.each([
    ["Backups are kept for 28 days.", "supported"],
    ["The port of BackupServer is 5432 by default.", "supported"],
    ["A client that fails to log in is closed after 30 seconds.", "supported"],
    ["One of the clients is closed.", "supported"],
    ["Backups are kept for 82 days.", "contradicted"],
    ["Backups are kept for twelve days.", "contradicted"],
    ["Backups are not kept for 28 days.", "contradicted"],
    ["Backups are encrypted and kept for 28 days.", "contradicted"],
    ["A client that fails to log in is closed after thirty minutes.", "contradicted"],
    ["Nobody can read the list.", "contradicted"],
    ["The port of RestoreServer is 5,432 by default.", "not_found"],
    ["Of backups, backup.retention_days says how long they are kept.", "not_found"],
    ["The tapes are stored in Zurich in room 12 of the cellar.", "not_found"]
  ])("%s %s", (sentence, wanted) => {
    assert.strictEqual(verdict(sentence), wanted)
  })

  it("is no surer than words and meaning are", () => {
    const sentence = "Snapshots stay around for four weeks."
    assert.strictEqual(verdict(sentence.replace("four ", ""), 0.4), "unclear")
    assert.strictEqual(verdict(sentence.replace("four ", ""), 0.2), "not_found")
  })

  it("compares numbers and names alone with a sentence in another language", () => {
    assert.strictEqual(verdict("Die Sicherungen werden 28 Tage gehalten und sind nicht verschlüsselt.", 0.1), "unclear")
    assert.strictEqual(
      verdict("Die Sicherungen werden 14 Tage gehalten und sind nicht verschlüsselt.", 0.1),
      "not_found"
    )
    assert.strictEqual(
      verdict("Die Sicherungen werden mit BackupServer gemacht und nicht mit der Hand.", 0.7),
      "supported"
    )
    assert.strictEqual(verdict("备份保存28天。", 0.1), "unclear")
  })

  it("takes any text", () => {
    for (const odd of ["", " ", "1", "not", "\n\n", "[1]", "漢", "a.b.c.d", "-".repeat(50_000), "1,".repeat(50_000)]) {
      assert.oneOf(verdictOf({ passage: odd, sentence: odd, support: 0 }), ["not_found", "unclear", "contradicted"])
    }
  })
})

describe("languageOf", () => {
  it.each([
    ["The port is open and the server is not.", "en"],
    ["Der Port ist offen und der Server nicht.", "de"],
    ["Le port est ouvert et le serveur ne répond pas.", "fr"],
    ["El puerto está abierto y el servidor no.", "es"],
    ["ポートは開いています", "ja"],
    ["端口是开放的", "zh"],
    ["Порт открыт", "cyrillic"],
    ["llm.timeout_ms = 300", undefined],
    ["", undefined]
  ])("%s: %s", (text, wanted) => {
    assert.strictEqual(languageOf(text), wanted)
  })
})
