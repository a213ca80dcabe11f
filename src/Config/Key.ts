import * as Schema from "effect/Schema"

/** A key under its TOML name, with its description and default. */
export const key = <const Name extends string, A, I>(
  name: Name,
  schema: Schema.Schema<A, I>,
  fallback: NoInfer<A>,
  description: string
) =>
  Schema.optionalWith(schema.annotations({ description }), { exact: true, default: () => fallback }).pipe(
    Schema.fromKey(name)
  )

/** A key without a default; the description says what happens while it is unset. */
export const optionalKey = <const Name extends string, A, I>(
  name: Name,
  schema: Schema.Schema<A, I>,
  description: string
) => Schema.optionalWith(schema.annotations({ description }), { exact: true }).pipe(Schema.fromKey(name))

/** A key that is always given, because its default depends on the machine. */
export const givenKey = <const Name extends string, A, I>(
  name: Name,
  schema: Schema.Schema<A, I>,
  description: string
) => Schema.propertySignature(schema.annotations({ description })).pipe(Schema.fromKey(name))
