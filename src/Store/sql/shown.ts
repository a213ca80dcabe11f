import type * as SqlClient from "@effect/sql/SqlClient"
import type { Shown } from "../../ranking/Snapshot.ts"
import { knownOf } from "./unchanged.ts"

/** Characters of passages that are kept, and about what one takes besides: some three thousand passages. */
const mostCharacters = 6_000_000
const beside = 700

/** Passages as they are shown, the oldest of which give way. */
export class KeptShown {
  private readonly kept = new Map<number, Shown>()
  private characters = 0

  get(passage: number): Shown | undefined {
    return this.kept.get(passage)
  }

  add(passage: number, shown: Shown): void {
    this.kept.set(passage, shown)
    this.characters += sizeOf(shown)
    for (const [oldest, other] of this.kept) {
      if (this.characters <= mostCharacters) break
      this.kept.delete(oldest)
      this.characters -= sizeOf(other)
    }
  }
}

const sizeOf = ({ hit }: Shown): number => beside + hit.passage.text.length

/** Those that were read of the database until somebody writes; undefined: it is not being read. */
export const keptShown = (sql: SqlClient.SqlClient): KeptShown | undefined => {
  const known = knownOf(sql)
  if (known === undefined) return undefined
  const kept = (known.get("shown") as KeptShown | undefined) ?? new KeptShown()
  known.set("shown", kept)
  return kept
}
