import * as Arr from "effect/Array"
import type { IndexedRoot } from "../model/File.ts"
import { isWithinAnother } from "./below.ts"

/** Paths with the same globs share one run, so that a file below two of them is met once. */
export const alike = <Root extends IndexedRoot>(roots: ReadonlyArray<Root>) =>
  Object.values(Arr.groupBy(roots, ({ exclude, include }) => JSON.stringify([include, exclude])))

/** The paths without those that are gone from another of them, whose run tells of it. */
export const withoutGone = (paths: ReadonlyArray<string>, there: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.filter((path) => there.includes(path) || !isWithinAnother(path, there))
