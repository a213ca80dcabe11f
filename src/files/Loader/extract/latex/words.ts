/** Commands for characters. */
const characters: Readonly<Record<string, string>> = {
  ldots: "…",
  dots: "…",
  textellipsis: "…",
  LaTeX: "LaTeX",
  TeX: "TeX",
  LaTeXe: "LaTeX2e",
  BibTeX: "BibTeX",
  ss: "ß",
  ae: "æ",
  AE: "Æ",
  oe: "œ",
  OE: "Œ",
  o: "ø",
  O: "Ø",
  aa: "å",
  AA: "Å",
  l: "ł",
  L: "Ł",
  i: "ı",
  j: "ȷ",
  S: "§",
  P: "¶",
  copyright: "©",
  pounds: "£",
  euro: "€",
  textbackslash: "\\",
  textasciitilde: "~",
  textasciicircum: "^",
  textbar: "|",
  textless: "<",
  textgreater: ">",
  textunderscore: "_",
  textendash: "–",
  textemdash: "—",
  textquotedblleft: "“",
  textquotedblright: "”",
  textquoteleft: "‘",
  textquoteright: "’",
  textdegree: "°",
  textregistered: "®",
  texttrademark: "™",
  textbullet: "•",
  quad: " ",
  qquad: " ",
  space: " ",
  enspace: " ",
  thinspace: " ",
  today: "",
  guillemotleft: "«",
  guillemotright: "»",
  glqq: "„",
  grqq: "“",
  newline: "\n",
  linebreak: "\n",
  textperiodcentered: "·",
  dag: "†",
  ddag: "‡"
}

/** Commands that put an accent on the next letter, as combining characters. */
const accents: Readonly<Record<string, string>> = {
  "'": "\u0301",
  "`": "\u0300",
  "^": "\u0302",
  '"': "\u0308",
  "~": "\u0303",
  "=": "\u0304",
  ".": "\u0307",
  u: "\u0306",
  v: "\u030c",
  H: "\u030b",
  c: "\u0327",
  k: "\u0328",
  r: "\u030a",
  d: "\u0323",
  b: "\u0331",
  t: "\u0361"
}

export const characterOf = (command: string): string | undefined =>
  Object.hasOwn(characters, command) ? characters[command] : undefined

/** A letter with its accent; undefined if the command is not an accent. */
export const accented = (command: string, letter: string): string | undefined =>
  Object.hasOwn(accents, command)
    ? (letter.slice(0, 1) + accents[command] + letter.slice(1)).normalize("NFC")
    : undefined

/** Commands without text, with their number of arguments in braces. */
const silent: Readonly<Record<string, number>> = {
  label: 1,
  index: 1,
  cite: 1,
  citep: 1,
  citet: 1,
  citeauthor: 1,
  parencite: 1,
  textcite: 1,
  autocite: 1,
  ref: 1,
  eqref: 1,
  pageref: 1,
  autoref: 1,
  cref: 1,
  Cref: 1,
  nocite: 1,
  vspace: 1,
  hspace: 1,
  vskip: 0,
  hskip: 0,
  bibliography: 1,
  bibliographystyle: 1,
  usepackage: 1,
  RequirePackage: 1,
  documentclass: 1,
  input: 1,
  include: 1,
  includegraphics: 1,
  newcommand: 2,
  renewcommand: 2,
  providecommand: 2,
  newenvironment: 3,
  renewenvironment: 3,
  newtheorem: 2,
  setlength: 2,
  addtolength: 2,
  setcounter: 2,
  addtocounter: 2,
  pagestyle: 1,
  thispagestyle: 1,
  pagenumbering: 1,
  hypersetup: 1,
  color: 1,
  textcolor: 1,
  definecolor: 3,
  fontsize: 2,
  rule: 2,
  multicolumn: 2,
  multirow: 2,
  cline: 1,
  cmidrule: 1,
  addcontentsline: 3,
  bibitem: 1,
  graphicspath: 1,
  geometry: 1,
  hyphenation: 1,
  thanks: 1,
  DeclareMathOperator: 2,
  resizebox: 2,
  scalebox: 1,
  raisebox: 1,
  parbox: 1,
  lstset: 1,
  foreignlanguage: 1,
  selectlanguage: 1,
  hypertarget: 1,
  href: 1
}

export const silentArguments = (command: string): number | undefined =>
  Object.hasOwn(silent, command) ? silent[command] : undefined

export const levels: Readonly<Record<string, number>> = {
  part: 1,
  chapter: 1,
  section: 2,
  subsection: 3,
  subsubsection: 4,
  paragraph: 5,
  subparagraph: 6
}

export const raw = new Set([
  "verbatim",
  "verbatim*",
  "Verbatim",
  "lstlisting",
  "minted",
  "alltt",
  "code",
  "lcode",
  "Highlighting"
])

/** Code without a highlighter's markup. */
export const unhighlighted = (code: string): string =>
  code
    .replace(/\\[A-Za-z]{1,30}Tok\{((?:[^{}\\]|\\.){0,1000})\}/g, "$1")
    .replaceAll("\\textbackslash{}", "\\")
    .replace(
      /\\text(?:greater|less|asciitilde|asciicircum|quotesingle|bar|underscore)\{\}/g,
      (name) => characterOf(name.slice(1, -2)) ?? "'"
    )
    .replace(/\\([{}$&#_%])/g, "$1")
export const unread = new Set(["comment", "tikzpicture", "picture", "pspicture", "filecontents", "filecontents*"])
export const formulas = new Set(
  "equation align gather displaymath math eqnarray multline alignat flalign dmath"
    .split(" ")
    .flatMap((name) => [name, `${name}*`])
)
export const tables = new Set(["tabular", "tabular*", "tabularx", "tabulary", "longtable", "supertabular", "tabbing"])
export const lists = new Set(["itemize", "enumerate", "description", "compactitem", "compactenum"])

/** Quotes and dashes as printed. */
export const readable = (text: string): string =>
  text
    .replaceAll("``", "“")
    .replaceAll("''", "”")
    .replaceAll("---", "—")
    .replace(/(?<![-–—])--(?![-–—])/g, "–")
    .replaceAll("`", "‘")
    .replace(/‘([^‘]{1,500})‘/g, "`$1`")
