import * as Schema from "effect/Schema"
import { type Client, scopes } from "./clients.ts"
import { entryIn, type Table } from "./Format.ts"

/** What `mcp install --json` prints. */
export const InstallReport = Schema.Struct({
  client: Schema.String,
  scope: Schema.Literal(...scopes),
  file: Schema.String,
  written: Schema.Boolean.annotations({ description: "False with --print, and if there was nothing to change" }),
  removed: Schema.optional(Schema.Boolean.annotations({ description: "With --uninstall: whether there was an entry" })),
  disabled: Schema.optional(Schema.Boolean.annotations({ description: "The entry exists and is switched off" })),
  backup: Schema.optional(Schema.String.annotations({ description: "Copy of the old file" })),
  entry: Schema.String.annotations({ description: "The entry as it is, or was, in the file" })
}).annotations({ identifier: "InstallReport" })

/** The setting of a client's configuration that switches an entry off, if any. */
export const switchedOff = (client: Client, root: Table, name: string): string | undefined => {
  const entry = entryIn(root, client.section, name)
  if (entry["disabled"] === true) return "disabled: true"
  if (entry["enabled"] === false) return "enabled: false"
  return client.offElsewhere?.(root, name)
}

/** The line that names the copy of a changed file. */
export const asItWas = (backup: string | undefined): ReadonlyArray<string> =>
  backup === undefined ? [] : [`Copy of the old file: ${backup}`]
