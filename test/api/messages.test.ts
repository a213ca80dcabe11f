import * as HttpApi from "@effect/platform/HttpApi"
import { assert, it } from "@effect/vitest"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import type * as SchemaAST from "effect/SchemaAST"
import { Api } from "../../src/api/Api.ts"
import { fromIssues } from "../../src/api/errors.ts"

const long = "x".repeat(200_000)
const plain: ReadonlyArray<unknown> = [null, true, "", " ", "x", long, -1, 5, 1.5, 1e12]

/** What most fields are not. */
const values: ReadonlyArray<unknown> = [
  ...plain,
  ...plain.map((value) => [value]),
  [],
  [["x"]],
  [{}],
  {},
  { x: 5 },
  [{ role: "user", content: "" }],
  [{ role: "user", content: long }],
  [{ role: "user", content: [5] }],
  [{ query: "x", source: "", grade: 500, start_line: 0, end_line: 0 }]
]

const namesIn = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  ast._tag === "TypeLiteral"
    ? ast.propertySignatures.map(({ name }) => String(name))
    : ast._tag === "Transformation" || ast._tag === "Refinement"
      ? namesIn(ast.from)
      : []

/** A description, or what the schema library calls a schema, in the place of what a field must be. */
const notSaid = /must be [A-Z]|Encoded side|\(s\)/

it("says of no field that it must be its description, or in the words of the schema library", () => {
  const wrong = new Set<string>()
  let refused = 0
  HttpApi.reflect(Api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint: { method, path, payloadSchema, urlParamsSchema } }) => {
      // A form and texts to embed are read before a schema sees them, with messages of their own.
      const isReadBefore = (message: string) => path === "/files" || message.startsWith("input")
      for (const schema of [payloadSchema, urlParamsSchema].filter(Option.isSome).map(({ value }) => value)) {
        const decode = ParseResult.decodeUnknownEither(schema, { errors: "all" })
        const given = namesIn(schema.ast).flatMap((name) => values.map((value) => ({ [name]: value })))
        for (const one of [...values, ...given]) {
          const decoded = decode(one)
          if (decoded._tag === "Right") continue
          refused++
          for (const { message } of fromIssues(ParseResult.ArrayFormatter.formatIssueSync(decoded.left)).errors) {
            if (notSaid.test(message) && !isReadBefore(message)) wrong.add(`${method} ${path}: ${message}`)
          }
        }
      }
    }
  })
  assert.isAbove(refused, 1000)
  assert.deepStrictEqual([...wrong], [])
})
