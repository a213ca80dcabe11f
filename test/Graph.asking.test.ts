import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Graph } from "../src/Graph.ts"
import { Llm, LlmUnavailable, noUsage, type Question } from "../src/Llm.ts"
import * as Extractive from "../src/Llm/Extractive.ts"
import { CollectionName } from "../src/model/Collection.ts"
import { type Stores, whole } from "../src/Store.ts"
import { document, embedder } from "./contracts/Store.ts"
import * as Sqlite from "../src/Store/Sqlite.ts"

/** A model that says of each text what is given for a word in it, and notes what it was asked. */
const fake = (answers: Readonly<Record<string, unknown>>) => {
  const asked: Array<Question> = []
  let left = Infinity
  const llm: Llm["Type"] = {
    identity: (model = "reader") => Effect.succeed({ backend: "ollama", model }),
    window: () => Effect.succeed(undefined),
    answer: (question) => {
      asked.push(question)
      const found = Object.entries(answers).find(([word]) =>
        question.prompt.split("Text:\n").at(-1)!.includes(word)
      )?.[1] ?? {
        entities: [],
        relations: []
      }
      const said = typeof found === "string" ? found : JSON.stringify(found)
      return Effect.succeed({
        llm: { backend: "ollama", model: "reader" },
        isCut: Effect.succeed(false),
        usage: Effect.succeed(noUsage),
        fragments:
          left-- > 0
            ? said === ""
              ? Stream.fail(new LlmUnavailable({ reason: "The model ended without an answer", empty: true }))
              : Stream.make(said.slice(0, 3), said.slice(3))
            : Stream.fail(new LlmUnavailable({ reason: "Ollama went away" }))
      })
    }
  }
  return { asked, llm, breakAfter: (calls: number) => (left = calls) }
}

const collection = CollectionName.make("read")

const within = <A, E>(llm: Llm["Type"], use: Effect.Effect<A, E, Graph | Stores>) =>
  Effect.gen(function* () {
    yield* (yield* whole).createCollection(collection, embedder)
    return yield* use
  }).pipe(
    Effect.provide(Graph.Default.pipe(Layer.provideMerge(Layer.merge(Sqlite.layerMemory, Layer.succeed(Llm, llm)))))
  )

const put = (...given: Parameters<typeof document>) =>
  Effect.flatMap(whole, (store) => store.put(collection, [document(...given)]))

const asking = Effect.gen(function* () {
  const { asking } = yield* Graph
  const plan = yield* asking.plan(collection)
  const done = yield* Stream.runCollect(asking.run(collection, plan))
  return { plan, done: [...done] }
})

const mill = {
  entities: ["bone mill", "Jonas Ekwall", "Queen of Sheba"],
  relations: [
    { subject: "jonas ekwall", relation: "ground bones in", object: "bone mill" },
    { subject: "Jonas Ekwall", relation: "married", object: "Queen of Sheba" },
    { subject: "bone mill", relation: "is", object: "the bone mill" }
  ]
}

it.effect("brings in what a model reads: names that the passage has, and relations between two of them", () => {
  const { asked, llm } = fake({ mill })
  return within(
    llm,
    Effect.gen(function* () {
      yield* put("the old bone mill stood where Jonas Ekwall was born", { source: "mill.md", title: "The mill" })
      yield* put("every bone mill smells", { source: "smell.md", title: "Smells" })
      const { done, plan } = yield* asking
      assert.deepStrictEqual(plan, { model: "reader", passages: 2, calls: 2 })
      assert.deepStrictEqual(done.map(({ entities, relations, usable }) => [usable, entities, relations]).sort(), [
        [true, 1, 0],
        [true, 2, 1]
      ])
      assert.isTrue(asked.every(({ schema, temperature }) => schema !== undefined && temperature === 0))
      assert.include(asked.map(({ prompt }) => prompt).join("\n"), "Title: The mill")

      const graph = yield* Graph
      // No rule takes two small words for a name.
      const found = yield* graph.entity(collection, "bone mills")
      assert.deepStrictEqual(
        found.mentions.map(({ name, source }) => [source, name]),
        [
          ["mill.md", "bone mill"],
          ["smell.md", "bone mill"]
        ]
      )
      yield* put("Jonas Ekwall had a sister, they say", { source: "sister.md", title: "Sisters" })
      const { neighbours } = yield* graph.entity(collection, "bone mill")
      assert.deepStrictEqual(
        neighbours.map(({ name, says }) => [name, says]),
        [["Jonas Ekwall", "Jonas Ekwall ground bones in bone mill"]]
      )
      const { steps } = yield* graph.path(collection, "bone mill", "jonas ekwall")
      assert.deepStrictEqual(
        steps.map(({ says }) => says),
        ["Jonas Ekwall ground bones in bone mill"]
      )
      const unknown = yield* Effect.flip(graph.entity(collection, "Queen of Sheba"))
      assert.strictEqual(unknown._tag, "EntityNotFound")
    })
  )
})

it.effect(
  "asks about no words twice: not the next time, not in another document, not where a part of one changed",
  () => {
    const { asked, llm } = fake({ mill })
    return within(
      llm,
      Effect.gen(function* () {
        const lines = ["here the bone mill stood", "nothing was said of it", "it burned down"]
        yield* put(lines.join("\n"), { source: "a.md" })
        yield* put(lines[0]!, { source: "b.md" })
        const first = yield* asking
        assert.strictEqual(first.plan.calls, 4)
        const before = asked.length
        assert.deepStrictEqual((yield* asking).plan, { model: "reader", passages: 4, calls: 0 })
        yield* put(lines[0]!, { source: "c.md" })
        yield* put([lines[0], "it never burned", lines[2]].join("\n"), { source: "a.md" })
        const { mentions } = yield* (yield* Graph).entity(collection, "bone mill")
        assert.deepStrictEqual(mentions.map(({ source }) => source).sort(), ["a.md", "b.md", "c.md"])
        assert.strictEqual((yield* asking).plan.calls, 1)
        assert.strictEqual(asked.length, before + 1)
        const { asking: others } = yield* Graph
        assert.strictEqual((yield* others.plan(collection, "another")).calls, 5)
      })
    )
  }
)

it.effect("goes on after a model that broke off, and asks again for an answer that is none", () => {
  const { asked, breakAfter, llm } = fake({ mill, madness: '{"entities": "all of them"}', silence: "" })
  return within(
    llm,
    Effect.gen(function* () {
      yield* put("a bone mill\nmadness\nsilence\n1\n2\n3\n4\n5\n6\n7\n8", { source: "a.md" })
      breakAfter(3)
      const broken = yield* Effect.flip(asking)
      assert.strictEqual(broken.message, "Ollama went away")
      breakAfter(Infinity)
      const { done, plan } = yield* asking
      assert.isAtLeast(plan.calls, 7)
      assert.isAtMost(plan.calls, 11)
      assert.strictEqual(done.filter(({ usable }) => !usable).length, 2)
      const before = asked.length
      assert.strictEqual((yield* asking).plan.calls, 2)
      assert.strictEqual(asked.length, before + 2)
    })
  )
})

it.effect("says that there is no model where there is none, and asks nothing", () =>
  within(
    Extractive.service,
    Effect.gen(function* () {
      yield* put("a bone mill", { source: "a.md" })
      assert.match((yield* Effect.flip(asking)).message, /^No language model is available/)
    })
  )
)

it.effect("leaves nothing of what was said of a document that is deleted", () => {
  const { llm } = fake({ mill })
  return within(
    llm,
    Effect.gen(function* () {
      yield* put("a bone mill", { source: "a.md" })
      yield* asking
      const store = yield* whole
      yield* store.deleteSource(collection, "a.md")
      yield* put("a bone mill", { source: "b.md" })
      assert.strictEqual((yield* asking).plan.calls, 1)
    })
  )
})
