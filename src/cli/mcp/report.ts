import * as Schema from "effect/Schema"
import { type Client, scopes } from "./clients.ts"
import { entryIn, type Table } from "./Format.ts"

/** What `mcp install --json` prints. */
export const InstallReport = Schema.Struct({
  client: Schema.String,
  scope: Schema.Literal(...scopes),
  file: Schema.String,
  written: Schema.Boolean.annotations({ description: "False with --print, and where there was nothing to change" }),
  removed: Schema.optional(Schema.Boolean.annotations({ description: "With --uninstall: whether there was an entry" })),
  disabled: Schema.optional(Schema.Boolean.annotations({ description: "The entry is there and switched off" })),
  backup: Schema.optional(Schema.String.annotations({ description: "Copy of the file as it was" })),
  entry: Schema.String.annotations({ description: "The entry as it stands in the file, or stood" })
}).annotations({ identifier: "InstallReport" })

/** What in a client's configuration switches an entry off; none where nothing does. */
export const switchedOff = (client: Client, root: Table, name: string): string | undefined => {
  const entry = entryIn(root, client.section, name)
  if (entry["disabled"] === true) return "disabled: true"
  if (entry["enabled"] === false) return "enabled: false"
  return client.offElsewhere?.(root, name)
}

/** The line that names the copy of a changed file. */
export const asItWas = (backup: string | undefined): ReadonlyArray<string> =>
  backup === undefined ? [] : [`As it was: ${backup}`]
