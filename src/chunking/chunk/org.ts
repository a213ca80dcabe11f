import type { Markup } from "./markup.ts"

const heading = /^(\*{1,8})[ \t]+(?=\S)/
const title = /^#\+title:[ \t]*(?=\S)/i
const block = /^#\+begin_(\w{1,40})/i
const item = /^(?:[+-]|\d{1,4}[.)])[ \t]+\S/

/** Org mode's headings, its title, its lists and its blocks. */
export const org: Markup = {
  sign: (line) => {
    const [named] = title.exec(line.text) ?? []
    if (named !== undefined) return { is: "heading", level: 1, title: [line.start + named.length, line.end] }
    const [starred, stars] = (line.indent === 0 ? heading.exec(line.text) : null) ?? []
    if (starred !== undefined) {
      return { is: "heading", level: stars!.length + 1, title: [line.start + starred.length, line.end] }
    }
    const name = block.exec(line.text)?.[1]?.toLowerCase()
    if (name !== undefined && name !== "quote" && name !== "verse") {
      return {
        is: "verbatim",
        ends: ({ text }) => (text.toLowerCase().startsWith(`#+end_${name}`) ? "with" : undefined)
      }
    }
    if (line.first && line.text.startsWith("|")) {
      return { is: "verbatim", ends: ({ text }) => (text.startsWith("|") ? undefined : "before"), table: true }
    }
    return item.test(line.text) ? { is: "item" } : undefined
  }
}
