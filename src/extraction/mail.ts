import PostalMime, { type Email } from "postal-mime"
import type { Extracted } from "./Extracted.ts"
import { MarkdownWriter, oneLine } from "./MarkdownWriter.ts"
import { asWestern } from "./decoding.ts"
import { html } from "./html.ts"

const addresses = (list: Email["to"]): ReadonlyArray<string> =>
  (list ?? []).flatMap((entry) => [
    "address" in entry && entry.address !== undefined && entry.address !== ""
      ? entry.name === ""
        ? entry.address
        : `${asWestern(entry.name)} <${entry.address}>`
      : asWestern(entry.name ?? "")
  ])

const isQuoted = (line: string): boolean => /^\s{0,3}>/.test(line)

/** The line before a quoted mail. */
const introducesQuote =
  /^(?:On .{5,200} wrote:|Am .{5,200} schrieb.{0,100}:|Le .{5,200} a écrit\s?:|-{3,} ?(?:Original Message|Ursprüngliche Nachricht|Forwarded message) ?-{3,})$/i

/** Writes quotes and new text as separate paragraphs. */
const writeText = (writer: MarkdownWriter, text: string): void => {
  let paragraph: Array<string> = []
  let quoted = false
  const flush = () => {
    const words = paragraph.join("\n").trim()
    paragraph = []
    if (words === "") return
    if (quoted)
      writer.block(
        words
          .split("\n")
          .map((line) => `> ${line}`)
          .join("\n")
      )
    else writer.paragraph(words)
  }
  for (const line of text.replace(/\r\n?/g, "\n").split("\n")) {
    // A signature is not part of the text.
    if (line === "-- ") break
    const isQuote = isQuoted(line)
    if (isQuote !== quoted || line.trim() === "" || introducesQuote.test(line.trim())) flush()
    quoted = isQuote
    paragraph.push(line.replace(/^\s*(?:>\s?)+/, ""))
  }
  flush()
}

/** Lines of a newsletter that only link to itself or to its list. */
const plumbing =
  /^(?:[|\u00b7\u2022-]|(?:view|read|open) (?:this |it )?(?:e-?mail |message |newsletter )?(?:in (?:your |a |the )?browser|online)|(?:click here to )?unsubscribe(?: here| from this list)?|(?:manage|update|change)? ?(?:your |my )?(?:e-?mail )?preferences|im browser (?:ansehen|anzeigen|lesen|\u00f6ffnen)|(?:newsletter )?abmelden|privacy policy|\s){1,12}\.?$/i

const withoutPlumbing = (text: string): string =>
  text
    .split("\n")
    .filter((line) => line === "" || line.length > 120 || !plumbing.test(line.trim()))
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()

/** An attachment's name, which shows of a mail what it is. */
const nameOf = (name: string, type: string): string =>
  asWestern(name) + (type === "message/rfc822" && !/\.eml$/i.test(name) ? ".eml" : "")

// The library decodes with Node's decoder, so its texts may have Latin-1's control characters.
const parse = (bytes: Uint8Array): Promise<Email> =>
  PostalMime.parse(bytes, { maxNestingDepth: 64, maxHeadersSize: 1024 * 1024 })

/** A page that a browser saved as one file (MHTML): its first HTML part; the others are its frames. */
export const savedPage = async (bytes: Uint8Array): Promise<Extracted> => {
  const { html: parts = "" } = await parse(bytes)
  // No mark: the lines of the part are not those of the file.
  return { ...html(asWestern(parts.split(/<\/html>/i, 1)[0]!)), marks: [] }
}

/** One mail: its text or HTML part, the subject as title, from, to and date as metadata. */
export const mail = async (bytes: Uint8Array): Promise<Extracted> => {
  const parsed = await parse(bytes)
  const writer = new MarkdownWriter()
  const text = asWestern(parsed.text?.trim() ?? "")
  if (text !== "") writeText(writer, text)
  else if (parsed.html !== undefined) writer.block(withoutPlumbing(html(asWestern(parsed.html)).text))
  const title = oneLine(asWestern(parsed.subject ?? ""))
  // A mail with only a subject can be found by it.
  if (writer.text === "") writer.paragraph(title)
  const [from] = addresses(parsed.from === undefined ? [] : [parsed.from])
  const to = addresses(parsed.to)
  const cc = addresses(parsed.cc)
  return {
    text: writer.text,
    title: title || undefined,
    metadata: {
      ...(from === undefined ? {} : { from }),
      ...(to.length === 0 ? {} : { to }),
      ...(cc.length === 0 ? {} : { cc }),
      ...(parsed.date === undefined ? {} : { date: parsed.date }),
      ...(parsed.messageId === undefined ? {} : { message_id: parsed.messageId })
    },
    marks: [],
    attachments: parsed.attachments.flatMap(({ content, disposition, filename, mimeType }, index) =>
      disposition === "inline" && filename === null
        ? []
        : [
            {
              name: nameOf(filename ?? `attachment-${index + 1}`, mimeType),
              bytes:
                typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content as ArrayBuffer)
            }
          ]
    )
  }
}
