import { typed } from "./arguments.ts"
import type { Positional, Spec } from "./command.ts"
import type { FlagInfo } from "./flag.ts"
import { everywhere } from "./options.ts"
import type { Face } from "./terminal.ts"

type Row = readonly [left: string, right: string]

/** If there are more choices than this, they are listed after the summary. */
const inline = 3

const flagRows = (flag: FlagInfo): ReadonlyArray<Row> => {
  const { choices = [], repeatable, value } = flag
  const short = flag.alias === undefined ? "    " : `-${flag.alias}, `
  const shown = choices.length > 0 && choices.length <= inline ? choices.join("|") : value
  const left = `${short}--${flag.name}${shown === undefined ? "" : ` ${shown}`}${repeatable === true ? "…" : ""}`
  const right = choices.length > inline ? `${flag.summary}: ${choices.join(", ")}` : flag.summary
  const rows: ReadonlyArray<Row> = [[left, right]]
  return flag.negation === undefined ? rows : [...rows, [`    --${flag.negation}`, flag.negated ?? ""]]
}

const positionalText = ({ max, min, name }: Positional): string => {
  const text = max > 1 ? `${name}…` : name
  return min === 0 ? `[${text}]` : text
}

/** Wraps words to a width; a longer word gets its own line. */
const wrap = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** An argument of a command line, quoted or not. */
const argument = /(?:'[^']*'|"[^"]*"|[^\s'"])+/g

/** Breaks a command line between arguments, so that it still is one. */
const wrapCommand = (line: string, width: number): string => {
  const lines: Array<string> = []
  let current = ""
  for (const [word] of line.matchAll(argument)) {
    // Two more for the backslash.
    if (current !== "" && current.length + 1 + word.length + 2 > width) {
      lines.push(`${current} \\`)
      current = `  ${word}`
    } else current = current === "" ? word : `${current} ${word}`
  }
  return line.length <= width ? line : [...lines, current].join("\n  ")
}

/** What `--help` prints for the innermost of the commands named. */
export const help = (path: readonly [Spec, ...Array<Spec>], version: string, face: Face): string => {
  const spec = path.at(-1) as Spec
  const { colors } = face
  const columns = Math.min(face.columns, 100)

  const section = (title: string, rows: ReadonlyArray<Row>): string => {
    if (rows.length === 0) return ""
    const left = Math.min(Math.max(...rows.map(([text]) => text.length)), 32)
    const indent = `\n${" ".repeat(left + 4)}`
    const lines = rows.map(([text, about]) => {
      const right = wrap(about, Math.max(20, columns - left - 4)).join(indent)
      return `  ${colors.bold(text)}${text.length > left ? indent : " ".repeat(left + 2 - text.length)}${right}`
    })
    return `\n${colors.bold(title)}\n${lines.join("\n")}\n`
  }
  const commandRow = (sub: Spec): Row => [
    sub.positional === undefined ? sub.name : `${sub.name} ${positionalText(sub.positional)}`,
    sub.summary
  ]
  const usage = [
    typed(path),
    ...(spec.subcommands.length === 0 ? [] : [path.length === 1 ? "COMMAND" : "[COMMAND]"]),
    "[FLAGS]",
    ...(spec.positional === undefined ? [] : [positionalText(spec.positional)])
  ].join(" ")

  return [
    path.length === 1
      ? `${colors.bold(spec.name)} ${version}: ${spec.summary}\n`
      : `${wrap(spec.summary, columns).join("\n")}\n`,
    `\n${colors.bold("Usage")}\n  ${usage}\n`,
    section("Arguments", spec.positional === undefined ? [] : [[spec.positional.name, spec.positional.summary]]),
    section("Commands", spec.subcommands.map(commandRow)),
    section("Flags", spec.flags.flatMap(flagRows)),
    path.length === 1
      ? section("Flags of every command", everywhere.flatMap(flagRows))
      : `\n${wrap(`Also the flags of every command, such as --db and --json: ${path[0].name} --help`, columns).join("\n")}\n`,
    ...(spec.examples === undefined
      ? []
      : [
          `\n${colors.bold("Examples")}\n${spec.examples.map((line) => `  ${face.isTerminal ? wrapCommand(line, columns - 2) : line}\n`).join("")}`
        ]),
    ...(spec.details ?? []).map((paragraph) => `\n${wrap(paragraph, columns).join("\n")}\n`)
  ]
    .join("")
    .trimEnd()
}
