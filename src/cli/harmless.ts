import { stripVTControlCharacters } from "node:util"

/** Control characters of a document or a name would write on the terminal themselves. */
// oxlint-disable-next-line no-control-regex
export const harmless = (text: string): string => text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, " ")

/** Escape sequences but those that colours are made of, and control characters but tab and line feed. */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?!\[(?:[0-9]|2[2-9]|[349][0-79])m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g

/** What may go to a terminal whatever it was made of; colours only where the terminal shows any. */
export const forTerminal = (text: string, colors: boolean): string =>
  (colors ? text : stripVTControlCharacters(text)).replace(unsafe, " ")

/** JSON with the control characters escaped that JSON itself lets through. */
export const escaped = (json: string): string =>
  // oxlint-disable-next-line no-control-regex
  json.replace(/[\u007f-\u009f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
