import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/** What is wrong with a part of a JSON value. */
export interface Fault {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** A schema of JSON that is taken as it is unless there are faults: its own checks take less time, or say more. */
export const checked = <A>(
  faultsOf: (input: unknown) => ReadonlyArray<Fault>,
  annotations: Schema.Annotations.Schema<A>
): Schema.Schema<A> => {
  const check = () => (input: unknown, _: unknown, ast: ParseResult.Type["ast"]) => {
    const issues = faultsOf(input).map(({ message, path: [first, ...rest] }) => {
      const issue = new ParseResult.Type(ast, input, message)
      return first === undefined ? issue : new ParseResult.Pointer([first, ...rest], input, issue)
    })
    const [only, ...others] = issues
    if (only === undefined) return Either.right(input as A)
    return Either.left(others.length === 0 ? only : new ParseResult.Composite(ast, input, [only, ...others]))
  }
  return Schema.declare([], { decode: check, encode: check }, annotations)
}
