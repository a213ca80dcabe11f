import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { read, typed } from "../../src/cli/arguments.ts"
import * as Flag from "../../src/cli/command.ts"
import { include } from "../../src/cli/flags.ts"

/** What a handler was given. */
class Got extends Context.Tag("test/Got")<Got, { flags: unknown; words: ReadonlyArray<string> }>() {}

const leaf = <const F extends Parameters<typeof Flag.define>[0]["flags"]>(
  name: string,
  flags: F,
  positional?: Flag.Positional
) =>
  Flag.define({ name, summary: name, flags, positional }, function* (flags, words) {
    Object.assign(yield* Got, { flags, words })
  })

const text = { name: "TEXT", summary: "words", min: 1, max: 2 }

const root = Flag.group(leaf("clew", {}), [
  leaf(
    "query",
    {
      topK: Flag.integer("top-k", { alias: "k", value: "N", summary: "how many", min: -1, max: 9 }),
      filter: Flag.repeated("filter", { value: "KEY=VALUE", summary: "which" }),
      fusion: Flag.choice("fusion", { choices: ["rrf", "score"], summary: "how" }),
      hybrid: Flag.either("hybrid", { negation: "no-hybrid", summary: "both", negated: "one" }),
      explain: Flag.toggle("explain", { alias: "e", summary: "why" }),
      yes: Flag.toggle("yes", { alias: "y", summary: "yes" })
    },
    text
  ),
  leaf("index", { include }),
  Flag.group(leaf("collections", {}), [leaf("create", {}, { ...text, name: "NAME", max: 1 })])
])

/** The flags that differ from their defaults, and the other arguments. */
const given = (...argv: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { path, request } = read(root, argv)
    if (request._tag !== "Run") return assert.fail(JSON.stringify(request))
    const got: Got["Type"] = { flags: {}, words: [] }
    yield* Effect.provideService(path.at(-1)!.run(request.given, request.positional), Got, got)
    const flags = Object.entries(got.flags as object).filter(
      ([, value]) => !["", "false"].includes(String(value ?? ""))
    )
    return [Object.fromEntries(flags), ...got.words]
  }).pipe(Effect.provide(NodeFileSystem.layer))

const refused = (...argv: ReadonlyArray<string>): string => {
  const { path, request } = read(root, argv)
  return request._tag === "Invalid" ? `${typed(path)}: ${request.detail}` : assert.fail(request._tag)
}

describe("a command line", () => {
  const cases: ReadonlyArray<readonly [argv: string, flags: object, ...words: ReadonlyArray<string>]> = [
    ["query --top-k 3 --explain moon", { topK: 3, explain: true }, "moon"],
    ["query moon -k3 -e", { topK: 3, explain: true }, "moon"],
    ["query -k 3 moon -e", { topK: 3, explain: true }, "moon"],
    ["query --top-k=3 moon --explain", { topK: 3, explain: true }, "moon"],
    ["query -- --json --help", {}, "--json", "--help"],
    ["query collections", {}, "collections"],
    ["query -yek5 moon", { topK: 5, explain: true, yes: true }, "moon"],
    ["query -k1 --filter a=1 -k2 --filter b=2 x", { topK: 2, filter: ["a=1", "b=2"] }, "x"],
    ["query --filter=a>=1 x", { filter: ["a>=1"] }, "x"],
    ["query --hybrid --no-hybrid x", {}, "x"],
    ["query --no-hybrid --hybrid x", { hybrid: true }, "x"],
    ["query --explain true x", { explain: true }, "true", "x"],
    ["query -", {}, "-"],
    ["query -k -1 x", { topK: -1 }, "x"],
    ["--db a.db --json query moon", {}, "moon"],
    ["collections --db a.db create papers --log-level debug", {}, "papers"]
  ]
  for (const [argv, ...wanted] of cases) {
    it.effect(`is taken: ${argv}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual<unknown>(yield* given(...argv.split(" ")), wanted)
      })
    )
  }

  it("has global flags before and after the command, and between it and its subcommand", () => {
    for (const argv of ["--db a.db --json query moon", "query --db=a.db moon --json", "--json query moon --db a.db"]) {
      const { globals } = read(root, argv.split(" "))
      assert.deepStrictEqual(globals, { db: "a.db", json: true, config: undefined, logLevel: undefined })
    }
    const { globals, path } = read(root, "collections --db a.db create papers --log-level debug".split(" "))
    assert.deepInclude(globals, { db: "a.db", logLevel: "debug" })
    assert.strictEqual(typed(path), "clew collections create")
    assert.isFalse(read(root, ["query", "--", "--json"]).globals.json)
  })

  it("asks for help from anywhere, also if it is wrong", () => {
    for (const argv of ["query --help", "--help query", "query --nope -h", "help query", "query -k --help"]) {
      const { path, request } = read(root, argv.split(" "))
      assert.strictEqual(request._tag, "Help", argv)
      assert.strictEqual(typed(path), "clew query", argv)
    }
  })

  const wrong: ReadonlyArray<readonly [argv: ReadonlyArray<string>, message: string]> = [
    [["qurey", "x"], 'clew: unknown command "qurey" (did you mean query?)'],
    [["search", "x"], 'clew: unknown command "search" (did you mean query?)'],
    [["find", "x"], 'clew: unknown command "find" (did you mean query?)'],
    [["query", "x", "-z"], "clew query: unknown flag -z; if it is not a flag, put -- before it"],
    [["query", "x", "--topk", "3"], "clew query: unknown flag --topk (did you mean --top-k?)"],
    [["query", "-5 degrees"], "clew query: unknown flag -5 degrees; if it is not a flag, put -- before it"],
    [["--explain", "query", "x"], "clew: --explain goes after the command's name: clew query --explain"],
    [
      ["query", "x", "--fusion", "scor"],
      'clew query: --fusion must be one of rrf, score, got "scor" (did you mean score?)'
    ],
    [["query", "x", "--top-k", "--explain"], "clew query: --top-k needs a value: --top-k N"],
    [["query", "x", "--db"], "clew query: --db needs a value: --db FILE"],
    [["query", "x", "--db="], "clew query: --db needs a value: --db FILE"],
    [["query", "x", "--explain=no"], "clew query: --explain takes no value"],
    [["query"], "clew query: TEXT is missing"],
    [["query", ""], "clew query: TEXT must not be empty"],
    [["query", "a", "b", "c"], 'clew query: unexpected argument "c"'],
    [["collections", "crate", "x"], 'clew collections: unknown command "crate" (did you mean create?)'],
    [["--json"], "clew: a command is missing"]
  ]
  it.effect("is refused if a glob's braces stand for too much", () =>
    Effect.gen(function* () {
      const allowed = "{a,b}".repeat(9)
      assert.deepStrictEqual(yield* given("index", "--include", allowed), [{ include: [allowed] }])
      for (const glob of [`${allowed}{a,b}`, `${"{".repeat(1001)}a${",b}".repeat(1001)}`]) {
        const error = yield* Effect.flip(given("index", "--include", glob))
        assert.include(String(error), "--include must be a glob whose braces stand for at most 1000 names, got")
      }
    })
  )

  for (const [argv, message] of wrong) {
    it(`is refused: ${argv.join(" ")}`, () => assert.strictEqual(refused(...argv), message))
  }
})
