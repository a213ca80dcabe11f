import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { fromIssues } from "./errors.ts"
import { Problem, problemBody } from "./Problem.ts"

/** A problem that a client found itself. */
export const ownProblem = (_tag: string, title: string, status: number, detail: string): Problem =>
  new Problem({ type: "about:blank", title, status, detail, _tag })

/** The answer was cut short; what came before is valid. */
export const broken = (detail: string): Problem => ownProblem("AnswerFailed", "Answer cut short", 200, detail)

export const cut = broken("The connection ended before the answer did")

export const invalid = (error: ParseResult.ParseError): Problem => {
  const { errors, message } = fromIssues(ParseResult.ArrayFormatter.formatErrorSync(error))
  const tag = "InvalidRequest"
  return new Problem({ ...problemBody({ _tag: tag, status: 400, detail: message, errors }), _tag: tag })
}

/** Decodes the caller's input; invalid input fails as it would at the server, and is not sent. */
export const check = <A, I>(schema: Schema.Schema<A, I>, input: I): Effect.Effect<A, Problem> =>
  Effect.mapError(Schema.decode(schema, { errors: "all" })(input), invalid)
