import * as JSONSchema from "effect/JSONSchema"
import type * as Schema from "effect/Schema"

/** A JSON Schema without references. */
export type Json = { readonly [key: string]: unknown }

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Noise for a model: titles that only name a check, like `between(1, 100)`, ids that would collide, generated names.
 */
const isNoise = (key: string, value: unknown): boolean =>
  key === "$id" ||
  key === "$schema" ||
  key === "pattern" ||
  (key === "required" && Array.isArray(value) && value.length === 0) ||
  (key === "not" && JSON.stringify(value) === '{"enum":[".",".."]}') ||
  (key === "title" && typeof value === "string" && /^(int|finite|unknown|nonEmptyString|\w+\(.*\))$/.test(value))

/**
 * The JSON Schema of the wire format. References are inlined, since many clients follow none, and `defaults` are added
 * to their properties.
 */
export const toJsonSchema = (schema: Schema.Schema.All, defaults: Readonly<Record<string, unknown>> = {}): Json => {
  const { $defs, ...root } = JSONSchema.make(schema as Schema.Schema<unknown, unknown>) as unknown as Json
  const definitions = isRecord($defs) ? $defs : {}

  const writeOut = (node: unknown, isNames = false): unknown => {
    if (Array.isArray(node)) return node.map((inner) => writeOut(inner))
    if (!isRecord(node)) return node
    const { $ref, ...own } = node
    const target = typeof $ref === "string" && !isNames ? definitions[$ref.replace("#/$defs/", "")] : undefined
    const entries = Object.entries(own)
      .filter(([key, value]) => isNames || !isNoise(key, value))
      .map(([key, value]) => [
        key,
        verbatim.has(key) && !isNames ? value : writeOut(value, key === "properties" && !isNames)
      ])
    return { ...(target === undefined ? {} : (writeOut(target) as Json)), ...Object.fromEntries(entries) }
  }

  const whole = writeOut(root) as Json
  const properties = isRecord(whole["properties"]) ? whole["properties"] : {}
  return {
    ...whole,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [
        name,
        name in defaults && isRecord(property) ? { ...property, default: defaults[name] } : property
      ])
    )
  }
}

/**
 * The names and types of the fields of every answer, without descriptions; of lists and objects only their kind.
 * Clients pay for every token of it in each conversation, and models read the answer itself.
 */
export const outline = (schema: Json, depth = 0): Json => {
  const { enum: values, items, properties, required, type } = schema
  if (type === "array") {
    return { type, ...(isRecord(items) && depth < 2 ? { items: outline(items, depth + 1) } : {}) }
  }
  if (type !== "object" || !isRecord(properties) || depth > 0) {
    return { ...(type === undefined ? {} : { type }), ...(values === undefined ? {} : { enum: values }) }
  }
  return {
    type,
    properties: Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => Array.isArray(required) && required.includes(name))
        .map(([name, property]) => [name, isRecord(property) ? outline(property, 1) : property])
    ),
    ...(required === undefined ? {} : { required })
  }
}

const verbatim = new Set(["examples", "default", "enum", "const", "required"])

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)

/** What a schema allows, in words: "an integer from 1 to 100". */
export const allowed = (schema: Json): string => {
  const { enum: values, maximum, maxItems, maxLength, minimum, minItems, minLength, type } = schema
  if (Array.isArray(values)) return `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`
  const range = (low: unknown, high: unknown, unit = "") =>
    low !== undefined && high !== undefined ? ` ${unit === "" ? "from" : "of"} ${low} to ${high}${unit}` : ""
  switch (type) {
    case "integer":
    case "number":
      return `${article(type)}${range(minimum, maximum)}`
    case "string":
      return `a string${range(minLength, maxLength, " characters")}`
    case "array":
      return `an array${range(minItems, maxItems, " items")}`
    case "boolean":
      return "true or false"
    case "object":
      return "an object"
    default:
      return typeof schema["description"] === "string"
        ? schema["description"].replace(/^[A-Z]/, (letter) => letter.toLowerCase())
        : "of another kind"
  }
}

/** The schema at a path; the walk ends at a choice of several schemas. */
export const schemaAt = (
  root: Json,
  path: ReadonlyArray<PropertyKey>
): { readonly schema: Json; readonly path: ReadonlyArray<PropertyKey> } => {
  let schema = root
  for (const [depth, key] of path.entries()) {
    const { additionalProperties, items, properties } = schema
    const next =
      typeof key === "number"
        ? items
        : isRecord(properties) && String(key) in properties
          ? properties[String(key)]
          : additionalProperties === true
            ? {}
            : additionalProperties
    if (!isRecord(next)) return { schema, path: path.slice(0, depth) }
    schema = next
  }
  return { schema, path }
}
