import { assert, describe, it } from "@effect/vitest"
import { verdictOf } from "../../src/citations/verdict.ts"
import { Verdict } from "../../src/model/SearchResult.ts"
import { languageOf } from "../../src/terms/languages.ts"

const passage =
  "Backups\nBackups are kept for 28 days and are never encrypted. The port of BackupServer is 5,432 by default. " +
  "A client that fails to log in is closed after thirty seconds; anyone can read the list."

const verdict = (sentence: string, support = 0.8) => verdictOf({ passage, sentence, support })

describe("verdictOf", () => {
  it("a bound of an item's term contradicts no other number of it", () => {
    const passage = "Config\n\n- `timeout`: Seconds to wait. Default: 30. It must not be zero."
    assert.notStrictEqual(
      verdictOf({ passage, sentence: "The default timeout is 30 seconds.", support: 0.6 }),
      "contradicted"
    )
  })

  it.each([
    ["Backups are kept for 28 days.", "mentioned"],
    ["The port of BackupServer is 5432 by default.", "mentioned"],
    ["A client that fails to log in is closed after 30 seconds.", "mentioned"],
    ["One of the clients is closed.", "mentioned"],
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

  it.each([
    "Answer: The queen lays 2000 eggs a day.",
    "**Answer:** The queen lays 2000 eggs a day.",
    "Yes, the queen lays 2000 eggs a day.",
    "According to passage, the queen lays 2000 eggs a day.",
    "Based on the provided context, the queen lays 2000 eggs a day.",
    "The queen, i.e. the mother, lays 2000 eggs a day."
  ])("neither what leads to a statement nor an abbreviation is a name: %s", (sentence) => {
    const passage = "The queen, the mother, lays 2000 eggs a day. The queen lays 2000 eggs a day."
    assert.strictEqual(verdictOf({ passage, sentence, support: 0.8 }), "mentioned")
    assert.notStrictEqual(verdictOf({ passage: "Ice creeps.", sentence, support: 0.8 }), "mentioned")
  })

  it("a sentence that begins with code is one of its own, and one goes on in the next line", () => {
    const flags =
      "`--force` overwrites the file\nwithout asking. `--dry-run` prints what would change and writes\nnothing."
    const verdict = (sentence: string) => verdictOf({ passage: flags, sentence, support: 0.8 })
    assert.strictEqual(verdict("`--dry-run` prints what would change and writes nothing."), "mentioned")
    assert.notStrictEqual(verdict("`--dry-run` overwrites the file without asking."), "mentioned")
    assert.notStrictEqual(verdict("`--force` writes nothing."), "mentioned")
    assert.strictEqual(verdict("`--force` never overwrites the file without asking."), "contradicted")
  })

  it("takes a number without its zero for the same", () => {
    const verdict = (sentence: string) =>
      verdictOf({ passage: "The threshold is .85 by default. The pause is -.5 to .25s.", sentence, support: 0.8 })
    assert.strictEqual(verdict("The threshold is 0.85 by default."), "mentioned")
    assert.strictEqual(verdict("The threshold is .85 by default."), "mentioned")
    assert.strictEqual(verdict("The pause is -0.5 to 0.25s."), "mentioned")
    assert.strictEqual(verdict("The threshold is 85 by default."), "contradicted")
  })

  it.each([
    ["Die Kaution beträgt 10.000 Euro im Jahr.", "Die Kaution beträgt 10000 Euro im Jahr.", "unclear"],
    ["Die Kaution beträgt 10.000 Euro im Jahr.", "Die Kaution beträgt 10 000 Euro im Jahr.", "unclear"],
    ["Die Kaution beträgt 10.000 Euro im Jahr.", "Die Kaution beträgt 20.000 Euro im Jahr.", "contradicted"],
    ["Die Kaution beträgt 10.000 Euro im Jahr.", "Die Kaution beträgt 10.0 Euro im Jahr.", "contradicted"],
    ["Der Querschnitt der Leitung beträgt 1,5 mm.", "Der Querschnitt der Leitung beträgt 1.5 mm.", "unclear"],
    ["Der Querschnitt der Leitung beträgt 1,5 mm.", "Der Querschnitt der Leitung beträgt 15 mm.", "contradicted"],
    ["Die Miete beträgt 1.250,75 Euro im Monat.", "Die Miete beträgt 1250,75 Euro im Monat.", "unclear"],
    ["Le dépôt est de 10\u00a0000 euros par an.", "Le dépôt est de 10000 euros par an.", "unclear"],
    ["Le dépôt est de 10\u202f000 euros par an.", "Le dépôt est de 10 000 euros par an.", "mentioned"],
    ["Le dépôt est de 10 000 euros par an.", "Le dépôt est de 10 euros par an.", "contradicted"],
    ["La durée est de 1 250,5 heures par an.", "La durée est de 1250,5 heures par an.", "unclear"],
    ["Der Stichtag ist der 01.12.2025 für alle.", "Der Stichtag ist der 1. Dezember 2025 für alle.", "unclear"],
    ["Der Stichtag ist der 01.12.2025 für alle.", "Der Stichtag ist der 3. Dezember 2025 für alle.", "contradicted"],
    ["The deposit is 10,000 dollars a year.", "The deposit is 10 000 dollars a year.", "mentioned"],
    ["The deposit is 10,000 dollars a year.", "The deposit is 10'000 dollars a year.", "mentioned"],
    ["The deposit is 100,000 dollars a year.", "The deposit is 1,00,000 dollars a year.", "mentioned"],
    ["The deposit is 10,000 dollars a year.", "The deposit is 10.000 dollars a year.", "unclear"],
    ["The weight of the box is 1.500 kilograms.", "The weight of the box is 1.5 kilograms.", "unclear"],
    ["It was -1,5 degrees outside the house.", "It was -1.5 degrees outside the house.", "mentioned"],
    ["The ports 80 443 are open to visitors.", "The ports 80 and 443 are open to visitors.", "unclear"],
    ["Version 2.10 of the server reads archives.", "Version 2.1 of the server reads archives.", "contradicted"],
    ["The server listens at 10.0.0.1 for archives.", "The server listens at 10.001 for archives.", "contradicted"]
  ])("a number in another country's notation: %s %s %s", (passage, sentence, wanted) => {
    assert.strictEqual(verdictOf({ passage, sentence, support: 0.8 }), wanted)
  })

  it("is no surer than words and meaning are", () => {
    const sentence = "Snapshots stay around for four weeks."
    assert.strictEqual(verdict(sentence.replace("four ", ""), 0.4), "unclear")
    assert.strictEqual(verdict(sentence.replace("four ", ""), 0.2), "not_found")
  })

  it("finds a sentence that stands in the passage word for word, over the ends of lines, and no part of one", () => {
    const wrapped =
      "It moves `HEAD`.\n1. `git reset` changes which commit `HEAD` points\n   to. This makes it possible to undo various\n   operations, for example commit, merge,\n   rebase, and pull.\n2. It is not true that all of the nine branches are gone."
    const verdict = (sentence: string) => verdictOf({ passage: wrapped, sentence, support: 0.9 })
    const whole = "This makes it possible to undo various operations, for example commit, merge, rebase, and pull."
    assert.strictEqual(verdict(whole), "mentioned")
    assert.notStrictEqual(verdict("All of the nine branches are gone."), "mentioned")
  })

  it("compares numbers and names alone with a sentence in another language", () => {
    assert.strictEqual(verdict("Die Sicherungen werden 28 Tage gehalten und sind nicht verschlüsselt.", 0.1), "unclear")
    assert.strictEqual(
      verdict("Die Sicherungen werden 14 Tage gehalten und sind nicht verschlüsselt.", 0.1),
      "not_found"
    )
    assert.strictEqual(
      verdict("Die Sicherungen werden mit BackupServer gemacht und nicht mit der Hand.", 0.7),
      "unclear"
    )
    assert.strictEqual(verdict("备份保存28天。", 0.1), "unclear")
  })

  it("does not take another row's numbers for a contradiction of a row that has all", () => {
    const passage =
      "[server]\n| key | default | allowed | what it does |\n|---|---|---|---|\n" +
      "| `server.port` | `8484` | a whole number from 0 to 65535 | Port to listen on; 0: any free port |\n" +
      "| `server.read_only` | `false` | true or false | Refuse writes |\n" +
      "| `server.max_sockets` | `256` | a whole number from 1 to 65535 | Most WebSocket connections on the port |"
    const verdict = (sentence: string) => verdictOf({ passage, sentence, support: 0.7 })
    assert.notStrictEqual(verdict("The port is 8484."), "contradicted")
    assert.strictEqual(verdict("The port is 8485."), "contradicted")
  })

  it("takes any text", () => {
    for (const odd of ["", " ", "1", "not", "\n\n", "[1]", "漢", "a.b.c.d", "-".repeat(50_000), "1,".repeat(50_000)]) {
      assert.include(Verdict.literals, verdictOf({ passage: odd, sentence: odd, support: 0 }))
    }
  })
})

/** Passages of documentation, and claims about them that were once all called supported. */
const wal =
  "Beginning with version 3.7.0, a new Write-Ahead Log option is available. All processes using a database must be on the " +
  "same host computer. Auto-checkpoint is enabled with a threshold of 1000 pages. In the table, bit 7 is the highest bit, " +
  "while bit 0 is the lowest one. This flag was introduced in 2.11.0 and enabled by default in 2.20.0. The master sends " +
  "pings to its replicas (every 10 seconds). The cache holds most pages.\n" +
  "timeout: Socket timeout in milliseconds. maxFreeSockets: Sockets to leave open. Default: 256. maxSockets: Sockets per host. Default: 16.\n" +
  "| Argument | Client | Server |\n|---|---|---|\n| MAX_PING_STRIKES | 5 | 2 |\n" +
  "The tool works except on Windows. It stores numbers from -128 to 127. Die Daten sind nicht sicher und werden von der Platte gelesen."

describe("what a claim binds together", () => {
  it.each([
    ["A new Write-Ahead Log option is available beginning with version 3.7.0.", true],
    ["A new Write-Ahead Log option is available beginning with version 2.20.0.", false],
    ["A new Write-Ahead Log option is available before version 3.7.0.", false],
    ["All processes using a database must be on the same host computer.", true],
    ["All processes using a database may be on the same host computer.", false],
    ["Auto-checkpoint is enabled with a threshold of 1000 pages.", true],
    ["Auto-checkpoint is enabled every 1000 seconds.", false],
    ["Auto-checkpoint is enabled with a threshold of 1000 kilobytes.", false],
    ["Bit 7 is the highest bit.", true],
    ["Bit 0 is the highest bit.", false],
    ["The flag was introduced in 2.11.0.", true],
    ["The flag was introduced in 2.20.0.", false],
    ["The flag was enabled by default in 2.11.0.", false],
    ["The master sends pings to its replicas every 10 seconds.", true],
    ["Replicas send pings to the master.", false],
    ["The cache holds all pages.", false],
    ["The cache holds pages.", false],
    ["The default of maxFreeSockets is 256.", true],
    ["The default of maxSockets is 256.", false],
    ["timeout is the socket timeout in seconds.", false],
    ["MAX_PING_STRIKES is 2 on the server.", true],
    ["MAX_PING_STRIKES is 5 on the server.", false],
    ["The tool works on Windows.", false],
    ["“The tool works except on `Windows`.”", true],
    ["It stores numbers from -128 to 127.", true],
    ["It stores numbers from 128 to 127.", false],
    ["Die Daten sind nicht sicher und werden von der Platte gelesen.", true],
    ["Die Daten sind sicher und werden von der Platte gelesen.", false]
  ])("%s %s", (sentence, isSupported) => {
    assert.strictEqual(verdictOf({ passage: wal, sentence, support: 0.9 }) === "mentioned", isSupported)
  })

  it("reads no numbers out of a script whose words it cannot tell apart", () => {
    const evidence = { passage: "备份保存28天。备份不加密。", support: 0.9 }
    assert.strictEqual(verdictOf({ ...evidence, sentence: "备份保存28天。" }), "mentioned")
    assert.strictEqual(verdictOf({ ...evidence, sentence: "备份不保存28天。" }), "unclear")
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
