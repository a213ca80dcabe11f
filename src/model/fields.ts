import * as Schema from "effect/Schema"
import { mustBeWithin } from "./kinds.ts"

/** Fields of JSON with their description, which is the documentation of OpenAPI and MCP. */
export const text = (description: string) => Schema.String.annotations({ description })
export const int = (description: string) => Schema.Int.annotations({ description })
export const number = (description: string) => Schema.Finite.annotations({ description })
export const flag = (description: string) => Schema.Boolean.annotations({ description })
export const list = <A, I>(item: Schema.Schema<A, I>, description: string) =>
  Schema.Array(item).annotations({ description })

/** A number in decimal notation. */
export const decimal = /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

/** A number that stands in a text. */
export const NumberText = Schema.compose(Schema.String.pipe(Schema.pattern(decimal)), Schema.NumberFromString)

/** A number within bounds, by the name that its message has. */
export const within = (
  name: string,
  identifier: string,
  kind: typeof Schema.Int | typeof Schema.Finite,
  bounds: { readonly min: number; readonly max: number },
  description: string
) =>
  (kind as Schema.Schema<number>).pipe(
    Schema.between(bounds.min, bounds.max),
    Schema.annotations({
      identifier,
      description,
      message: mustBeWithin(name, bounds, kind === Schema.Int ? "integer" : "number")
    })
  )
