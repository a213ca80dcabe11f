/** Roff's named characters, as far as manuals use them. */
const characters: Readonly<Record<string, string>> = {
  aq: "'",
  dq: '"',
  lq: "“",
  rq: "”",
  oq: "‘",
  cq: "’",
  em: "—",
  en: "–",
  hy: "-",
  bu: "•",
  co: "©",
  rg: "®",
  tm: "™",
  ga: "`",
  ha: "^",
  ti: "~",
  rs: "\\",
  sl: "/",
  ba: "|",
  la: "⟨",
  ra: "⟩",
  lB: "[",
  rB: "]",
  lC: "{",
  rC: "}",
  sh: "#",
  at: "@",
  Do: "$",
  mu: "×",
  di: "÷",
  "<=": "≤",
  ">=": "≥",
  "!=": "≠",
  "->": "→",
  "<-": "←",
  "+-": "±",
  de: "°",
  mc: "µ",
  ss: "ß",
  ":a": "ä",
  ":o": "ö",
  ":u": "ü",
  "'e": "é",
  "`e": "è"
}

const strings: Readonly<Record<string, string>> = { lq: "“", rq: "”", R: "®", Tm: "™", Aq: "'", "C+": "C++" }

const single: Readonly<Record<string, string>> = {
  "-": "-",
  e: "\\",
  "\\": "\\",
  "'": "´",
  "`": "`",
  ".": ".",
  " ": " ",
  "~": " ",
  "0": " ",
  t: "\t"
}

/** A name after an escape: one character, two after `(`, any number in brackets. */
const nameAt = (line: string, at: number): readonly [name: string, next: number] => {
  if (line[at] === "(") return [line.slice(at + 1, at + 3), at + 3]
  if (line[at] !== "[") return [line.slice(at, at + 1), at + 1]
  const end = line.indexOf("]", at)
  return end < 0 ? ["", line.length] : [line.slice(at + 1, end), end + 1]
}

/** A line's words, without escapes for fonts, sizes and movements, and with named characters replaced. */
export const plain = (line: string): string => {
  let text = ""
  for (let at = 0; at < line.length;) {
    const char = line[at]!
    if (char !== "\\") {
      text += char
      at++
      continue
    }
    const kind = line[at + 1] ?? ""
    if (kind === '"' || kind === "#") break
    if (kind === "(" || kind === "[") {
      const [name, next] = nameAt(line, at + 1)
      const unicode = /^u([0-9A-F]{4,5})$/.exec(name)
      text += unicode === null ? (characters[name] ?? "") : String.fromCodePoint(Number.parseInt(unicode[1]!, 16))
      at = next
    } else if (kind === "*") {
      const [name, next] = nameAt(line, at + 2)
      text += strings[name] ?? ""
      at = next
    } else if (/[fmMnFgkYV]/.test(kind)) {
      at = nameAt(line, at + 2)[1]
    } else if (kind === "s") {
      const found = /^(?:\[[+-]?\d{1,3}\]|[+-]?\(?\d{1,2}|'[^']{0,8}')/.exec(line.slice(at + 2, at + 14))
      at += 2 + (found?.[0].length ?? 0)
    } else if (/[hvwlLDboxNSHXZRA]/.test(kind) && /['"\u0007]/.test(line[at + 2] ?? "")) {
      const end = line.indexOf(line[at + 2]!, at + 3)
      at = end < 0 ? line.length : end + 1
    } else {
      text += single[kind] ?? (/[&|^%/,):{}cdruapz]/.test(kind) ? "" : kind)
      at += 2
    }
  }
  return text
}

/** A macro's arguments; quotes group words, and doubled quotes stand for themselves. */
export const argumentsOf = (line: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let at = 0
  while (at < line.length) {
    while (line[at] === " " || line[at] === "\t") at++
    if (at >= line.length || line.startsWith('\\"', at)) break
    let word = ""
    if (line[at] === '"') {
      for (at++; at < line.length; at++) {
        if (line[at] !== '"') word += line[at]
        else if (line[at + 1] === '"') word += line[at++]
        else break
      }
      at++
    } else {
      for (; at < line.length && line[at] !== " " && line[at] !== "\t"; at++) {
        // An escaped space belongs to the word.
        if (line[at] === "\\" && at + 1 < line.length) word += line[at++]
        word += line[at]
      }
    }
    found.push(word)
  }
  return found
}
