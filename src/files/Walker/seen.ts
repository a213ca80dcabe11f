import * as Path from "node:path"

/** What a walk has been to, by paths without links, so that it goes nowhere twice. Its size is that of the exceptions. */
export class Seen {
  readonly #walked = new Set<string>()
  readonly #passedOver = new Set<string>()
  readonly #files = new Set<string>()
  readonly #roots: ReadonlyArray<string>

  constructor(roots: ReadonlyArray<string>) {
    this.#roots = roots
  }

  /** Starts on a folder; false when a walk has started there before. */
  start(folder: string): boolean {
    if (this.#walked.has(folder)) return false
    this.#walked.add(folder)
    return true
  }

  /** Whether the walk of some other folder started here. */
  wasStarted(folder: string): boolean {
    return this.#walked.has(folder)
  }

  passOver(folder: string): void {
    this.#passedOver.add(folder)
  }

  /** Whether the walk of a folder above it went, or goes, through this one. */
  covers(folder: string): boolean {
    for (let at = folder; ; at = Path.dirname(at)) {
      if (this.#passedOver.has(at)) return false
      if (this.#walked.has(at)) return true
      if (at === Path.dirname(at)) return false
    }
  }

  /** Whether a folder has a root within it, so that following a link to it would be going back up. */
  holdsRoot(folder: string): boolean {
    return this.#roots.some((root) => isWithin(root, folder))
  }

  /** Takes a file that was reached by its own path or by a link; false when it was taken so before. */
  take(file: string): boolean {
    if (this.#files.has(file)) return false
    this.#files.add(file)
    return true
  }

  wasTaken(file: string): boolean {
    return this.#files.has(file)
  }
}

export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(Path.sep) ? folder : folder + Path.sep)
