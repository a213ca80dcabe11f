import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Store } from "../../Store.ts"
import type { FileEvent } from "../FileEvent.ts"
import { isBelow } from "../below.ts"
import { type Lost, lost } from "./lost.ts"

/**
 * Forgets lost files and names them, except below a path with fewer than half of its files of the last run: an empty
 * mount point looks like a folder whose files were all deleted. Files moved within the path do not count as missing,
 * since as many new ones appear.
 */
export const holdingLosses = <E>(
  store: typeof Store.Service,
  run: Parameters<typeof lost>[1],
  forget: (files: Chunk.Chunk<Lost>) => Effect.Effect<FileEvent, E>
) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const counts = new Map<string, { known: number; fresh: number }>()
      const count = (root: string, known: number, fresh: number) => {
        const sum = counts.get(root)
        counts.set(root, { known: known + (sum?.known ?? 0), fresh: fresh + (sum?.fresh ?? 0) })
      }
      const losses = Chunk.toReadonlyArray(yield* Stream.runCollect(lost(store, { ...run, count })))
      const held: Array<Extract<FileEvent, { readonly _tag: "Held" }>> = []
      for (const [path, { fresh, known }] of counts) {
        const gone = losses.filter((file) => file.reason === "gone" && isBelow(file.path, [path])).length
        const before = known - fresh
        if (gone > 0 && (known - gone) * 2 < before) held.push({ _tag: "Held", path, files: before, gone })
      }
      const roots = held.map(({ path }) => path)
      const given = losses.filter(({ path }) => !isBelow(path, roots))
      return Stream.concat(
        Stream.fromIterable<FileEvent>(held),
        Stream.fromIterable(given).pipe(
          Stream.grouped(100),
          Stream.mapEffect((files) =>
            Effect.map(forget(files), (pruned) =>
              Chunk.append(
                Chunk.map(files, (file): FileEvent => ({ _tag: "Lost", ...file })),
                pruned
              )
            )
          ),
          Stream.flattenChunks
        )
      )
    })
  )
