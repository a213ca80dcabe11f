import { assert, test } from "vitest"
import { meaning, message } from "../../src/terms/pasted.ts"

const traces = [
  `Traceback (most recent call last):
  File "/usr/lib/python3.11/asyncio/runners.py", line 44, in run
    return loop.run_until_complete(main)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "app.py", line 7, in main
    await nothing()
KeyError: 'honey'`,
  `KeyError: 'honey'
    at Object.<anonymous> (/srv/app/index.js:3:7)
    at async Promise.all (index 0)
    at node:internal/main/run_main_module:23:47`,
  `KeyError: 'honey'\r
\tat org.bees.Hive.open(Hive.java:42)\r
\tat org.bees.Main.main(Main.java:7)\r`,
  `KeyError: 'honey'
goroutine 1 [running]:
\t/srv/app/main.go:12 +0x1d`,
  `KeyError: 'honey'
  12: std::rt::lang_start
             at ./src/main.rs:4:5`,
  `KeyError: 'honey'
#0 /var/www/bees.php(12): open()
#1 {main}`,
  `KeyError: 'honey'
\tfrom /usr/lib/ruby/bees.rb:12:in \`open'`
]

test("of a pasted stack trace the message is left", () => {
  for (const trace of traces)
    assert.strictEqual(message(trace).replaceAll("at async Promise.all (index 0)", "").trim(), "KeyError: 'honey'")
  for (const query of [
    "at what time (10:30)",
    "how do bees\nlook at flowers",
    "what is #1 in 2020\nand #2 in 2021",
    "    at x.y (a.js:1:1)\n    at z (b.js:2:2)",
    "a/b.ts:12",
    "listen on <host>"
  ]) {
    assert.strictEqual(message(query), query)
  }
  const page = "<html><head><title>413 Request Entity Too Large</title></head><body><h1>413</h1></body></html>"
  assert.strictEqual(message(page).replace(/ +/g, " ").trim(), "413 Request Entity Too Large 413")
})

test("what identifies one occurrence has no meaning, unless the query is about it", () => {
  const line =
    "[2024-05-06T07:08:09,123Z] 10.0.0.5:80 req 3f2504e0-4f89-11d3-9a0c-0305e82c3301 cannot open /srv/app/a.conf at 0x7ffe"
  assert.strictEqual(
    meaning(line)
      .replace(/[\s[\]]+/g, " ")
      .trim(),
    "req cannot open at"
  )
  for (const query of ["10.0.0.5", "why 3f2504e0", "what is /etc/hosts for", "12:30:00"])
    assert.strictEqual(meaning(query), query)
})
