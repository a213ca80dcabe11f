import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { parse } from "smol-toml"
import { readFileSync } from "node:fs"
import { settable, variables } from "../../src/Config/Env.ts"
import { findKey, keys, Settings } from "../../src/Config/Settings.ts"
import { isTable, type Table } from "../../src/Config/Tree.ts"
import { place, test } from "./place.ts"

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")

const decode = Schema.decodeUnknownSync(Settings, { onExcessProperty: "error" })
const path = "/x/index.db"
const defaults: Table = { ...Schema.encodeSync(Settings)(decode({ store: { path } })) }

const at = (data: Table, key: string): unknown => {
  const [first = "", second] = key.split(".")
  const value = data[first]
  return second === undefined ? value : isTable(value) ? value[second] : undefined
}

describe("config.toml", () => {
  const text = read("config.toml")

  it("sets every key to its default", () => {
    const data = parse(text)
    assert.deepStrictEqual(decode({ ...data, store: { path } }), decode({ store: { path } }))
    for (const key of keys) {
      if (key.path !== "store.path") assert.deepStrictEqual(at(data, key.path), at(defaults, key.path), key.path)
    }
  })

  const commentedIn = text.replaceAll(/^# (\w+ = )/gm, "$1")

  test("gives examples that hold", () =>
    Effect.gen(function* () {
      const { at, load } = yield* place({ "./all.toml": commentedIn })
      const { origins } = yield* load({ config: "all.toml" })
      for (const key of keys) assert.deepStrictEqual(origins.get(key.path), { kind: "file", name: at("./all.toml") })
    }))

  it("holds every key once, with an example where there is no default, under one line that says what it does", () => {
    const found = commentedIn.split("\n").reduce<{ section: string; seen: Array<string>; before: string }>(
      ({ before, section, seen }, line) => {
        const opened = /^\[(\w+)\]$/.exec(line)?.[1]
        const name = /^(\w+) = /.exec(line)?.[1]
        if (name === undefined) return { section: opened === undefined ? section : `${opened}.`, seen, before: line }
        const key = findKey(section + name)
        assert.strictEqual(before, `# ${key?.description}`)
        return { section, seen: [...seen, section + name], before: line }
      },
      { section: "", seen: [], before: "" }
    )
    assert.deepStrictEqual(
      found.seen,
      keys.map((key) => key.path)
    )
  })
})

describe("docs/configuration.md", () => {
  const text = read("docs/configuration.md")
  const rows = text
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("\\|", "|").replaceAll("\\*", "*"))
    )

  it("has a row for every key: default, what is allowed, what it does", () => {
    for (const { allowed, description, path } of keys) {
      const value = path === "store.path" ? undefined : at(defaults, path)
      const fallback = value === undefined ? "" : `\`${JSON.stringify(value)}\``
      assert.deepStrictEqual(
        rows.filter(([first]) => first === `\`${path}\``),
        [[`\`${path}\``, fallback, allowed, description]]
      )
    }
  })

  it("names no key that there is not", () => {
    const named = rows
      .map(([first = ""]) => /^`([a-z_]+\.?[a-z_]*)`$/.exec(first)?.[1])
      .filter((name) => name !== undefined)
    assert.sameMembers(
      named,
      keys.map((key) => key.path)
    )
  })

  it("names every variable that sets no key", () => {
    for (const variable of [...Object.values(variables), ...settable].filter(
      (v) => !keys.some((k) => k.variable === v)
    )) {
      assert.include(text, `\`${variable}\``)
    }
  })

  test("shows examples that hold", () =>
    Effect.gen(function* () {
      const examples = [...text.matchAll(/```toml\n([\s\S]*?)```/g)].map(([, toml = ""]) => toml)
      assert.isAtLeast(examples.length, 2)
      for (const example of examples)
        yield* (yield* place({ "./example.toml": example })).load({ config: "example.toml" })
    }))
})
