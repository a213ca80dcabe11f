import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { WalkEvent, WalkOptions } from "../WalkEvent.ts"
import { Disk } from "./Disk.ts"
import { type Folder, open, type Opened, scopeAbove } from "./folder.ts"
import { resolve } from "./roots.ts"
import { Seen } from "./seen.ts"
import { type Found, type Link, Sorter } from "./Sorter.ts"

/** Entries checked together. */
const batch = 128
/** Folders opened ahead: enough to keep the disk busy, few enough to hold. */
const ahead = 8
/** Events emitted together. */
const handful = 256

/** A folder on the way down, with the results of its last batch of names. */
interface Frame extends Opened {
  next: number
  found: ReadonlyArray<Found>
  turn: number
  readonly opened: Map<Found, Opened>
}

const frame = (opened: Opened): Frame => ({ ...opened, next: 0, found: [], turn: 0, opened: new Map() })

/** All events of a walk; see `walk`. */
export const events = (options: WalkOptions): Stream.Stream<WalkEvent> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const disk = yield* Disk
      const roots = yield* resolve(disk, options.paths)
      const seen = new Seen(roots.folders.map(({ real }) => real))
      const links: Array<Link> = []
      const sorter = new Sorter(disk, seen, links, options)
      const stack: Array<Frame> = []
      let root = 0
      let link = 0

      const push = (opened: Opened, out: Array<WalkEvent>) => {
        out.push(...opened.events)
        stack.push(frame(opened))
      }

      const openNext = Effect.fnUntraced(function* (top: Frame) {
        const next: Array<Found & { readonly _tag: "Folder" }> = []
        for (let i = top.turn; i < top.found.length && next.length < ahead; i++) {
          const found = top.found[i]!
          if (found._tag === "Folder") next.push(found)
        }
        const opened = yield* Effect.forEach(next, ({ folder }) => open(disk, folder), { concurrency: ahead })
        for (const [i, found] of next.entries()) top.opened.set(found, opened[i]!)
      })

      /** Advances one step in the deepest folder. */
      const advance = Effect.fnUntraced(function* (top: Frame, out: Array<WalkEvent>) {
        const found = top.found[top.turn]
        if (found === undefined) {
          if (top.next >= top.names.length) return void stack.pop()
          top.found = yield* sorter.sort(top.folder, top.names.slice(top.next, top.next + batch))
          top.next += batch
          top.turn = 0
        } else if (found._tag === "Folder") {
          if (!top.opened.has(found)) yield* openNext(top)
          const opened = top.opened.get(found)!
          top.opened.delete(found)
          top.turn++
          push(opened, out)
        } else {
          top.turn++
          out.push(found)
        }
      })

      const startRoot = Effect.fnUntraced(function* (path: string, real: string, out: Array<WalkEvent>) {
        if (seen.covers(real) || !seen.start(real)) return
        const { events: problems, scope } = yield* scopeAbove(disk, real)
        out.push(...problems)
        const folder: Folder = { root: path, path, real, below: "", scope, included: false }
        push(yield* open(disk, folder), out)
      })

      const followLink = Effect.fnUntraced(function* (each: Link, out: Array<WalkEvent>) {
        const found = yield* sorter.follow(each)
        if (found._tag === "Folder") push(yield* open(disk, found.folder), out)
        else out.push(found)
      })

      const step = Effect.gen(function* () {
        const out: Array<WalkEvent> = []
        while (out.length < handful) {
          const top = stack.at(-1)
          if (top !== undefined) yield* advance(top, out)
          else if (root < roots.folders.length) {
            const { path, real } = roots.folders[root++]!
            yield* startRoot(path, real, out)
          } else if (link < links.length) yield* followLink(links[link++]!, out)
          else break
        }
        return out.length === 0 ? yield* Effect.fail(Option.none()) : Chunk.unsafeFromArray(out)
      })

      const given = roots.files.flatMap((file): Array<WalkEvent> => sorter.given(file))
      return Stream.concat(Stream.fromIterable([...roots.problems, ...given]), Stream.repeatEffectChunkOption(step))
    })
  )
