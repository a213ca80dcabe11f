import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Llm } from "../../src/Llm.ts"
import * as Extractive from "../../src/Llm/Extractive.ts"
import { citationMarks } from "../../src/citations/citations.ts"
import { hit } from "../hits.ts"

const say = (query: string, texts: ReadonlyArray<string>, more: Partial<Parameters<Llm["Type"]["answer"]>[0]> = {}) =>
  Stream.unwrap(
    Effect.map(
      Extractive.service.answer({ query, system: "", prompt: "", hits: texts.map((text) => hit({ text })), ...more }),
      ({ fragments }) => fragments
    )
  ).pipe(Stream.mkString)

it.effect("quotes the sentences that answer, numbered as their passages, the first one first", () =>
  Effect.gen(function* () {
    const text = yield* say("when is the spring tide highest", [
      "Knead the dough. Bake it in a hot oven until the crust is brown.",
      "Twice a day the water rises. The spring tide is highest when sun and moon stand in a line."
    ])
    assert.match(text, /^“The spring tide is highest when sun and moon stand in a line\.” \[2\]/)
    assert.notInclude(text, "Knead")
  })
)

it.effect("says so when no sentence answers", () =>
  Effect.gen(function* () {
    assert.include(
      yield* say("zyzzyva", ["The moon pulls the sea, twice a day."]),
      "Nothing in these documents answers this"
    )
    assert.include(yield* say("zyzzyva", []), "Nothing in these documents answers this")
  })
)

it.effect("keeps a passage's own reference marks from posing as citations", () =>
  Effect.gen(function* () {
    const text = yield* say("what pulls the sea", ["The moon pulls the sea, as has long been known [7, 12] 【3】."])
    assert.deepStrictEqual(
      citationMarks(text).map(({ n }) => n),
      [1]
    )
  })
)

it.effect("keeps a fence that one quote leaves open from turning the next one's code into text", () =>
  Effect.gen(function* () {
    const text = yield* say("install zorbium steps", [
      "To install zorbium, follow these steps:\n\n1. Get zorbium from the shop.\n2. Unpack zorbium:\n   ```\n3. Install zorbium now.\n",
      "Install zorbium with this command:\n\n```\nInstall zorbium steps: Get zorbium from the shop [1]. Bob sells zorbium [7]\n```\n"
    ])
    assert.deepStrictEqual(
      citationMarks(text).map(({ n }) => n),
      [1, 2]
    )
  })
)

it.effect("quotes code as it is, and what is of a file of code as code, so that it cites nothing", () =>
  Effect.gen(function* () {
    const fenced = "The server listens on these ports:\n\n```toml\nports = [80, 443]\n```"
    assert.include(yield* say("on which ports does the server listen", [fenced]), "ports = [80, 443]")
    assert.include(
      yield* say("how do I strip digits", ["To strip digits from a name, run `sed 's/[12]//g' name.txt`."]),
      "`sed 's/[12]//g' name.txt`.”"
    )
    const text = yield* say("server ports", [], {
      hits: [hit({ text: "server_ports = [80, 443] # the server's ports", source: "server.toml" })]
    })
    assert.include(text, "```\nserver_ports = [80, 443]")
    assert.deepStrictEqual(
      citationMarks(text).map(({ n }) => n),
      [1]
    )
  })
)

it.effect("has no model to choose", () =>
  Effect.gen(function* () {
    const { reason } = yield* Effect.flip(say("moon", ["The moon pulls the sea."], { model: "llama3.2" }))
    assert.include(reason, "llm.backend is extractive")
  })
)
