import ignore, { type Ignore } from "ignore"

export type Verdict = "ignored" | "included" | "none"

/** Answers cached before the cache is dropped: enough for a folder and its parents, little for a million files. */
const remembered = 10_000

const make = () => ignore({ ignorecase: false })

/** The rules of one ignore file for paths below its folder; a folder's path ends in `/`. */
export class Rules {
  readonly #rules: Ignore
  // The library caches every path forever, so throwaway copies are asked.
  #copy: Ignore
  #asked = 0

  private constructor(rules: Ignore) {
    this.#rules = rules
    this.#copy = make().add(rules)
  }

  static parse(text: string): Rules {
    return new Rules(make().add(text))
  }

  test(path: string): Verdict {
    if (++this.#asked > remembered) {
      this.#copy = make().add(this.#rules)
      this.#asked = 0
    }
    const { ignored, unignored } = this.#copy.test(path)
    return ignored ? "ignored" : unignored ? "included" : "none"
  }

  /**
   * The same rules within an ignored folder that is entered anyway, because other rules or the caller said so: its contents
   * are then judged by themselves.
   */
  entering(folder: string): Rules {
    if (this.test(folder) !== "ignored") return this
    const literal = `!/${folder.replace(/[\\*?[\]]/g, "\\$&")}`
    return new Rules(make().add(this.#rules).add({ pattern: literal }))
  }
}
