import * as Context from "effect/Context"
import * as path from "node:path"
import type { Globals } from "./arguments.ts"
import { harmless } from "./harmless.ts"

/** Where and how the program was started. */
export class Place extends Context.Tag("clew/cli/Place")<
  Place,
  {
    readonly cwd: string
    readonly env: Readonly<Record<string, string | undefined>>
    readonly globals: Globals
  }
>() {}

/**
 * A path relative to the working directory, unless that is longer; anything but an absolute path stays as it is, on one
 * line.
 */
export const shown = (cwd: string, source: string): string => {
  const relative = path.isAbsolute(source) ? path.relative(cwd, source) || "." : source
  return harmless(relative.length < source.length || relative === "." ? relative : source).replaceAll("\n", " ")
}
