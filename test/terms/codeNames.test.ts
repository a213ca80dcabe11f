import { assert, it } from "vitest"
import { weighted } from "../../src/terms/terms.ts"
import { hasCode, isNames, joinedIn, namesGain, namesIn } from "../../src/terms/codeNames.ts"

it("tells names from words", () => {
  assert.deepStrictEqual(namesIn("what does --force-with-lease do, and `core.autocrlf`?"), [
    "--force-with-lease",
    "core.autocrlf"
  ])
  assert.deepStrictEqual(namesIn('HEAD@{upstream} defineModel() "v-if" snake_case -u src/bin.ts.'), [
    "HEAD@{upstream}",
    "defineModel",
    "v-if",
    "snake_case",
    "src/bin.ts"
  ])
  assert.deepStrictEqual(namesIn("why do the well-known tides follow the moon? C'est la vie."), [])
  assert.strictEqual(namesIn("a.b ".repeat(5000)).length, 1)
})

it("counts a definition more than a use, and a use more than the parts", () => {
  const gain = (text: string, heading = "") => namesGain(["--prune"], { heading, text })
  assert.strictEqual(gain("pruning with force"), 0)
  assert.isAbove(gain("pass --prune to forget"), 0)
  assert.isAbove(gain("-p::\n`--prune`::\n\tForget."), gain("pass --prune to forget"))
  assert.strictEqual(gain("text", "Options > --prune"), gain("--prune:: forget"))
  assert.strictEqual(gain("pass --prune-tags"), 0)
  assert.strictEqual(namesGain(["set_user"], { heading: "", text: "reset_user" }), 0)
  assert.isAbove(namesGain(["HEAD@{1}"], { heading: "", text: "HEAD@{1}x" }), 0)
  assert.isAbove(namesGain(["--prune"], { heading: "", text: "pass --prune" }, true), 1)
})

it("tells a query of nothing but names, and names of several parts", () => {
  for (const query of ["core.autocrlf", "`put_flash`, --force", "std::enable_if", "std::enable_if ?"])
    assert.isTrue(isNames(query), query)
  for (const query of ["what is core.autocrlf", "如何使用config.toml配置超时", "3.14", "2024/05/01", "tides", ""])
    assert.isFalse(isNames(query), query)
  for (const query of ["what is core.autocrlf", "use --force here", "call getUser", "`put_flash`"])
    assert.isTrue(hasCode(query))
  for (const query of ["mRNA of T-cells, e.g. TNF/IL-6", "3.14 and v1.2", "what -dash is"])
    assert.isFalse(hasCode(query))
  assert.deepStrictEqual(joinedIn("T-cell v1.2 --force ST_MakeValid in getUser"), ["v1.2", "ST_MakeValid", "getUser"])
  assert.deepStrictEqual(joinedIn('{"code":"a.b","at":"10.0.0.5:80"} 東京.大阪'), ["a.b", "10.0.0.5:80"])
})

it("names weigh like one word each with their parts, and a word beside them like another", () => {
  const rounded = (query: string) =>
    Object.fromEntries([...weighted(query, "en")].map(([term, weight]) => [term, Math.round(100 * weight)]))
  assert.deepStrictEqual(rounded("get_tide tide"), { get: 33, tide: 133, gettid: 33 })
  assert.deepStrictEqual(rounded("get_tide put_tide"), { tide: 67, get: 33, gettid: 33, put: 33, puttid: 33 })
  const many = "abcdefgh".split("").map((letter) => `${letter}x_tide`)
  for (const weight of weighted(many.join(" "), "en").values()) assert.isAbove(weight, 0)
})
