import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { decoder } from "../../src/mcp/decode.ts"
import { readLine } from "../../src/mcp/message.ts"

const read = (line: string) => readLine(Buffer.from(line))
const call = (params: string) => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`

// JSON.parse took them all: a number changed in silence, a million keys were decoded one by one.
const refused: ReadonlyArray<readonly [name: string, params: string, message: RegExp]> = [
  [
    "nesting without end",
    `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    /^The message is nested deeper than 100 levels$/
  ],
  ["a number that would change", '{"n":9007199254740993}', /^params\.n: the number 9007199254740993 would change/],
  ["a number too large", '{"n":1e999}', /^params\.n: the number 1e999 is too large/],
  [
    "too many keys",
    `{${Array.from({ length: 1001 }, (_, at) => `"k${at}":1`).join(",")}}`,
    /^params: an object has at most 1000 keys$/
  ],
  ["too many values", `{"a":[${"1,".repeat(200_000)}1]}`, /^The message holds more than 200000 values/]
]

describe("a line", () => {
  for (const [name, params, message] of refused) {
    it(`is refused under its own id for ${name}`, () => {
      const found = read(call(params))
      assert.strictEqual(found?._tag, "Invalid")
      if (found?._tag !== "Invalid") return
      assert.match(found.message, message)
      assert.strictEqual(found.code, -32_600)
      assert.strictEqual(found.id, 7)
    })
  }

  it("that is no JSON is told so, without an id", () => {
    for (const line of ["{", '{"id":7,', "nonsense", "\u0000"]) {
      const found = read(line)
      assert.deepInclude(found, { _tag: "Invalid", code: -32_700, id: null })
      assert.match(found?._tag === "Invalid" ? found.message : "", /^The line is not JSON: /)
    }
    assert.deepInclude(readLine(Buffer.from([0x22, 0xff, 0x22])), { code: -32_700, message: "The line is not UTF-8" })
  })

  it("that is blank is nothing", () => {
    for (const line of ["", "  ", "\r", "\ufeff"]) assert.isUndefined(read(line))
  })
})

describe("arguments", () => {
  const of = Schema.Struct({ documents: Schema.Array(Schema.Struct({ content: Schema.String })) })
  const json = {
    type: "object",
    properties: {
      documents: {
        type: "array",
        maxItems: 100,
        items: { type: "object", properties: { content: { type: "string" } } }
      }
    }
  }
  const fail = (documents: ReadonlyArray<unknown>) => Effect.flip(decoder(of, json)({ documents }))

  it.effect("have at most 20 errors told", () =>
    Effect.gen(function* () {
      const { data } = yield* fail(Array.from({ length: 100 }, () => ({ content: 1 })))
      assert.lengthOf((data as { readonly errors: ReadonlyArray<unknown> }).errors, 20)
    })
  )

  it.effect("are counted before they are decoded", () =>
    Effect.gen(function* () {
      const seen = new Array<string>()
      const document = new Proxy({}, { get: (_, key) => void seen.push(String(key)) })
      const { message } = yield* fail(Array.from({ length: 101 }, () => document))
      assert.match(message, /^documents must be .*, got 101 items$/)
      assert.lengthOf(seen, 0)
    })
  )
})
