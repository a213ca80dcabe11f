import type * as Path from "@effect/platform/Path"
import { findKey, sections, type KeyPath } from "./Settings.ts"

/** Where a value came from: `name` is the file, the variable or the flag. */
export interface Origin {
  readonly kind: "default" | "file" | "environment" | "flag"
  readonly name: string
}

export const describeOrigin = ({ kind, name }: Origin): string =>
  kind === "environment" ? `environment variable ${name}` : kind === "flag" ? `flag ${name}` : name

export type Table = Record<string, unknown>

export const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** A value that counts no more, since a flag or the environment has another. */
interface Shadowed {
  readonly key: KeyPath
  readonly value: unknown
  readonly origin: Origin
}

/** Plain data in TOML's shape, and where each key came from. */
export interface Tree {
  readonly data: Table
  readonly origins: Map<string, Origin>
  readonly shadowed: Array<Shadowed>
}

// Without a prototype, a key named __proto__ is a key like any other.
const table = (): Table => Object.create(null) as Table

export const empty = (): Tree => {
  const data = table()
  for (const section of sections) data[section] = table()
  return { data, origins: new Map(), shadowed: [] }
}

/** Sets one known key, overriding an earlier value. */
export const set = (tree: Tree, path: KeyPath, value: unknown, origin: Origin): void => {
  const key = findKey(path)
  const target = key?.section === undefined ? tree.data : tree.data[key.section]
  // Decoding reports a section that is not a table.
  if (key === undefined || !isTable(target)) return
  const before = tree.origins.get(path)
  if (before !== undefined && before.kind !== "default") {
    tree.shadowed.push({ key: path, value: target[key.name], origin: before })
  }
  target[key.name] = value
  tree.origins.set(path, origin)
}

/** Overrides earlier values with a file's content, known keys or not. */
export const overlay = (tree: Tree, content: Table, origin: Origin): void => {
  for (const [name, value] of Object.entries(content)) {
    const section = tree.data[name]
    tree.origins.set(name, origin)
    if (!isTable(section) || !isTable(value)) {
      tree.data[name] = value
      continue
    }
    for (const [key, inner] of Object.entries(value)) {
      section[key] = inner
      tree.origins.set(`${name}.${key}`, origin)
    }
  }
}

interface Places {
  readonly path: Path.Path
  readonly cwd: string
  readonly home: string | undefined
}

/**
 * The absolute path: `~/` is the home folder; a relative path is relative to the file that contains it, else to the
 * working directory.
 */
export const resolvePath = ({ cwd, home, path }: Places, value: string, origin: Origin): string => {
  if (value === "" || (value.startsWith("~") && home === undefined)) return value
  if (value === "~" || value.startsWith("~/")) return path.join(home ?? "", value.slice(1))
  return value.startsWith("~") ? value : path.resolve(origin.kind === "file" ? path.dirname(origin.name) : cwd, value)
}

/** Makes the paths in the tree absolute. A model is a path for builtin and onnx; for auto, if it looks like one. */
export const resolvePaths = (tree: Tree, places: Places): void => {
  const { embedding, rerank, server, store, watch } = tree.data
  const resolveAt = (at: unknown, name: string, path: KeyPath) => {
    const origin = tree.origins.get(path)
    const value = isTable(at) ? at[name] : undefined
    if (!isTable(at) || !origin) return
    if (typeof value === "string") at[name] = resolvePath(places, value, origin)
    else if (Array.isArray(value)) {
      at[name] = value.map((each: unknown) => (typeof each === "string" ? resolvePath(places, each, origin) : each))
    }
  }
  resolveAt(store, "path", "store.path")
  resolveAt(store, "judgements", "store.judgements")
  resolveAt(store, "ca", "store.ca")
  resolveAt(watch, "paths", "watch.paths")
  resolveAt(server, "write_paths", "server.write_paths")
  if (isTable(rerank) && rerank["backend"] === "onnx") resolveAt(rerank, "model", "rerank.model")
  if (!isTable(embedding)) return
  const backend = embedding["backend"] ?? "auto"
  const looksLikePath = /^(\.\.?[\\/]|~[\\/]|[\\/])/.test(String(embedding["model"] ?? ""))
  const isPath = backend === "builtin" || backend === "onnx"
  if (isPath || (backend === "auto" && looksLikePath)) resolveAt(embedding, "model", "embedding.model")
}
