import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"

/** An error that a door answers with: its name and status there, and its message from its fields. */
export const fault =
  <Self>() =>
  <const Tag extends string, Fields extends Schema.Struct.Fields>(
    tag: Tag,
    status: number,
    fields: Fields,
    messageOf: (fields: Schema.Struct.Type<Fields>) => string
  ) => {
    const named = Schema.TaggedError<Self>()(tag, fields, HttpApiSchema.annotations({ status }))
    const Named = named as Schema.TaggedErrorClass<Self, Tag, { readonly _tag: Schema.tag<Tag> } & Fields>
    Object.defineProperty(Named.prototype, "message", {
      get(this: Schema.Struct.Type<Fields>) {
        return messageOf(this)
      }
    })
    return Named
  }

/** Of an error that says in words what is wrong. */
export const because = { reason: Schema.String }
export const reasonOf = ({ reason }: { readonly reason: string }): string => reason
