import * as Effect from "effect/Effect"
import * as Path from "node:path"
import type { FileStamp } from "../../model/File.ts"
import type { SkipReason, WalkEvent, WalkOptions } from "../WalkEvent.ts"
import { DiskFailure, type Entry, inWords, type Reading } from "./Disk.ts"
import { type Folder, join, unreadable } from "./folder.ts"
import { generated } from "./generated.ts"
import { type Glob, patterns } from "./patterns.ts"
import type { Root } from "./roots.ts"
import { enter, verdictOn } from "./scope.ts"
import { isWithin, type Seen } from "./seen.ts"

/** A symbolic link, to be followed after everything at its own place has been walked. */
export interface Link {
  readonly folder: Folder
  readonly name: string
}

/** What a name is: something to report, or a folder to enter. */
export type Found = WalkEvent | { readonly _tag: "Folder"; readonly folder: Folder }

/** Decides on each entry of a folder. */
export class Sorter {
  readonly #disk: Reading
  readonly #seen: Seen
  readonly #links: Array<Link>
  readonly #include: Glob | undefined
  readonly #exclude: Glob

  constructor(disk: Reading, seen: Seen, links: Array<Link>, { exclude = [], include = [] }: WalkOptions) {
    this.#disk = disk
    this.#seen = seen
    this.#links = links
    this.#include = include.some((pattern) => pattern.trim() !== "") ? patterns(include) : undefined
    this.#exclude = patterns(exclude)
  }

  /** Decides on a folder's names, in order; links are deferred. */
  sort(folder: Folder, names: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Found>> {
    return Effect.map(this.#disk.look(names.map((name) => join(folder.path, name))), (entries) =>
      entries.flatMap((entry, i) => {
        const found = this.#decide(folder, names[i]!, entry)
        return found === undefined ? [] : [found]
      })
    )
  }

  /** A given file is read whatever hides it elsewhere; only the given globs apply. */
  given({ path, real, stamp }: Root & { readonly stamp: FileStamp }): Array<WalkEvent> {
    const name = Path.basename(path)
    if (this.#exclude(name, name, false) || this.#include?.(name, name, false) === false) {
      return [{ _tag: "Skipped", path, reason: "excluded" }]
    }
    return this.#seen.take(real) ? [{ _tag: "File", path, size: stamp.size, stamp, root: path }] : []
  }

  /** Decides on a link's target. */
  follow({ folder, name }: Link): Effect.Effect<Found> {
    const path = join(folder.path, name)
    return Effect.all([this.#disk.follow(path), this.#disk.real(path)]).pipe(
      Effect.map(([entry, real]) => this.#followed(folder, name, entry, real)),
      Effect.catchAll((failure) =>
        Effect.succeed<WalkEvent>({
          _tag: "Unreadable",
          path,
          reason: failure.code === "ENOENT" ? "a link to nothing" : inWords(failure)
        })
      )
    )
  }

  #decide(folder: Folder, name: string, entry: Entry | DiskFailure): Found | undefined {
    const path = join(folder.path, name)
    if (entry instanceof DiskFailure) {
      if (entry.code !== "ENOENT") return unreadable(path, entry)
      // Names come as text, and one that is not UTF-8 does not lead back to its file. Others have gone meanwhile.
      return name.includes("\ufffd") ? { _tag: "Unreadable", path, reason: "its name is not UTF-8" } : undefined
    }
    const isFolder = entry.type === "folder"
    const real = join(folder.real, name)
    const reason = this.#whyNot(folder, name, isFolder) ?? (entry.type === "special" ? "special" : undefined)
    if (reason !== undefined) {
      if (isFolder) this.#seen.passOver(real)
      return { _tag: "Skipped", path, reason }
    }
    if (entry.type === "link") {
      this.#links.push({ folder, name })
      return undefined
    }
    if (isFolder) {
      return this.#seen.wasStarted(real) ? undefined : { _tag: "Folder", folder: this.#within(folder, name, real) }
    }
    const byName = this.#byName(folder, name)
    if (byName !== undefined) return { _tag: "Skipped", path, reason: byName }
    if (this.#seen.wasTaken(real)) return undefined
    return { _tag: "File", path, size: entry.size, stamp: entry.stamp, root: folder.root }
  }

  #followed(folder: Folder, name: string, { size, stamp, type }: Entry, real: string): Found {
    const path = join(folder.path, name)
    const skipped = (reason: SkipReason): WalkEvent => ({ _tag: "Skipped", path, reason })
    if (type === "folder") {
      const reason = this.#whyNot(folder, name, true)
      if (reason !== undefined) return skipped(reason)
      const leadsUp = this.#seen.holdsRoot(real) || isWithin(folder.real, real)
      if (leadsUp || this.#seen.covers(real) || !this.#seen.start(real)) return skipped("link")
      return { _tag: "Folder", folder: this.#within(folder, name, real) }
    }
    if (type !== "file") return skipped("special")
    const byName = this.#byName(folder, name)
    if (byName !== undefined) return skipped(byName)
    if (this.#seen.covers(Path.dirname(real)) || !this.#seen.take(real)) return skipped("link")
    return { _tag: "File", path, size, stamp, root: folder.root }
  }

  #whyNot(folder: Folder, name: string, isFolder: boolean): SkipReason | undefined {
    const reason = verdictOn(folder.scope, name, isFolder)
    return reason ?? (this.#exclude(folder.below + name, name, isFolder) ? "excluded" : undefined)
  }

  /** A file whose own name is included is read, even if a program wrote it. */
  #byName(folder: Folder, name: string): SkipReason | undefined {
    if (this.#include?.(folder.below + name, name, false) === true) return undefined
    return folder.included || this.#include === undefined ? generated(name) : "excluded"
  }

  #within(folder: Folder, name: string, real: string): Folder {
    const below = folder.below + name
    return {
      root: folder.root,
      path: join(folder.path, name),
      real,
      below: `${below}/`,
      scope: enter(folder.scope, name),
      included: folder.included || this.#include?.(below, name, true) === true
    }
  }
}
