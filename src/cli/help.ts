import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { typed } from "./arguments.ts"
import type { AnyCommand, FlagInfo, Positional } from "./command.ts"
import { builtIns, everywhere, globalFlags } from "./flags.ts"
import type { Face } from "./terminal.ts"
import { wrapLine } from "./wrap.ts"

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
export const help = (path: readonly [AnyCommand, ...Array<AnyCommand>], version: string, face: Face): string => {
  const spec = path.at(-1) ?? path[0]
  const { colors } = face
  const columns = Math.min(face.columns, 100)

  const section = (title: string, rows: ReadonlyArray<Row>): string => {
    if (rows.length === 0) return ""
    const left = Math.min(Math.max(...rows.map(([text]) => text.length)), 32)
    const indent = `\n${" ".repeat(left + 4)}`
    const lines = rows.map(([text, about]) => {
      const right = wrapLine(about, Math.max(20, columns - left - 4)).join(indent)
      return `  ${colors.bold(text)}${text.length > left ? indent : " ".repeat(left + 2 - text.length)}${right}`
    })
    return `\n${colors.bold(title)}\n${lines.join("\n")}\n`
  }
  const commandRow = (sub: AnyCommand): Row => [
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
      : `${wrapLine(spec.summary, columns).join("\n")}\n`,
    `\n${colors.bold("Usage")}\n  ${usage}\n`,
    section("Arguments", spec.positional === undefined ? [] : [[spec.positional.name, spec.positional.summary]]),
    section("Commands", spec.subcommands.map(commandRow)),
    section("Flags", spec.flags.flatMap(flagRows)),
    path.length === 1
      ? section("Flags of every command", everywhere.flatMap(flagRows))
      : `\n${wrapLine(`Also the flags of every command, such as --db and --json: ${path[0].name} --help`, columns).join("\n")}\n`,
    ...(spec.examples === undefined
      ? []
      : [
          `\n${colors.bold("Examples")}\n${spec.examples.map((line) => `  ${face.isTerminal ? wrapCommand(line, columns - 2) : line}\n`).join("")}`
        ]),
    ...(spec.details ?? []).map((paragraph) => `\n${wrapLine(paragraph, columns).join("\n")}\n`)
  ]
    .join("")
    .trimEnd()
}

const scripts = {
  bash: Command.getBashCompletions,
  fish: Command.getFishCompletions,
  zsh: Command.getZshCompletions
} as const

/** @effect/cli's wizard, which asks for every flag in turn, is not offered here. */
const isAboutWizard = (line: string): boolean => /-l wizard\b|--wizard\[/.test(line)

/** Joins the words of a path by `__`, but for the last. */
const allButLast = (path: string): string => {
  const last = path.lastIndexOf(",")
  return path.slice(0, last).replaceAll(",", "__") + path.slice(last)
}

/**
 * Corrects the completions of @effect/cli 0.77: in bash, it looks for subcommands under a name that they never have, and
 * writes choices as one word.
 */
const corrected = (line: string): string =>
  line
    .replaceAll(" --wizard", "")
    .replace(/^( *\w+(?:,[\w-]+){2,})\)$/, allButLast)
    .replace(/compgen -W "([\w,-]+)"/, (words) => words.replaceAll(",", " "))
    // Its own flags have no choices in bash, and elsewhere list a shell that Clew does not offer.
    .replace(/^( *)case "\$\{prev\}" in$/, (line, indent: string) => [line, ...ownChoices(indent)].join("\n"))
    .replace("CHOICE:(sh bash", "CHOICE:(bash")
    .replace("{sh'',bash''", "{bash''")
    // Values of `-c`, which @effect/cli completes by files or nothing.
    .replace(/'(-c|--collection)\[([^\]]{0,200})\]'/, "'$1[$2]:NAME:_clew_collections'")
    .replace("-s c -l collection -r -f", "-s c -l collection -r -f -a '(_clew_collections)'")
    // An argument's message has its colons bare, and its action two names, so that zsh looked for a command "PATH:_files".
    .replace(
      /^( *'\*?:)(<.*):PATH:_files'/,
      (_, start: string, message: string) => `${start}${message.replaceAll(":", "\\:")}:_files'`
    )
    // Without zsh's completion system, sourcing the script would fail.
    .replace(/^ *compdef /, "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n$&")

const ownChoices = (indent: string): ReadonlyArray<string> =>
  [
    ["-c|--collection", "$(_clew_collections)"],
    ...[builtIns.logLevel, builtIns.completions].map(({ choices, name }) => [`--${name}`, choices.join(" ")])
  ].flatMap(([flag, values]) => [
    `${indent}    ${flag})`,
    `${indent}        COMPREPLY=( $(compgen -W "${values}" -- "\${cur}") )`,
    `${indent}        return 0`,
    `${indent}        ;;`
  ])

/** The names of the collections of the index that the line names by `--db`, else of the usual one. */
const collectionNames = {
  bash: `_clew_collections() {
    local i db=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        [ "\${COMP_WORDS[i]}" = --db ] && db=(--db "\${COMP_WORDS[i+1]/#\\~/$HOME}")
    done
    clew collections --json "\${db[@]}" 2>/dev/null | grep -o '{"name":"[^"]*"' | cut -d'"' -f4
}
`,
  fish: `function _clew_collections
    set -l words (commandline -opc)
    set -l db
    set -l at (contains -i -- --db $words); and set db --db $words[(math $at + 1)]
    clew collections --json $db 2>/dev/null | string match -rag '\\{"name":"([^"]*)"'
end
`,
  zsh: `_clew_collections() {
    local at=\${words[(I)--db]} db=()
    (( at )) && db=(--db \${(Q)words[at+1]})
    compadd -- \${(f)"$(clew collections --json $db 2>/dev/null | grep -o '{"name":"[^"]*"' | cut -d'"' -f4)"}
}
`
} as const

// oxlint-disable-next-line typescript/no-explicit-any
type Completed = Command.Command<string, never, never, any>

/** The command as @effect/cli knows it, for its completions. */
const toCli = ({ flags, name, positional, subcommands, summary }: AnyCommand): Completed => {
  const one =
    positional?.paths === true
      ? Args.path({ name: positional.name, exists: "either" })
      : Args.text({ name: positional?.name ?? "" })
  const own = Command.make(name, {
    flags: [...flags, ...Object.values(globalFlags)].map(({ options }) => options),
    positional:
      positional === undefined
        ? []
        : [Args.between(Args.withDescription(one, positional.summary), positional.min, positional.max)]
  }).pipe(Command.withDescription(summary))
  const [first, ...rest] = subcommands.map(toCli)
  return first === undefined ? own : Command.withSubcommands(own, [first, ...rest])
}

/** A shell script that completes the command's flags, their choices and its subcommands. */
export const completions = (command: AnyCommand, shell: keyof typeof scripts): Effect.Effect<string> =>
  Effect.map(scripts[shell](toCli(command), command.name), (lines) => {
    const own = collectionNames[shell].trimEnd().split("\n")
    // zsh reads the first line for what a file on its path completes.
    const head = shell === "zsh" ? 1 : 0
    const rest = lines.slice(head).flatMap((line) => (isAboutWizard(line) ? [] : [corrected(line)]))
    return [...lines.slice(0, head), ...own, ...rest].join("\n")
  })
