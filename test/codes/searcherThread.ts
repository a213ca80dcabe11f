import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { parentPort, workerData } from "node:worker_threads"
import type { CacheHandle } from "../../src/codes/BlockCache.ts"
import { Scanner } from "../../src/codes/Scanner.ts"
import { connect } from "../../src/Store/sqlite/connect.ts"
import { transaction } from "../../src/Store/sqlite/client.ts"
import { codesOn } from "../../src/Store/sql/codes.ts"

const port = parentPort!

const { arena, filename, number, stop, width } = workerData as {
  readonly filename: string
  readonly arena: CacheHandle
  readonly width: number
  /** First whether to stop, then of each thread how often it has searched. */
  readonly stop: Int32Array
  readonly number: number
}

/** Searches again and again, and tells of the first snapshot in which the codes are not those of the vectors. */
const searching = Effect.gen(function* () {
  const sql = yield* connect({ filename, mode: "readonly" })
  const codes = new Scanner(arena)
  const query = new Float32Array(width).fill(1)
  const states = new Set<string>()
  port.postMessage("ready")
  for (;;) {
    const last = Atomics.load(stop, 0) === 1
    const [found, stored] = yield* transaction(
      sql,
      "BEGIN"
    )(
      Effect.gen(function* () {
        const found = yield* codes.nearest(codesOn(sql), 1, query, { wanted: 20_000, mask: undefined })
        const rows = yield* sql.unsafe<{ readonly id: number }>(
          "SELECT passage_id AS id FROM vectors_1 ORDER BY passage_id"
        )
        return [[...Option.getOrThrow(found)].join(), rows.map(({ id }) => id).join()] as const
      })
    )
    if (found !== stored) return { states: states.size, wrong: [found, stored] }
    states.add(found)
    Atomics.add(stop, number, 1)
    if (last) return { states: states.size, wrong: undefined }
  }
}).pipe(Effect.scoped)

void Effect.runPromise(searching).then((found) => port.postMessage(found))
