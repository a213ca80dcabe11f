import { parse } from "parse5"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { render } from "./html.ts"
import { find, textOf } from "./html/inline.ts"
import { child, childrenOf, textIn, xml } from "./xml.ts"

/** Evernote's export: each note under its title, without attachments and what was recognised in them. */
export const evernote = (text: string): Extracted => {
  const root = xml(text, ({ name }) => name === "resource")
  if (root.name !== "en-export") throw new NotExtracted("not an export of Evernote: it has no notes")
  const writer = new MarkdownWriter()
  for (const note of childrenOf(root).filter(({ name }) => name === "note")) {
    writer.heading(1, textIn(child(note, "title")).trim())
    // A note is a page whose body is called en-note.
    const page = parse(textIn(child(note, "content")))
    const body = find(page, "body") ?? page
    render({ writer, length: textOf(body).length }, body)
  }
  return { text: writer.text, marks: writer.marks, metadata: {} }
}
