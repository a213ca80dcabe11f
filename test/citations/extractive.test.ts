import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { extract, quoting } from "../../src/citations/extractive.ts"
import type { Hit } from "../../src/model/SearchResult.ts"
import { learned } from "../../src/terms/stemmers.ts"
import { hit } from "../hits.ts"

const tides = hit({
  text: "# Tides\n\nThe moon pulls the sea. Twice a day the water rises and falls.\n\nThe spring tide is highest when sun and moon stand in a line."
})
const bread = hit({ text: "Knead the dough and let it rest. Bake the bread in a hot oven until the crust is brown." })

/** What is quoted first. */
const best = (query: string, ...hits: ReadonlyArray<Hit>) => extract(query, hits, 1)[0]?.text ?? ""

describe("extract", () => {
  it("finds the sentences that answer, in the order of their passages", () => {
    assert.deepStrictEqual(extract("when is the spring tide highest", [bread, tides]), [
      { n: 2, text: "The spring tide is highest when sun and moon stand in a line.", isVerbatim: true }
    ])
    const both = extract("bread in the oven, and the moon and the sea", [bread, tides])
    assert.deepStrictEqual(
      both.map(({ n }) => n),
      both.map(({ n }) => n).toSorted((a, b) => a - b)
    )
    assert.include(
      both.map(({ text }) => text),
      "The moon pulls the sea."
    )
  })

  it("has nothing to say where no sentence has a word of the question, or there is no passage", () => {
    assert.deepStrictEqual(extract("zyzzyva", [tides, bread]), [])
    assert.deepStrictEqual(extract("tides", []), [])
    assert.deepStrictEqual(extract("", [tides]), [])
  })

  it.effect("does not look for the words of grammar of the passages' language", () =>
    Effect.gen(function* () {
      yield* learned(["pl"])
      const polish = {
        ...hit({ text: "Chleb piecze się w piecu. Czego i gdzie to już nie było dla nich." }),
        language: "pl"
      }
      assert.strictEqual(best("Czego i gdzie to już nie było dla nich, a czego piec?", polish), "")
      assert.strictEqual(best("Gdzie to jest, że piecze się chleb?", polish), "Chleb piecze się w piecu.")
    })
  )

  it("quotes nothing that only tools read: targets of links, pictures, templates, the edges of blocks, directives", () => {
    const quoted = (text: string) => extract("why does the spring tide flood", [hit({ text })]).map(({ text }) => text)
    for (const text of [
      '[the spring tide flood]: /tides/spring-tide-flood.html "The spring tide"\n[flood]: <{{% url flood %}}>',
      '![](flood.png){.border fig-alt="The spring tide and why it does flood the town"}',
      '{{% include "/common/spring-tide-flood.md" %}}',
      "#+cindex: why the spring tide does flood",
      ".. image:: spring-tide-flood.png\n   :alt: why the spring tide does flood"
    ])
      assert.deepStrictEqual(quoted(text), [])
    const said = "The spring tide floods the town at new moon."
    assert.deepStrictEqual(quoted(`====\n${said}\n====`), [said])
    assert.deepStrictEqual(quoted(`[^1]: ${said}`), [`[^1]: ${said}`])
    assert.deepStrictEqual(quoted(`.. seealso:: ${said}`), [said])
    assert.deepStrictEqual(quoted(`.. change::\n    :tags: tide, spring\n    :tickets: 2566\n\n    ${said}`), [said])
  })

  it.each(["it rose::\n\n", "it rose:\n\n.. code-block:: python\n   :linenos:\n\n"])(
    "quotes reStructuredText's code with what announces it: %j",
    (between) => {
      const text = `To see how the spring tide floods, ask\nhow far ${between}    >>> tide.rise(spring)\n    7.2\n\nThe sea falls again.`
      assert.deepStrictEqual(best("how do I see how far the spring tide floods", hit({ text })).split("\n"), [
        "To see how the spring tide floods, ask how far it rose:",
        "    >>> tide.rise(spring)",
        "    7.2"
      ])
    }
  )

  it("quotes AsciiDoc's description below a blank line with its term, not as code", () => {
    const text =
      "`tide set`::\n\n\tRaise the spring tide until\n\tit floods the town.\n\n`tide ebb`::\n\n\tLower the sea."
    assert.strictEqual(
      best("how does the spring tide flood the town", hit({ text })),
      "`tide set`: Raise the spring tide until it floods the town."
    )
  })

  const settings = hit({
    text: "## Server\n\n| key | default | what it does |\n| --- | --- | --- |\n| `host` | 127.0.0.1 | address to listen on |\n| `port` | 8484 | port to listen on |",
    heading: ["Settings"]
  })

  it("tells a table's row with its columns' names, and no other row", () => {
    assert.deepStrictEqual(extract("which port does the server listen on", [bread, settings], 1), [
      { n: 2, text: "key: `port`; default: 8484; what it does: port to listen on", isVerbatim: false }
    ])
  })

  it("quotes no tags, and says so by not quoting word for word; code keeps them", () => {
    const tagged = hit({
      text: 'Introducing <a target="_blank" href="/guide/computed.html">computed property</a><sup class="x" />. A computed property renders in `<a>` and in Ref<T> alike.'
    })
    assert.deepStrictEqual(extract("introducing computed property", [tagged], 1), [
      { n: 1, text: "Introducing computed property.", isVerbatim: false }
    ])
    assert.deepStrictEqual(extract("where does a computed property render alike", [tagged], 1), [
      { n: 1, text: "A computed property renders in `<a>` and in Ref<T> alike.", isVerbatim: true }
    ])
  })

  it("quotes from quotations and admonitions without their marks, apart from the item above", () => {
    const mill = hit({
      text: "> [!WARNING]\n> The red valve must never be\n> opened by hand.\n\nMaria wrote:\n\n> The keeper closes the gate at\n> nine. He opens it at dawn.\n\n- buy rope\n> [!note]- Remember\n> The sluice opens at half past six.\n\n>>> valve = Valve(7)"
    })
    for (const [query, said] of [
      ["when must the red valve be opened", "The red valve must never be opened by hand."],
      ["when does the keeper close the gate", "The keeper closes the gate at nine."],
      ["when does the sluice open", "The sluice opens at half past six."],
      ["valve 7", ">>> valve = Valve(7)"]
    ] as const) {
      assert.strictEqual(best(query, mill), said)
    }
  })

  it("leaves the marks of code as they are, and reads on after it", () => {
    const shell = hit({
      text: "Shell and sluice\n----------------\n\n> The red valve must never be opened by hand.\n\nAsk the shell for its figures:\n\n```\n$ mongo\n> db.stats()\n> exit\n```\n\nThe sluice opens at half past six."
    })
    assert.include(best("ask the shell for its figures", shell), "$ mongo\n> db.stats()\n> exit\n```")
    assert.strictEqual(best("when does the sluice open", shell), "The sluice opens at half past six.")
    assert.strictEqual(best("what must never be opened", shell), "The red valve must never be opened by hand.")
  })

  it("quotes a list with the sentence that announces it, each item on its line, and what of it fits", () => {
    const causes = hit({
      text: `A mismatch slows the page.\n\nA hydration mismatch has these causes:\n\n1. The markup is invalid\n   and was corrected.\n2. The time zones differ.\n${"- more\n".repeat(200)}`
    })
    const [quote] = extract("what causes a hydration mismatch", [causes], 1)
    assert.match(
      quote!.text,
      /^A hydration mismatch has these causes:\n1\. The markup is invalid and was corrected\.\n2\. The time zones differ\.\n/
    )
    assert.isAtMost(quote!.text.length, 600)
  })

  it("takes what a name is given to for its definition, and an option's placeholder for none", () => {
    const drilling = hit({
      text: "The prop drilling of oil wells is old. To pass props through every layer is called “prop drilling”.\n\n_<prop>_:: Prop drilling may have a name or an index."
    })
    assert.strictEqual(
      best("what is prop drilling", drilling),
      "To pass props through every layer is called “prop drilling”."
    )
  })

  it("leaves out what only a site's builder reads, and keeps words of two versions apart", () => {
    const warned = hit({
      text: ':::warning Use with caution\nThe raw mark keeps <span class="a">an object</span><span class="b">A value</span> from proxies.\n:::'
    })
    assert.strictEqual(
      best("what keeps an object from proxies", warned),
      "The raw mark keeps an object A value from proxies."
    )
  })

  it("does not quote a sentence again that another quote has", () => {
    const pair = hit({
      text: "The spring tide is the highest of the month. It comes with the new moon, so the spring tide is not in step with the month."
    })
    const texts = extract("when is the spring tide of the month", [pair]).map(({ text }) => text)
    assert.lengthOf(texts, 1, JSON.stringify(texts))
  })

  it("keeps steps together, and code with what introduces it", () => {
    const steps = hit({
      text: "Restoring takes two steps.\n\n1. Stop the server.\n2. Run `clew restore FILE`.\n\nTo restore a copy of the index, run:\n\n```sh\nclew restore copy.db\n```"
    })
    const texts = extract("how do I restore the index", [steps]).map(({ text }) => text)
    assert.include(texts, "To restore a copy of the index, run:\n```sh\nclew restore copy.db\n```")
    assert.include(
      extract("how do I stop and run the restore", [steps]).map(({ text }) => text),
      "1. Stop the server.\n2. Run `clew restore FILE`."
    )
    const wide =
      "\u8fd9\u4e2a\u547d\u4ee4\u5feb\u901f\u68c0\u67e5\u4ee3\u7801\u786e\u4fdd\u5176\u53ef\u4ee5\u7f16\u8bd1\uff0c\u4f46\u5e76\u4e0d\u4ea7\u751f\u6587\u4ef6\uff1a\n```sh\ncargo check\n```"
    assert.strictEqual(best("\u68c0\u67e5\u4ee3\u7801", hit({ text: wide })), wide)
  })

  it("takes a definition with its article, and not a condition or a passing mention, for what something is", () => {
    const mentions = hit({
      text: "Neap tides typically come twice a month. If the neap tide is a weak one, boats stay."
    })
    const defines = hit({
      text: "In the bay of Arden, a neap tide is a tide of small range. Neap tides are seen by all."
    })
    assert.strictEqual(
      best("what is a neap tide", mentions, defines),
      "In the bay of Arden, a neap tide is a tide of small range."
    )
  })

  it("quotes what an AsciiDoc page says, and not its anchors, its titles or what is only begun", () => {
    const page = hit({
      text: "[[neap-tides]]\nABOUT NEAP TIDES\n----------------\n\nA neap tide has a small range.\n\nA neap tide is seen,\n\n* by day\n* by night"
    })
    const glossary = hit({
      text: "[[def_neap]]neap tide::\n\tNormally the <<def_sea,sea>> rises far. However, this <<def_tide,tide>> rises little."
    })
    const texts = [page, glossary].flatMap((it) => extract("what is a neap tide", [it])).map(({ text }) => text)
    assert.deepStrictEqual(texts, [
      "A neap tide has a small range.",
      "neap tide: Normally the sea rises far. However, this tide rises little."
    ])
    const drawn = hit({
      text: "## Neap tides\n\n<!-- neap-tide.png: a neap tide -->\n![Drawing of a neap tide, small](neap.png)\nA neap tide is small."
    })
    assert.deepStrictEqual(
      extract("what is a neap tide", [drawn]).map(({ text }) => text),
      ["A neap tide is small."]
    )
    const between = hit({ text: "## Neap tides\n\n<!-- a --> A neap tide is small. <!-- b -->" })
    assert.include(best("what is a neap tide", between), "A neap tide is small.")
  })

  it("takes what has most of the question, and not a word of it that is rare", () => {
    const queue = hit({
      text: "The queue is empty at first. A queue that is empty costs nothing. An empty queue is emptied by `drain`. The clerk at the next desk works quickly, and the queue of people is short."
    })
    assert.include(best("how can I make the queue empty quickly", queue), "`drain`")
  })

  it("takes what has most of the question, also from a passage of less relevance", () => {
    const first = { ...hit({ text: "A queue keeps the jobs of the day." }), relevance: 0.9 }
    const second = { ...hit({ text: "A queue of jobs sleeps when it is empty." }), relevance: 0.1 }
    const question = "does a queue sleep"
    assert.strictEqual(best(question, first, second), second.passage.text)
    assert.deepStrictEqual(extract(question, [{ ...second, relevance: 0.01 }]), [])
  })

  it("quotes no question, but with the sentence after it", () => {
    const text = "Which type of number should you take? If in doubt, take `i32`, which is fast."
    const apart = text.replace("?", "? Ah.")
    assert.deepStrictEqual(extract("which type of number should I take", [hit({ text })]), [
      { n: 1, text, isVerbatim: true }
    ])
    assert.include(best("take which type of number in doubt", hit({ text: apart })), "If in doubt, take `i32`")
    const alone = hit({ text: "Which type of number should you take?" })
    assert.deepStrictEqual(extract("which type of number should I take", [alone]), [])
  })

  it("prefers the sentence that defines to those that mention", () => {
    const text =
      "A spring tide was seen in the bay. The spring tide of May was high. A spring tide is a tide of great range."
    assert.strictEqual(best("what is a spring tide", hit({ text })), "A spring tide is a tide of great range.")
  })

  it("takes no heading for an answer, but for what is said below it", () => {
    const under = hit({ text: "# Spring tides\n\nThey are highest when sun and moon stand in a line." })
    assert.strictEqual(
      best("when are spring tides highest", under),
      "Spring tides: They are highest when sun and moon stand in a line."
    )
  })

  it("quotes no sentence without what it points back to", () => {
    const pair = hit({ text: "A hive has one queen. She lays all eggs of the hive, up to two thousand a day." })
    assert.strictEqual(
      best("how many eggs of the hive are laid a day", pair),
      "A hive has one queen. She lays all eggs of the hive, up to two thousand a day."
    )
    const torn = hit({ text: "This lays all eggs of the hive, up to two thousand a day." })
    assert.deepStrictEqual(extract("how many eggs of the hive are laid a day", [torn]), [])
  })

  it("names what a default belongs to", () => {
    const text =
      "## app.config.comments {#comments}\n\n- **Default:** `false`\n\nSet it to keep comments in production."
    assert.strictEqual(
      best("what is the default of app.config.comments", hit({ text })),
      "app.config.comments: **Default:** `false`"
    )
    const cache = hit({
      text: "--timeout <seconds>::\n\tSeconds to cache passwords (default: 900).\n\n--socket <path>::\n\tUse it for cached passwords; no default."
    })
    assert.include(best("how long are passwords cached by default", cache), "900")
  })

  it("defines a term by its own entry, before options and keys named after it", () => {
    const list = hit({
      text: "--octopus::\n\tCompute the ancestors of an octopus merge.\n\npull.octopus::\n\tThe strategy for an octopus merge.\n\noctopus::\n\tTo merge more than two branches.\n"
    })
    assert.strictEqual(best("what is an octopus merge", list), "octopus: To merge more than two branches.")
    assert.deepStrictEqual(extract("what is the salary of an octopus", [list]), [])
  })

  it("takes what a passage further down says best, in the place of one that says nothing", () => {
    const of = (name: string) => hit({ source: `${name}.md`, text: `The refspec of ${name} is long.` })
    const a = of("a")
    const glossary = hit({ source: "glossary.md", text: "refspec::\n\tA mapping between remote and local refs.\n" })
    const { hits, quotes } = quoting(["what is a refspec"], [a, of("b")], [of("c"), glossary])
    assert.deepStrictEqual(hits, [a, glossary])
    assert.include(
      quotes.map(({ n, text }) => `${n} ${text}`),
      "2 refspec: A mapping between remote and local refs."
    )
  })

  it("tells what a description list says of a term, with the term", () => {
    const list = hit({
      text: "`pop [<stash>]`::\n\tRemove a single stashed state from the list and apply it on top of the working tree.\n+\nThe working directory must match the index.\n\n[[def_bare]]bare repository::\n\tA directory without a checked-out copy of any of the files under revision control.\n"
    })
    assert.deepStrictEqual(extract("what is a bare repository", [bread, list], 1), [
      {
        n: 2,
        text: "bare repository: A directory without a checked-out copy of any of the files under revision control.",
        isVerbatim: false
      }
    ])
    assert.include(best("what does stash pop do", list), "`pop [<stash>]`: Remove a single stashed state from the list")
  })

  it("tells what a section begins with, where its heading is what is asked for", () => {
    const section = hit({
      text: "## nextTick()\n\nA utility for waiting until the page is drawn.\n\nOther things follow here as well.",
      heading: ["General", "nextTick()"]
    })
    assert.strictEqual(
      best("what does nextTick do", section),
      "nextTick(): A utility for waiting until the page is drawn."
    )
  })

  it("answers nothing where no passage names what the question names", () => {
    const text = "A connection to a database may be slow. How to connect to a database is told below, at some length."
    assert.isNotEmpty(extract("how do I connect to a database", [hit({ text })]))
    assert.deepStrictEqual(extract("how do I connect to a PostgreSQL database", [hit({ text })]), [])
  })

  it("prefers a number where one is asked for", () => {
    const text = "Entries of the log are kept by default for long. Entries of the log are kept for 90 days by default."
    assert.include(best("how long are log entries kept", hit({ text })), "90 days")
  })

  it("a capital that other words have too names nothing", () => {
    const vue = hit({ text: "To get started with a project, run `npm create vue@latest` and install." })
    const rust = hit({ text: "Im optimierten Build hat `opt-level` den Wert 3, wenn nichts anderes gesetzt ist." })
    assert.notStrictEqual(best("How Do I Run a Project And Get Started?", vue), "")
    assert.notStrictEqual(best("Welchen Wert hat opt-level im optimierten Build?", rust), "")
    // But what no passage has may be a name.
    assert.strictEqual(best("How Do I Run an Angular Project And Get Started?", vue), "")
    assert.strictEqual(best("Welchen Wert hat opt-level im Build von Kubernetes?", rust), "")
    assert.strictEqual(best("how do I create a new Angular project and get started?", vue), "")
    assert.strictEqual(best("How Do I Create a New Project and Get Started With AngularJS?", vue), "")
  })

  it("has nothing to say of an option that no passage holds", () => {
    const push = hit({ text: "`git push --force` overwrites what others pushed, and never retries what failed." })
    assert.notStrictEqual(best("what does git push --force overwrite", push), "")
    assert.strictEqual(best("what does git push with --retry-count overwrite", push), "")
    // A pasted command or message has names of its own.
    assert.notStrictEqual(best("what does git push --force --my-own overwrite", push), "")
    assert.notStrictEqual(best("my_app.push: what does git push --force overwrite", push), "")
  })

  it("further queries name what the question refers to, and leave alone what answers without them", () => {
    const bake = hit({ text: "# Bread\n\nBread is baked at 220 degrees for 35 minutes. It is eaten cold." })
    const texts = (...queries: readonly [string, ...Array<string>]) =>
      quoting(queries, [bake, tides], []).quotes.map(({ text }) => text)
    assert.deepStrictEqual(texts("how long?"), [])
    assert.deepStrictEqual(texts("how long?", "how long is bread baked"), [
      "Bread is baked at 220 degrees for 35 minutes."
    ])
    assert.include(
      texts("when is the spring tide highest", "orbital syzygy perigee resonance"),
      tides.passage.text.split("\n\n")[2]
    )
  })

  it("quotes no rest of a sentence, nor of code, that begins in the passage before", () => {
    const later = (text: string, fence?: string): Hit => {
      const it = hit({ text })
      return { ...it, passage: { ...it.passage, ordinal: 3 }, ...(fence !== undefined && { fence }) }
    }
    const rest = "will protect the remote ref from a push that overwrites it."
    assert.strictEqual(best("protect remote ref overwrites", later(rest)), "")
    assert.strictEqual(best("protect remote ref overwrites", hit({ text: rest })), rest)
    assert.notStrictEqual(best("protect remote ref overwrites", later(`\`--force\` ${rest}`)), "")
    const item = "- who repairs the garden fence each spring: the neighbours.\n- who waters the roses: nobody at all."
    assert.notStrictEqual(best("who repairs the garden fence each spring", later(item)), "")
    const code = "watch nested property object deep;\n```\n\nTo watch a nested property, the object has a getter."
    assert.deepStrictEqual(
      extract("watch a nested property of an object", [later(code, "```")]).map(({ text }) => text),
      ["To watch a nested property, the object has a getter."]
    )
  })

  it("names the term of a list's item, and the name in code that is the heading", () => {
    const classes = hit({
      text: "- `v-enter-from`: Starting state for enter. Added before the element is inserted.\n- `v-leave`: Ending state."
    })
    assert.strictEqual(
      best("which class is added before an element is inserted", classes),
      "`v-enter-from`: Added before the element is inserted."
    )
    const text = "Called right before a component is to be unmounted."
    assert.strictEqual(
      best("which hook is called right before a component is unmounted", hit({ text, heading: ["beforeUnmount"] })),
      `beforeUnmount: ${text}`
    )
    assert.strictEqual(
      best("which hook is called right before a component is unmounted", hit({ text, heading: ["Hooks"] })),
      text
    )
  })

  it("does not say the same twice", () => {
    const quotes = extract("spring tide", [tides, tides, tides])
    assert.lengthOf(quotes, 1)
  })

  const words = FastCheck.array(
    FastCheck.constantFrom("moon", "sea", "tide", "bread", "oven", "is", "the", "Rises.", "\n\n", "ends?", "漢字。"),
    {
      maxLength: 60
    }
  ).map((parts) => parts.join(" "))

  it.prop(
    "every quote stands in the passage of its number, at most four",
    { query: words, texts: FastCheck.array(words, { maxLength: 6 }) },
    ({ query, texts }) => {
      const quotes = extract(
        query,
        texts.map((text) => hit({ text }))
      )
      assert.isAtMost(quotes.length, 4)
      for (const { isVerbatim, n, text } of quotes) {
        if (isVerbatim) assert.include(texts[n - 1]!.replace(/\s+/g, " "), text.replace(/\s+/g, " "))
      }
    }
  )

  it("quotes a short sentence, also in a script without spaces", () => {
    const [bees] = extract("what do bees make?", [hit({ text: "# Bees\n\nBees make honey. The hive is warm." })])
    assert.strictEqual(bees?.text, "Bees make honey.")
    const [chinese] = extract("\u871c\u8702\u917f\u9020\u4ec0\u4e48", [
      hit({ text: "\u871c\u8702\u917f\u9020\u8702\u871c\u3002" })
    ])
    assert.strictEqual(chinese?.text, "\u871c\u8702\u917f\u9020\u8702\u871c\u3002")
    assert.deepStrictEqual(extract("what do bees make?", [hit({ text: "Bees." })]), [])
  })
})
