import * as Effect from "effect/Effect"
import { checked } from "../crc.ts"
import { inList, list, column, first } from "../sql/rows.ts"
import { type Scoring, inMemory, makeMemory } from "../sql/scoring.ts"
import { vectorTable } from "../sql/vectorTable.ts"

interface Row {
  readonly passage_id: number
  readonly vector: Uint8Array
  readonly crc: number | null
}

/** Bytes of vectors that a process holds, of each width. */
const heldBytes = 256 * 1024 * 1024

/**
 * Scores vectors in this process. In an era (`lives.ts`), a vector never changes under its set and passage, so those read
 * before are kept, the last read ones of them; each is compared with its checksum when it is read.
 */
export const makeScoring = (memory: ReturnType<typeof makeMemory>, era: () => number): Scoring =>
  inMemory(
    {
      state: () => true,
      setOf: (sql, collection) =>
        Effect.map(
          first<number>(sql, "SELECT id FROM vector_sets WHERE collection_id = ? AND generation = 'current'", [
            collection
          ]),
          (set = 0) => era() * 2 ** 32 + set
        ),
      some: (sql, collection, passages, use) =>
        Effect.map(
          sql.unsafe<Row>(
            `SELECT passage_id, vector, crc FROM ${vectorTable(sql).of(collection)} AS v WHERE passage_id ${inList}`,
            [list(passages)]
          ),
          (rows) => {
            for (const { crc, passage_id: id, vector } of rows) {
              use(
                id,
                checked(vector, crc, () => `the vector of passage ${id}`, id)
              )
            }
          }
        ),
      whole: (sql, collection) => column(sql, `SELECT passage_id FROM ${vectorTable(sql).of(collection)} AS v`)
    },
    heldBytes,
    memory
  )
