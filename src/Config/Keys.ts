import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { fields, type KeyPath } from "./Settings.ts"
import { about, type Kind } from "./Value.ts"

/** A key as users see it; errors and documents use the same words. */
export interface Key {
  readonly path: KeyPath
  readonly section: string | undefined
  readonly name: string
  /** The environment variable that sets it. */
  readonly variable: string
  readonly kind: Kind
  readonly allowed: string
  readonly description: string
}

const toKey = (section: string | undefined, field: Schema.PropertySignature.All, tsName: string): Key => {
  const { ast } = field
  const outer = ast._tag === "PropertySignatureTransformation" ? ast.from : ast
  const name = String(("fromKey" in outer ? outer.fromKey : undefined) ?? tsName)
  return {
    path: (section === undefined ? name : `${section}.${name}`) as KeyPath,
    section,
    name,
    variable: `CLEW_${section === undefined ? "" : `${section}_`}${name}`.toUpperCase(),
    description: Option.getOrElse(SchemaAST.getDescriptionAnnotation(outer.type), () => ""),
    ...about(outer.type)
  }
}

const toKeys = (section: string | undefined, of: Readonly<Record<string, Schema.PropertySignature.All>>) =>
  Object.entries(of).map(([tsName, field]) => toKey(section, field, tsName))

/** Every key there is, in the order of the documents: those without a section first. */
export const keys: ReadonlyArray<Key> = [
  ...toKeys(undefined, fields.top),
  ...Object.entries(fields.sections).flatMap(([section, of]) => toKeys(section, of))
]

export const sections: ReadonlyArray<string> = Object.keys(fields.sections)

const byPath = new Map<string, Key>(keys.map((key) => [key.path, key]))

export const findKey = (path: string): Key | undefined => byPath.get(path)
