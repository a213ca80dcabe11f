import * as Effect from "effect/Effect"
import { createHash, timingSafeEqual } from "node:crypto"
import { stat } from "node:fs/promises"
import type { Caller } from "../Caller.ts"
import { type KeysFile, ServerConfig } from "../Config.ts"
import type { ServerKey } from "../model/Key.ts"

/** Digests have one length, so that comparing them takes the same time for any token. */
export const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

interface Known {
  readonly hash: Buffer
  readonly caller: Caller
}

const known = ({ collections, hash, name, rights }: ServerKey): Known => ({
  hash: Buffer.from(hash.slice("sha256:".length), "hex"),
  caller: { name, who: name, rights: new Set(rights), collections: collections && new Set<string>(collections) }
})

/** What tells a file's states apart; undefined if it cannot be looked at. */
const stampOf = (path: string) =>
  Effect.promise(() =>
    stat(path, { bigint: true }).then(
      ({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`,
      () => undefined
    )
  )

/**
 * Whose key a token is. The configuration's file is looked at once a second, when a token comes, and its keys are read
 * again if it has changed; while it is wrong, the keys before count.
 */
export const makeKeys = Effect.gen(function* () {
  const { keys, keysFile } = yield* ServerConfig
  let now = keys.map(known)
  let isUsed = keys.length > 0
  let stamp = keysFile === undefined ? undefined : yield* stampOf(keysFile.path)

  const look = Effect.fnUntraced(function* ({ path, read }: KeysFile) {
    const seen = yield* stampOf(path)
    if (seen === undefined || seen === stamp) return
    stamp = seen
    yield* Effect.matchEffect(read, {
      onFailure: ({ message }) =>
        Effect.logWarning(`The keys before count, since the configuration is wrong: ${message}`),
      onSuccess: (keys) => {
        now = keys.map(known)
        isUsed ||= now.length > 0
        return Effect.logInfo(`server.keys was read again: ${keys.map(({ name }) => name).join(", ") || "no keys"}`)
      }
    })
  })
  const looked =
    keysFile === undefined
      ? Effect.void
      : // One caller that goes away would leave its interruption to all.
        yield* Effect.cachedWithTTL(Effect.uninterruptible(look(keysFile)), "1 second")

  return {
    /** Whether there are keys, or were: without them everybody would be let in. */
    isUsed: () => isUsed,
    /** Compares with every key, so that the time tells nothing. */
    callerOf: (token: string): Effect.Effect<Caller | undefined> =>
      Effect.map(looked, () => {
        const given = digest(token)
        return now.reduce<Caller | undefined>(
          (found, { caller, hash }) => (timingSafeEqual(given, hash) ? caller : found),
          undefined
        )
      }),
    /** Looks at the file if nobody has for a second. */
    looked
  }
})
