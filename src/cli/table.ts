import * as Effect from "effect/Effect"

/** A table's style: columns separated by blanks, no lines. */
const plain = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  "
}

/** A column: its name, and whether it holds numbers, which end at one edge. */
export type Column = readonly [name: string, align: "left" | "right"]

/** Rows under the names of their columns. The library is loaded only where a table is shown. */
export const drawn = (columns: ReadonlyArray<Column>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  Effect.map(
    Effect.promise(() => import("cli-table3")),
    ({ default: Table }) => {
      const table = new Table({
        head: columns.map(([name]) => name),
        colAligns: columns.map(([, align]) => align),
        chars: plain,
        style: { "padding-left": 0, "padding-right": 0, head: [], border: [] }
      })
      table.push(...rows.map((row) => [...row]))
      return table.toString()
    }
  )
