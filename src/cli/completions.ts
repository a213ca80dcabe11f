import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"

import { builtIns } from "./options.ts"

type Any = Command.Command<string, unknown, unknown, unknown>

const scripts = {
  bash: Command.getBashCompletions,
  fish: Command.getFishCompletions,
  zsh: Command.getZshCompletions
} as const

const isShell = (name: string): name is keyof typeof scripts => Object.hasOwn(scripts, name)

/** @effect/cli's wizard, which asks for every flag in turn, is not offered here. */
const isAboutWizard = (line: string): boolean => /-l wizard\b|--wizard\[/.test(line)

/** Joins the words of a path by `__`, but for the last. */
const allButLast = (path: string): string => {
  const last = path.lastIndexOf(",")
  return path.slice(0, last).replaceAll(",", "__") + path.slice(last)
}

/**
 * Corrects the bash completions of @effect/cli 0.77: it looks for subcommands under a name that they never have, and
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

const ownChoices = (indent: string): ReadonlyArray<string> =>
  [builtIns.logLevel, builtIns.completions].flatMap(({ choices, name }) => [
    `${indent}    --${name})`,
    `${indent}        COMPREPLY=( $(compgen -W "${choices.join(" ")}" -- "\${cur}") )`,
    `${indent}        return 0`,
    `${indent}        ;;`
  ])

/** A shell script that completes the command's flags, their choices and its subcommands. */
export const completions = (command: Any, name: string, shell: string): Effect.Effect<string> =>
  isShell(shell)
    ? Effect.map(scripts[shell](command, name), (lines) =>
        lines
          .filter((line) => !isAboutWizard(line))
          .map(corrected)
          .join("\n")
      )
    : Effect.succeed("")
