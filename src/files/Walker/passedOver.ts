import * as Effect from "effect/Effect"
import * as Path from "node:path"
import type { SkipReason } from "../WalkEvent.ts"
import { Disk, type Reading } from "./Disk.ts"
import { found, scopeAbove } from "./folder.ts"
import { generated } from "./generated.ts"
import { patterns } from "./patterns.ts"
import { emptyScope, enter, extend, type Scope, verdictOn } from "./scope.ts"

interface Judged {
  readonly scope: Scope
  readonly reason: SkipReason | undefined
}

const judgeFolder = Effect.fnUntraced(function* (disk: Reading, scope: Scope, folder: string) {
  return { scope: extend(scope, yield* found(disk, folder)), reason: undefined } satisfies Judged
})

/**
 * Why a walk from the root skips a file below it, by names and ignore files alone; undefined if it does not. The function
 * reads each ignore file once.
 */
export const whyPassedOver = (
  root: string,
  include: ReadonlyArray<string>
): ((path: string) => Effect.Effect<SkipReason | undefined>) => {
  const folders = new Map<string, Judged>()
  const included = patterns(include)

  const judged = Effect.fnUntraced(function* (disk: Reading, folder: string) {
    const real = yield* Effect.orElseSucceed(disk.real(root), () => root)
    let at = root
    let current = folders.get(root)
    if (current === undefined) {
      current = yield* judgeFolder(disk, (yield* scopeAbove(disk, real)).scope, root)
      folders.set(root, current)
    }
    for (const name of Path.relative(root, folder).split(Path.sep)) {
      if (name === "" || name === "..") break
      at = Path.join(at, name)
      let next = folders.get(at)
      if (next === undefined) {
        const reason: SkipReason | undefined = current.reason ?? verdictOn(current.scope, name, true)
        next =
          reason === undefined
            ? yield* judgeFolder(disk, enter(current.scope, name), at)
            : { scope: emptyScope, reason }
        folders.set(at, next)
      }
      current = next
    }
    return current
  })

  return Effect.fnUntraced(function* (path: string) {
    if (path === root) return undefined
    const name = Path.basename(path)
    const { reason, scope } = yield* judged(yield* Disk, Path.dirname(path))
    if (reason !== undefined) return reason
    return (
      verdictOn(scope, name, false) ?? (included(Path.relative(root, path), name, false) ? undefined : generated(name))
    )
  })
}
