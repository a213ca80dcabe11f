import { pairs } from "../raised.ts"

const each = <A>(names: string, value: A) => names.split(" ").map((name) => [name, value] as const)

/** Commands for characters. */
const characters = new Map<string, string>([
  ...pairs(
    "ldots … dots … textellipsis … LaTeX LaTeX TeX TeX LaTeXe LaTeX2e BibTeX BibTeX ss ß ae æ AE Æ oe œ OE Œ o ø O Ø " +
      "aa å AA Å l ł L Ł dh ð DH Ð th þ TH Þ dj đ DJ Đ i ı j ȷ S § P ¶ copyright © pounds £ euro € textbackslash \\ textasciitilde ~ " +
      "textasciicircum ^ textbar | textless < textgreater > textunderscore _ textendash – textemdash — " +
      "textquotedblleft “ textquotedblright ” textquoteleft ‘ textquoteright ’ textdegree ° textregistered ® " +
      "texttrademark ™ textbullet • guillemotleft « guillemotright » glqq „ grqq “ textperiodcentered · dag † ddag ‡"
  ),
  ...each("quad qquad space enspace thinspace", " "),
  ...each("newline linebreak", "\n"),
  ["today", ""]
])

/** Commands that put an accent on the next letter, as combining characters. */
const accents = new Map(
  [..."'`^\"~=.uvHckrdbt"].map(
    (sign, at) =>
      [
        sign,
        "\u0301\u0300\u0302\u0308\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u0328\u030a\u0323\u0331\u0361"[at]!
      ] as const
  )
)

export const characterOf = (command: string): string | undefined => characters.get(command)

/** A letter with its accent; undefined if the command is not an accent. */
export const accented = (command: string, letter: string): string | undefined =>
  accents.has(command) ? (letter.slice(0, 1) + accents.get(command) + letter.slice(1)).normalize("NFC") : undefined

/** Commands without text, with their number of arguments in braces. */
const silent = new Map([
  ...each("vskip hskip", 0),
  ...each(
    "label index cite citep citet citeauthor parencite textcite autocite ref eqref pageref autoref cref Cref " +
      "nocite vspace hspace bibliography bibliographystyle usepackage RequirePackage documentclass input " +
      "include includegraphics pagestyle thispagestyle pagenumbering hypersetup color textcolor cline cmidrule " +
      "bibitem graphicspath geometry hyphenation thanks scalebox raisebox parbox lstset foreignlanguage " +
      "selectlanguage hypertarget href",
    1
  ),
  ...each(
    "newcommand renewcommand providecommand newtheorem setlength addtolength setcounter addtocounter fontsize " +
      "rule multicolumn multirow DeclareMathOperator resizebox",
    2
  ),
  ...each("newenvironment renewenvironment definecolor addcontentsline", 3)
])

/** Books define index commands of their own, by such names. */
const indexing = /^(?:sym|symbol)?index[a-z]{1,20}$/

export const silentArguments = (command: string): number | undefined =>
  silent.get(command) ?? (indexing.test(command) ? 2 : undefined)

/** Commands whose argument is an address or a path, as it is written. */
export const addresses = new Set(["url", "nolinkurl", "path"])

export const levels: Readonly<Record<string, number>> = {
  part: 1,
  chapter: 1,
  section: 2,
  subsection: 3,
  subsubsection: 4,
  paragraph: 5,
  subparagraph: 6
}

export const raw = new Set("verbatim verbatim* Verbatim lstlisting minted alltt code lcode Highlighting".split(" "))

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
