import { stripVTControlCharacters } from "node:util"

/** Control characters in a document or a name could control the terminal. */
// oxlint-disable-next-line no-control-regex
export const harmless = (text: string): string => text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, " ")

/** Escape sequences except those for colours, and control characters except tab and line feed. */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?!\[(?:[0-9]|2[2-9]|[349][0-79])m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g

/** Text made safe for a terminal; colours only if the terminal supports them. */
export const forTerminal = (text: string, colors: boolean): string =>
  (colors ? text : stripVTControlCharacters(text)).replace(unsafe, " ")

/** JSON with those control characters escaped that JSON itself allows. */
export const escaped = (json: string): string =>
  // oxlint-disable-next-line no-control-regex
  json.replace(/[\u007f-\u009f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
