import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { existsSync } from "node:fs"
import { Collections } from "../Collections.ts"
import { FileIndexer } from "../files/FileIndexer.ts"
import { alike, withoutGone } from "../files/roots.ts"
import { Tally } from "../files/Tally.ts"
import { CollectionName } from "../model/Collection.ts"
import type { IndexedRoot } from "../model/File.ts"
import { Store } from "../Store.ts"
import { define } from "./command.ts"
import { Place, displayPath, inIndex } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { finish, IndexReport, showReport, showFailures, working } from "./indexing.ts"
import * as options from "./flags.ts"
import { printJson } from "./output.ts"
import { Terminal } from "./terminal.ts"

/** What `update --json` prints: the paths that were indexed again, and the report of each collection. */
export const UpdateReport = Schema.Struct({
  dry_run: Schema.Boolean,
  roots: Schema.Array(
    Schema.Struct({
      collection: CollectionName,
      path: Schema.String,
      include: Schema.Array(Schema.String),
      exclude: Schema.Array(Schema.String),
      missing: Schema.Boolean.annotations({ description: "It does not exist now; its documents were kept" })
    })
  ),
  reports: Schema.Array(IndexReport)
}).annotations({ identifier: "UpdateReport" })

export const update = define(
  {
    name: "update",
    summary: "Repeat every earlier index run, from any directory",
    flags: {
      collection: { ...options.collection, summary: "Update only this collection (default: all)" },
      prune: options.prune,
      rehash: options.rehash,
      dryRun: options.dryRun,
      quiet: options.quiet
    },
    examples: ["clew update", "clew update --collection notes --prune"],
    details: [
      "Indexes each path with its last --include and --exclude. If a path is missing, it is reported and its documents are kept, unless it was in another path; clew delete PATH removes them."
    ]
  },
  function* (flags) {
    const { cwd, globals } = yield* Place
    const { note } = yield* Terminal

    /** Indexes the paths of one collection. */
    const renew = Effect.fnUntraced(function* (collection: CollectionName, roots: ReadonlyArray<IndexedRoot>) {
      const files = yield* FileIndexer
      const tally = new Tally()
      const missing = new Set<string>()
      const given = new Set<string>()
      const started = yield* Clock.currentTimeMillis
      for (const group of alike(roots)) {
        const [{ exclude, include }] = group
        const all = group.map(({ path }) => path)
        const paths = withoutGone(all, all.filter(existsSync))
        for (const path of paths) given.add(path)
        const run = {
          collection,
          paths,
          include,
          exclude,
          prune: flags.prune,
          rehash: flags.rehash,
          dryRun: flags.dryRun
        }
        const work = Stream.runForEach(files.run(run), (event) =>
          Effect.sync(() => {
            tally.add(event)
            if (event._tag === "Failed" && event.line === undefined && given.has(event.path)) missing.add(event.path)
          })
        )
        yield* working(tally, run, { progress: !flags.quiet })(work)
      }
      const report = yield* finish(tally, { collection, dryRun: flags.dryRun }, started)
      const renewed = roots.filter(({ path }) => given.has(path))
      return { report, roots: renewed.map((root) => ({ ...root, collection, missing: missing.has(root.path) })) }
    })

    yield* inIndex(flags.dryRun ? "preview" : "change", function* () {
      const store = yield* Store
      const known = yield* Effect.forEach(yield* (yield* Collections).among(flags.collection), ({ name }) =>
        Effect.map(store.roots(name), (roots) => ({ name, roots }))
      )
      const done = yield* Effect.forEach(
        known.filter(({ roots }) => roots.length > 0),
        ({ name, roots }) => renew(name, roots)
      )
      const roots = done.flatMap((each) => each.roots)
      const reports = done.map(({ report }) => report)
      if (globals.json) yield* printJson(UpdateReport, { dry_run: flags.dryRun, roots, reports })
      else {
        for (const report of reports) {
          if (!flags.quiet) yield* showReport(report)
          yield* showFailures(report, cwd)
        }
        for (const { path } of roots.filter(({ missing }) => missing)) {
          yield* note(
            `The documents of ${displayPath(cwd, path)} were kept; if it is gone for good, remove them with clew delete`
          )
        }
      }
      if (roots.length === 0) {
        yield* note("clew: no path was indexed before; run clew index PATH first")
        return yield* stop(exitCode.nothingFound)
      }
      if (reports.some(({ failed }) => failed > 0)) yield* stop(exitCode.failed)
    })
  }
)
