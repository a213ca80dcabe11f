import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { chunk } from "../src/chunking/chunk.ts"

interface Tag {
  readonly name: string
  readonly kind: string
  /** Lines from 1; where ctags knows no end, the next tag's line ends it. */
  readonly line: number
  readonly end?: number
}

/** Tokens of a passage, each counted as four characters. */
const size = 192
const count = (text: string): number => Math.ceil(text.length / 4)

/** Names of folders, and what ctags calls their language; it does not read Swift. */
const languages: Readonly<Record<string, string | undefined>> = {
  c: "C",
  cpp: "C++",
  cs: "C#",
  rb: "Ruby",
  php: "PHP",
  kt: "Kotlin",
  swift: undefined,
  sh: "Sh",
  sql: "SQL"
}

const counted =
  /^(?:function|method|class|struct|union|enum|interface|trait|module|singletonMethod|object|procedure|trigger|view|table|type)$/

const byCtags = (path: string, language: string): ReadonlyArray<Tag> =>
  execFileSync(
    "ctags",
    ["--output-format=json", "--fields=+neKz", "--kinds-all=*", `--language-force=${language}`, "-f", "-", path],
    { encoding: "utf8", maxBuffer: 1 << 28 }
  )
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Tag)
    .filter(({ kind, name }) => counted.test(kind) && !name.startsWith("__anon") && name !== "<lambda>")

const swiftBegins =
  /^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|open|private|fileprivate|internal|static|final|class|override|mutating|convenience|required|indirect)\s+)*(func|class|struct|enum|protocol|extension|actor|init)\b\??\s*([\w.]*)/

const indent = (line: string): number => line.length - line.trimStart().length

/** Lines that begin a definition of Swift, up to the brace below that closes it. */
const bySwift = (lines: ReadonlyArray<string>): ReadonlyArray<Tag> =>
  lines.flatMap((line, i) => {
    const [, kind, named] = swiftBegins.exec(line) ?? []
    const name = kind === "init" ? "init" : named
    if (kind === undefined || name === undefined || name === "") return []
    const closes = lines.findIndex(
      (other, at) => at > i && other.trimStart().startsWith("}") && indent(other) <= indent(line)
    )
    return [{ name, kind, line: i + 1, end: closes < 0 ? lines.length : closes + 1 }]
  })

const share = (part: number, all: number): string => (part / Math.max(1, all)).toFixed(3)

const measured = (folder: string, language: string): string => {
  let [all, named, headings, right] = [0, 0, 0, 0]
  for (const file of readdirSync(join(folder, language))) {
    const path = join(folder, language, file)
    const text = readFileSync(path, "utf8")
    const lines = text.split("\n")
    const starts = [0]
    for (const line of lines) starts.push(starts.at(-1)! + line.length + 1)
    const ctags = languages[language]
    const tags = [...(ctags === undefined ? bySwift(lines) : byCtags(path, ctags))].sort((a, b) => a.line - b.line)
    const written = language === "cpp" && file.endsWith(".h") ? "h" : language
    const passages = chunk(text, { size, overlap: 0, format: "code", language: written, countTokens: count })
    const shortOf = (name: string): string => name.split(/[.:]+/).at(-1)!
    for (const [i, tag] of tags.entries()) {
      const end = tag.end ?? (tags[i + 1]?.line ?? lines.length + 1) - 1
      const [from, to] = [starts[tag.line - 1]!, starts[Math.min(end, lines.length)]!]
      if (count(text.slice(from, to)) < size / 4) continue
      all++
      const isNamed = (heading: string): boolean =>
        heading.endsWith(tag.name) || heading.split(/[\s.:()<"`[\]?]+/).includes(shortOf(tag.name))
      if (passages.some(({ end, heading, start }) => start < to && end > from && heading.some(isNamed))) named++
    }
    const names = new Set(tags.flatMap(({ name }) => [name, shortOf(name)]))
    for (const { heading } of passages) {
      const last = heading.at(-1)
      if (last === undefined) continue
      headings++
      if (last.split(/[\s.:(<"`[\]]+/).some((part) => names.has(part))) right++
    }
  }
  return `${language.padEnd(5)} ${String(all).padStart(5)} definitions of a quarter passage or more; a heading names ${share(named, all)}; headings that are definitions ${share(right, headings)}`
}

/**
 * The splitter of code held against the tags of Universal Ctags (a program on the PATH):
 * `npm run bench -- definitionsByLines FOLDER`. FOLDER has folders of sources, any of c, cpp, cs, rb, php, kt, swift, sh
 * and sql.
 */
const folder = resolve(process.argv[2] ?? "")
const there = Object.keys(languages).filter((language) => existsSync(join(folder, language)))
if (process.argv[2] === undefined || there.length === 0) {
  console.error(
    `usage: npm run bench -- definitionsByLines FOLDER, with folders named ${Object.keys(languages).join(", ")}`
  )
  process.exitCode = 2
}
for (const language of process.argv[2] === undefined ? [] : there) console.log(measured(folder, language))
