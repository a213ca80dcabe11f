import Database from "better-sqlite3"
import { mentionsOf } from "../src/entities/extract.ts"

// Draws mentions and other relations of the graph to judge by hand, one per line as tab-separated values with the words
// around it: `npm run bench -- graphPrecision SEED NAME INDEX [NAME INDEX...]`, a hundred of both from each index. The
// judgements are in graph/precision.tsv.

const [seed = "1", ...sets] = process.argv.slice(2)
const each = 100
const around = 45

let state = Number(seed) % 2_147_483_647 || 1
const draw = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ")

interface Row {
  readonly ordinal: number
  readonly text: string
  readonly heading: string
  readonly title: string | null
  readonly source: string | null
}

const rows: Array<ReadonlyArray<string>> = []
for (const kind of ["mentions", "others"]) {
  for (let at = 0; at + 1 < sets.length; at += 2) {
    const index = new Database(sets[at + 1]!, { readonly: true })
    const passages = index
      .prepare(
        `SELECT p.ordinal, p.text, p.heading, d.title, d.source
         FROM passages AS p JOIN documents AS d ON d.id = p.document_id ORDER BY p.id`
      )
      .all() as ReadonlyArray<Row>
    const all = passages.flatMap(({ heading, ordinal, source, text, title }) =>
      mentionsOf({
        text,
        ordinal,
        heading: JSON.parse(heading) as ReadonlyArray<string>,
        title: title ?? undefined,
        source: source ?? undefined
      }).flatMap(({ end, key, relation, start }) =>
        (relation === "mentions") === (kind === "mentions") && relation !== "heads"
          ? [
              [
                sets[at]!,
                oneLine(title ?? source ?? ""),
                relation,
                key,
                end > start
                  ? oneLine(
                      `${text.slice(Math.max(0, start - around), start)}⟦${text.slice(start, end)}⟧${text.slice(end, end + around)}`
                    )
                  : `(document: ${oneLine(title ?? source ?? "")})`
              ]
            ]
          : []
      )
    )
    index.close()
    const taken = new Set<number>()
    while (taken.size < Math.min(each, all.length)) taken.add(draw(all.length))
    for (const number of taken) rows.push(all[number]!)
  }
}
console.log(["number", "set", "document", "relation", "entity", "evidence", "verdict", "reason"].join("\t"))
for (const [index, row] of rows.entries()) console.log([index + 1, ...row, "", ""].join("\t"))
