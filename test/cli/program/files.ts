/** A small library, of which each document is about something of its own. */
export const library = {
  "docs/tides.md": `---
lang: en
year: 2021
---
# Tides

The moon pulls the sea. Twice a day the water rises and falls.

## Spring tides

When sun and moon stand in a line, the spring tide is highest.
`,
  "docs/bread.md": `---
lang: en
year: 2015
---
# Bread

Knead the dough, let it rest, and bake it in a hot oven until the crust is brown.
`,
  "docs/brot.md": `---
lang: de
year: 2019
---
# Brot

Den Teig kneten, ruhen lassen und im heißen Ofen backen.
`,
  "docs/notes.jsonl": `${JSON.stringify({ _id: "n1", title: "Volcano", text: "Lava flows down the slope of the volcano." })}
${JSON.stringify({ _id: "n2", title: "Glacier", text: "The glacier carves its valley slowly." })}
`
}
