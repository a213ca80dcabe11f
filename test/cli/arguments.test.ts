import * as Either from "effect/Either"
import { assert, describe, it } from "vitest"
import { type Invocation, read } from "../../src/cli/arguments.ts"
import type { Spec } from "../../src/cli/command.ts"

const leaf = (name: string, rest: Partial<Spec>): Spec => ({ name, summary: name, flags: [], subcommands: [], ...rest })

const text = { name: "TEXT", summary: "words", min: 1, max: 2 }

const root = leaf("clew", {
  subcommands: [
    leaf("query", {
      positional: text,
      flags: [
        { name: "top-k", alias: "k", value: "N", summary: "how many" },
        { name: "filter", value: "KEY=VALUE", repeatable: true, summary: "which" },
        { name: "fusion", value: "HOW", choices: ["rrf", "score"], summary: "how" },
        { name: "hybrid", negation: "no-hybrid", summary: "both" },
        { name: "explain", alias: "e", summary: "why" },
        { name: "yes", alias: "y", summary: "yes" }
      ]
    }),
    leaf("collections", { subcommands: [leaf("create", { positional: { ...text, name: "NAME", max: 1 } })] })
  ]
})

const invoke = (...argv: ReadonlyArray<string>): Invocation => Either.getOrThrowWith(read(root, argv), (error) => error)

const argvOf = (...argv: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { request } = invoke(...argv)
  return request._tag === "Run" ? request.argv : assert.fail(request._tag)
}

const refused = (...argv: ReadonlyArray<string>): string =>
  Either.match(read(root, argv), {
    onLeft: ({ command, detail }) => `${command}: ${detail}`,
    onRight: () => assert.fail("should have been refused")
  })

describe("read", () => {
  it("takes flags before and after the text", () => {
    const wanted = ["query", "--top-k", "3", "--explain", "--", "moon"]
    assert.deepStrictEqual(argvOf("query", "--top-k", "3", "--explain", "moon"), wanted)
    assert.deepStrictEqual(argvOf("query", "moon", "-k3", "-e"), wanted)
    assert.deepStrictEqual(argvOf("query", "-k", "3", "moon", "-e"), wanted)
    assert.deepStrictEqual(argvOf("query", "--top-k=3", "moon", "--explain"), wanted)
  })

  it("takes global flags before and after the command", () => {
    for (const argv of [
      ["--db", "a.db", "--json", "query", "moon"],
      ["query", "--db=a.db", "moon", "--json"],
      ["--json", "query", "moon", "--db", "a.db"]
    ]) {
      const { globals } = invoke(...argv)
      assert.deepStrictEqual(globals, { db: "a.db", json: true, config: undefined, logLevel: undefined })
      assert.deepStrictEqual(argvOf(...argv), ["query", "--", "moon"])
    }
  })

  it("finds global flags in front of a nested command", () => {
    const { globals, path } = invoke("collections", "--db", "a.db", "create", "papers", "--log-level", "debug")
    assert.deepStrictEqual(
      path.map(({ name }) => name),
      ["clew", "collections", "create"]
    )
    assert.strictEqual(globals.db, "a.db")
    assert.strictEqual(globals.logLevel, "debug")
  })

  it("takes nothing after -- for a flag or a command", () => {
    assert.deepStrictEqual(argvOf("query", "--", "--json", "--help"), ["query", "--", "--json", "--help"])
    assert.isFalse(invoke("query", "--", "--json").globals.json)
  })

  it("takes a text that is named like a command for a text", () => {
    assert.deepStrictEqual(argvOf("query", "collections"), ["query", "--", "collections"])
  })

  it("takes apart short flags in one word", () => {
    assert.deepStrictEqual(argvOf("query", "-yek5", "moon"), [
      "query",
      "--yes",
      "--explain",
      "--top-k",
      "5",
      "--",
      "moon"
    ])
  })

  it("lets the last one count, but of flags that may be repeated all", () => {
    assert.deepStrictEqual(
      argvOf("query", "-k1", "--filter", "a=1", "-k2", "--filter", "b=2", "--hybrid", "--no-hybrid", "x"),
      ["query", "--filter", "a=1", "--top-k", "2", "--filter", "b=2", "--no-hybrid", "--", "x"]
    )
  })

  it("takes a lone dash for an argument", () => {
    assert.deepStrictEqual(argvOf("query", "-"), ["query", "--", "-"])
  })

  it("takes values that begin with a dash unless they are flags", () => {
    assert.deepStrictEqual(argvOf("query", "-k", "-1", "x"), ["query", "--top-k", "-1", "--", "x"])
    assert.strictEqual(refused("query", "x", "--top-k", "--explain"), "clew query: --top-k needs a value: --top-k N")
  })

  it("asks for help from anywhere, also in a line that is wrong", () => {
    for (const argv of [
      ["query", "--help"],
      ["--help", "query"],
      ["query", "--nope", "-h"],
      ["help", "query"],
      ["query", "-k", "--help"]
    ]) {
      const { path, request } = invoke(...argv)
      assert.strictEqual(request._tag, "Help", argv.join(" "))
      assert.strictEqual(path.at(-1)?.name, "query", argv.join(" "))
    }
  })

  it("names what was wrong, and what may have been meant", () => {
    assert.strictEqual(refused("qurey", "x"), 'clew: unknown command "qurey" (did you mean query?)')
    assert.strictEqual(refused("query", "x", "--topk", "3"), "clew query: unknown flag --topk (did you mean --top-k?)")
    assert.strictEqual(
      refused("query", "-5 degrees"),
      "clew query: unknown flag -5 degrees; if it is not a flag, put -- before it"
    )
    assert.strictEqual(
      refused("--explain", "query", "x"),
      "clew: --explain goes after the command's name: clew query --explain"
    )
    assert.strictEqual(
      refused("query", "x", "--fusion", "scor"),
      'clew query: --fusion must be one of rrf, score, got "scor" (did you mean score?)'
    )
    assert.strictEqual(refused("query", "x", "--db"), "clew query: --db needs a value: --db FILE")
    assert.strictEqual(refused("query", "x", "--db="), "clew query: --db needs a value: --db FILE")
    assert.strictEqual(refused("query", "x", "--explain=no"), "clew query: --explain takes no value")
    assert.strictEqual(refused("query"), "clew query: TEXT is missing")
    assert.strictEqual(refused("query", ""), "clew query: TEXT must not be empty")
    assert.strictEqual(refused("query", "a", "b", "c"), 'clew query: unexpected argument "c"')
    assert.strictEqual(
      refused("collections", "crate", "x"),
      'clew collections: unknown command "crate" (did you mean create?)'
    )
    assert.strictEqual(refused("--json"), "clew: a command is missing")
    for (const [name, meant] of [
      ["search", "query"],
      ["find", "query"]
    ] as const) {
      assert.strictEqual(refused(name, "x"), `clew: unknown command "${name}" (did you mean ${meant}?)`)
    }
  })
})
