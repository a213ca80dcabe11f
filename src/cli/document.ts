import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fs from "node:fs"
import * as path from "node:path"
import { Collections } from "../Collections.ts"
import type { CollectionName } from "../model/Collection.ts"
import { whyPassedOver } from "../files/Walker.ts"
import { documentsEnding, similarSources } from "../filterHint.ts"
import { find } from "../find.ts"
import { isBelow } from "../files/below.ts"
import { referencesIn } from "../model/Locator.ts"
import { Store } from "../Store.ts"
import { recorded } from "../Why.ts"
import { notFound } from "./exit.ts"
import { Place, displayPath } from "./engine.ts"

/** How many documents a message names if several match. */
const named = 5

/** The document with a source (a relative path or as stored), an id, or the end of a source. */
export const lookFor = Effect.fnUntraced(function* (source: string, collection: CollectionName | undefined) {
  const { cwd } = yield* Place
  const collections = yield* (yield* Collections).among(collection)
  const names = [...new Set([path.resolve(cwd, source), source])]
  for (const { name } of collections) {
    for (const each of names) {
      const found = yield* find([name], { source: each })
      if (found !== undefined) return [{ ...found, source }]
    }
  }
  return yield* documentsEnding(
    collections.map(({ name }) => name),
    source,
    named + 1
  )
})

/** Why a file is not in the index, as far as recorded runs or the disk tell. */
export const notIndexed = Effect.fnUntraced(function* (source: string, collection: CollectionName | undefined) {
  const { cwd } = yield* Place
  const file = path.resolve(cwd, source)
  const all = (yield* (yield* Collections).among(collection)).map(({ name }) => name)
  const known = yield* recorded(all, file)
  if (known !== undefined) return known
  // What cannot be looked at, such as a name that is too long, is not there either.
  const found = yield* Effect.option(Effect.try(() => fs.statSync(file)))
  if (Option.isNone(found)) {
    const [near] = yield* similarSources(all, source)
    const meant = near === undefined ? "" : ` (did you mean ${displayPath(cwd, near.source)}?)`
    return `there is no such document and no such file${meant}; clew list shows all documents`
  }
  if (found.value.isDirectory()) return `it is a folder; clew list ${source} names the documents in it`
  return yield* unmet(file, collection)
})

/** Why no run has met a file that exists. */
const unmet = Effect.fnUntraced(function* (file: string, collection: CollectionName | undefined) {
  const { cwd } = yield* Place
  const store = yield* Store
  for (const { name } of yield* (yield* Collections).among(collection)) {
    for (const { include, path: root } of yield* store.roots(name)) {
      if (!isBelow(file, [root])) continue
      const reason = yield* whyPassedOver(root, include)(file)
      return reason === undefined
        ? `it was missing or skipped when ${displayPath(cwd, root)} was indexed: clew index ${displayPath(cwd, file)} indexes it`
        : `skipped below ${displayPath(cwd, root)}: ${reason}`
    }
  }
  return `neither the file nor a folder above it was indexed: clew index ${displayPath(cwd, file)} indexes it`
})

/** What is found for `SOURCE`, `SOURCE:LINE`, `SOURCE:LINE:COLUMN` or `SOURCE#PLACE`, the source in it, and the place. */
export const lookForCited = Effect.fnUntraced(function* (given: string, collection: CollectionName | undefined) {
  const [first, ...others] = referencesIn(given)
  let cited = { ...first, found: yield* lookFor(first.source, collection) }
  for (const other of others) {
    // A source may itself end like a place.
    if (cited.found.length === 0) cited = { ...other, found: yield* lookFor(other.source, collection) }
  }
  return cited
})

/** The one document that is cited, and the place; if there is none or more than one, fails with what there is. */
export const theCited = Effect.fnUntraced(function* (given: string, collection: CollectionName | undefined) {
  const { cited, found, source } = yield* lookForCited(given, collection)
  return { ...(yield* theOne(found, source, collection)), cited }
})

/** The one document that was found for a source; if there is none or more than one, fails with what there is. */
export const theOne = Effect.fnUntraced(function* (
  found: Effect.Effect.Success<ReturnType<typeof lookFor>>,
  source: string,
  collection: CollectionName | undefined
) {
  const [only] = found
  if (found.length === 1 && only !== undefined) return only
  const { cwd } = yield* Place
  return yield* notFound(
    found.length === 0
      ? `${source} is not indexed: ${yield* notIndexed(source, collection)}`
      : `several documents end in ${JSON.stringify(source)}: ${found
          .slice(0, named)
          .map((each) => `${displayPath(cwd, each.source)} (${each.collection})`)
          .join(", ")}`
  )
})
