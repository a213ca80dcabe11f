import { assert, describe, it } from "vitest"
import { mentionsOf, namedIn, titleKeys } from "../../src/entities/extract.ts"
import { hashOf, keyOf, pack, unpack } from "../../src/entities/mention.ts"
import { names } from "../../src/entities/names.ts"

const found = (text: string) => names(text).map(({ end, start }) => text.slice(start, end))

describe("names", () => {
  it("are runs of capitals inside sentences, with the small words that join them", () => {
    assert.deepStrictEqual(found("In 1990 the Bank of England met Carl R. Rogers."), [
      "Bank of England",
      "England",
      "Carl R. Rogers"
    ])
  })
  it("are no first words of sentences, months, or what a language writes large", () => {
    assert.deepStrictEqual(found("Nothing was said. However, it rained in May. Then Paris fell."), ["Paris"])
    assert.deepStrictEqual(found("Nothing was said. Publix opened. A Publix store."), ["Publix", "Publix"])
    assert.deepStrictEqual(found("Die Funktion ist ein Teil der Sprache, und das Buch mit den Listen ist gut."), [])
  })
  it("may be joined by and, where they are quoted or said twice, and then are its parts as well", () => {
    assert.deepStrictEqual(found('by "Marks and Spencer" today'), ["Marks and Spencer", "Marks", "Spencer"])
    assert.deepStrictEqual(found("in Uruguay and Suriname, from Africa to India"), [
      "Uruguay",
      "Suriname",
      "Africa",
      "India"
    ])
  })
})

describe("no names", () => {
  it("are heads before of, last words of a name that opens a sentence, headings, items of lists, parts of paths", () => {
    assert.deepStrictEqual(found("David Lauren went to the University of Graz."), [
      "David Lauren",
      "University of Graz",
      "Graz"
    ])
    assert.deepStrictEqual(found("It joins Kathleen Turner and Danny DeVito."), ["Kathleen Turner", "Danny DeVito"])
    assert.deepStrictEqual(found("so\n\n## Clean Up Test Data\n\n- Whether it is so\n- `x` - Default: 3"), [])
    assert.deepStrictEqual(found("We asked the Inspector General of Police, of the Red River of the North."), [
      "Inspector General of Police",
      "Red River of the North"
    ])
    assert.deepStrictEqual(found("Following the BUA it ended. RESULTS There was one. CONCLUSIONS This was it."), [
      "BUA"
    ])
    assert.deepStrictEqual(found("the Han-manufactured iron, WebSocket-related headers, an X-ray"), ["X-ray"])
    assert.deepStrictEqual(
      found("in Cortina d'Ampezzo at the Summer Olympics of the Year, led by Le Marchand de Lignery"),
      ["Cortina d'Ampezzo", "Summer Olympics of the Year", "Le Marchand de Lignery"]
    )
    assert.deepStrictEqual(
      found("the Runners - up Cleveland Cavaliers Finals MVP Kevin Durant of HTTP 307 UNDICI 16241"),
      ["Runners", "HTTP 307", "UNDICI 16241"]
    )
    assert.deepStrictEqual(found("resolve both IPv4 and IPv6 here // Record once"), ["IPv4", "IPv6"])
    assert.deepStrictEqual(found("It was so. Paul David Stevens was born. Actor Ann Lee Smith met another actor."), [
      "Paul David Stevens",
      "Actor Ann Lee Smith",
      "Ann Lee Smith"
    ])
    assert.deepStrictEqual(
      found(
        "Broadcast area of the station Picture format of the programme Audio format of the programme House of Tudor Tudor rose Country Kingdom of Ruritania"
      ),
      ["House of Tudor", "Country Kingdom of Ruritania"]
    )
    assert.deepStrictEqual(found("see mozilla.org/docs/Web/API and the ERR_LENGTH_MISMATCH of it"), [])
  })
})

describe("keys", () => {
  it("are the same for spellings of one name", () => {
    for (const name of ["The Café's", "cafes", "CAFE", "a café"]) assert.strictEqual(keyOf(name), "cafe", name)
    for (const name of ["glass", "virus", "series"]) assert.strictEqual(keyOf(name), name)
  })
  it("hash to what six bytes hold, and hardly ever to the same", () => {
    const hashes = new Set(Array.from({ length: 200_000 }, (_, i) => hashOf(`name ${i}`)))
    assert.strictEqual(hashes.size, 200_000)
    assert.isTrue([...hashes].every((hash) => Number.isInteger(hash) && hash >= 0 && hash < 2 ** 47))
  })
})

describe("titles", () => {
  it("are known without their qualifier, and by an acronym beside them", () => {
    assert.deepStrictEqual(titleKeys("Mercury (planet)"), ["mercury planet", "mercury"])
    assert.deepStrictEqual(titleKeys("National Hockey League", "The National Hockey League (NHL) is"), [
      "national hockey league",
      "nhl"
    ])
  })
  it("of one letter, of function words, or of a page's length name nothing", () => {
    for (const title of ["a", "The", "42", "word ".repeat(200)]) assert.deepStrictEqual(titleKeys(title), [], title)
  })
})

describe("mentions", () => {
  const relations = (text: string, source = "docs/guide/a.md") =>
    mentionsOf({ text, heading: [], ordinal: 1, source }).map(({ key, relation }) => `${relation} ${key}`)

  it("are links of every format, resolved against the source", () => {
    assert.deepStrictEqual(relations("see [x](../api/b.md#there) and <a href='/guide/c.html'>"), [
      "links /docs/api/b",
      "links ~guide/c"
    ])
    assert.deepStrictEqual(
      relations("linkgit:git-rebase[1], [[Some Page|label]]"),
      ["links some page", "links git rebase"].toSorted((a, b) => (a < b ? 1 : -1))
    )
    assert.deepStrictEqual(relations("[mail](mailto:a@b.c) [here](#top)"), [])
    assert.include(relations('import { a } from "./b.ts"', "src/x/a.ts"), "imports /src/x/b")
  })
  it("are symbols in code, by their shape or between backticks", () => {
    assert.deepStrictEqual(relations("call `v-model` or makeThing with --dry-run and snake_case"), [
      "mentions makething",
      "mentions v model",
      "mentions dry run",
      "mentions snake case"
    ])
  })
  it("come back from bytes as they were", () => {
    const all = mentionsOf({
      text: "by Marks and Spencer",
      heading: ["Shops"],
      ordinal: 0,
      title: "Stores",
      source: "a/b.md"
    })
    assert.deepStrictEqual(
      unpack(pack(all)),
      all.map(({ end, key, relation, start }) => ({ end, entity: hashOf(key), relation, start }))
    )
  })
})

describe("questions", () => {
  it("name what is written large, and phrases that may be titles", () => {
    const { names, phrases } = namedIn("publix stores in Georgia and the vector search")
    assert.deepStrictEqual(names, ["georgia"])
    assert.include(phrases, "vector search")
    assert.notInclude(phrases, "the vector")
  })
})
