import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { printJson } from "../output.ts"
import { Place } from "../place.ts"
import { Terminal } from "../terminal.ts"
import { type Client, type ClientName, clients, type Scope, scopesOf } from "./clients.ts"
import { entryIn, hasEntry } from "./Format.ts"
import { dropEntry, unreadable } from "./formats.ts"
import { asItWas, InstallReport } from "./report.ts"
import { read, replace } from "./write.ts"

/** Removes an entry from a client's file and leaves everything else; if there is none, says so. */
export const uninstall = (clientName: ClientName, scope: Scope, file: string, name: string, onlyPrint: boolean) =>
  Effect.gen(function* () {
    const client: Client = clients[clientName]
    const { globals } = yield* Place
    const { note, print } = yield* Terminal
    const refused = (why: string) => unreadable(file, why, `remove ${client.section}.${name} by hand`)
    const before = (yield* read(file)) ?? ""
    const root = yield* Effect.mapError(client.format.read(before), refused)
    const there = hasEntry(root, client.section, name)
    const entry = there ? yield* client.format.alone(client.section, name, entryIn(root, client.section, name)) : ""
    const report = { client: clientName, scope, file, entry, removed: there && !onlyPrint }
    if (!there) {
      if (globals.json) return yield* printJson(InstallReport, { ...report, written: false })
      const others = scopesOf(client).filter((other) => other !== scope)
      return yield* print(
        [
          `${client.title} has no server ${name} in ${file}: there is nothing to remove`,
          ...others.map((other) => `--scope ${other} looks in its other file`)
        ].join("\n")
      )
    }
    if (onlyPrint) {
      if (globals.json) return yield* printJson(InstallReport, { ...report, written: false })
      yield* note(`In ${file}:`)
      return yield* print(entry)
    }
    const after = yield* Effect.mapError(dropEntry(client.format, before, client.section, name), refused)
    const backup = yield* replace(file, after, yield* Clock.currentTimeMillis)
    if (globals.json) {
      return yield* printJson(InstallReport, { ...report, written: true, ...(backup === undefined ? {} : { backup }) })
    }
    yield* print([`${client.title} no longer has ${name}, in ${file}`, ...asItWas(backup)].join("\n"))
  })
