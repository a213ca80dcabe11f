import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import type { WalkEvent, WalkOptions } from "../../../src/files/WalkEvent.ts"
import { walk } from "../../../src/files/Walker.ts"
import { temporaryFolder } from "../../folder.ts"

/** A temporary folder with these files; a name that ends in `/` is an empty folder. */
export const tree = (files: Readonly<Record<string, string>>) =>
  Effect.tap(temporaryFolder, (root) =>
    Effect.sync(() => {
      for (const [name, text] of Object.entries(files)) {
        const path = Path.join(root, name)
        Fs.mkdirSync(name.endsWith("/") ? path : Path.dirname(path), { recursive: true })
        if (!name.endsWith("/")) Fs.writeFileSync(path, text)
      }
    })
  )

export const walked = (options: WalkOptions): Effect.Effect<ReadonlyArray<WalkEvent>> =>
  Effect.map(Stream.runCollect(walk(options)), Chunk.toReadonlyArray)

/** The files of a walk, from `root`, in their order. */
export const filesBelow = (root: string, events: ReadonlyArray<WalkEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => (event._tag === "File" ? [Path.relative(root, event.path)] : []))

/** What was passed over, as `reason path`. */
export const skippedBelow = (root: string, events: ReadonlyArray<WalkEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => (event._tag === "Skipped" ? [`${event.reason} ${Path.relative(root, event.path)}`] : []))

export const git = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-c", "core.excludesFile=/dev/null", ...args], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: folder, GIT_CONFIG_NOSYSTEM: "1" },
    stdio: ["ignore", "pipe", "pipe"]
  })
