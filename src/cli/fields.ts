import * as Options from "@effect/cli/Options"
import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import { choice, either, type Flag, type FlagInfo, integer, number, repeated, text } from "./command.ts"

/** What a field's schema says of its values. */
interface Property {
  readonly type?: string
  readonly enum?: ReadonlyArray<string>
  readonly anyOf?: ReadonlyArray<Property>
  readonly minimum?: number
  readonly maximum?: number
  readonly description?: string
}

/** What a flag says other than its field does; a flag has the field's name and description unless it says so. */
interface Said extends Partial<Pick<FlagInfo, "name" | "alias" | "negated">> {
  readonly value?: string
  readonly summary?: string
}

const flagOf = (field: string, property: Property, said: Said): Flag<unknown> => {
  const name = said.name ?? field.replaceAll("_", "-")
  const { alias, summary = property.description ?? "", value = "VALUE" } = said
  const about = { alias, summary, value }
  const { anyOf = [property], maximum: max = Number.MAX_SAFE_INTEGER, minimum: min = -max, type } = property
  const choices = anyOf.flatMap((each) => each.enum ?? (each.type === "boolean" ? ["true", "false"] : []))
  if (type === "boolean") {
    return either(name, { alias, summary, negation: `no-${name}`, negated: said.negated ?? `Not --${name}` })
  }
  if (type === "array") return repeated(name, about)
  if (type === "integer") return integer(name, { ...about, min, max })
  if (type === "number") return number(name, { ...about, min, max })
  if (choices.length === 0) return text(name, about)
  const flag = choice(name, { ...about, choices })
  return { ...flag, options: Options.map(flag.options, (given) => (type === undefined ? valueOf(given) : given)) }
}

const valueOf = (text: string | undefined) => (text === "true" ? true : text === "false" ? false : text)

/**
 * A flag for each field of a request, with its kind, bounds and choices: those that something is said of first, in that
 * order. So a request has the same parameters on the command line as at the other interfaces.
 */
export const fields = <F extends Schema.Struct.Fields>(of: F, said: Readonly<Record<string, Said>>) => {
  const order = Object.keys(said)
  const flags = Object.entries(of).map(([key, field]) => {
    // Of one field, so that its name in JSON is known.
    const { $defs, properties } = JSONSchema.make(
      Schema.Struct({ [key]: field }) as Schema.Schema<unknown, unknown, unknown>
    ) as {
      readonly $defs?: Readonly<Record<string, Property>>
      readonly properties: Readonly<Record<string, Property & { readonly $ref?: string }>>
    }
    const [name, property] = Object.entries(properties)[0]!
    const defined = $defs?.[property.$ref?.replace("#/$defs/", "") ?? ""] ?? property
    const at = order.indexOf(name)
    return { at: at === -1 ? order.length : at, entry: [key, flagOf(name, defined, said[name] ?? {})] as const }
  })
  flags.sort((a, b) => a.at - b.at)
  // A flag's kind follows from its field's schema, which types cannot tell.
  return Object.fromEntries(flags.map(({ entry }) => entry)) as {
    readonly [K in keyof Schema.Struct.Type<F>]-?: Flag<Schema.Struct.Type<F>[K] | undefined>
  }
}
