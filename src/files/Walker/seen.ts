import * as Path from "node:path"

/** Where a walk has been, by paths without links, so that it goes nowhere twice. It stores only the exceptions. */
export class Seen {
  readonly #walked = new Set<string>()
  readonly #passedOver = new Set<string>()
  readonly #files = new Set<string>()
  readonly #roots: ReadonlyArray<string>

  constructor(roots: ReadonlyArray<string>) {
    this.#roots = roots
  }

  /** Starts a folder; false if a walk has already started there. */
  start(folder: string): boolean {
    if (this.#walked.has(folder)) return false
    this.#walked.add(folder)
    return true
  }

  /** Whether another folder's walk started here. */
  wasStarted(folder: string): boolean {
    return this.#walked.has(folder)
  }

  passOver(folder: string): void {
    this.#passedOver.add(folder)
  }

  /** Whether the walk of a folder above has passed, or will pass, through this one. */
  covers(folder: string): boolean {
    for (let at = folder; ; at = Path.dirname(at)) {
      if (this.#passedOver.has(at)) return false
      if (this.#walked.has(at)) return true
      if (at === Path.dirname(at)) return false
    }
  }

  /** Whether a folder contains a root, so that following a link to it would lead back up. */
  holdsRoot(folder: string): boolean {
    return this.#roots.some((root) => isWithin(root, folder))
  }

  /** Takes a file that was reached by its own path or by a link; false if already taken. */
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
