import { assert, test } from "vitest"
import { message } from "../../src/terms/pasted.ts"

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
    at async load (file:///srv/app/load.js:3:7)
    at node:internal/main/run_main_module:23:47`,
  `KeyError: 'honey'\r
\tat org.bees.Hive.open(Hive.java:42)\r
\tat org.bees.Hive.shut(Hive.java:43)\r
\tat org.bees.Main.main(Native Method)\r
\t... 23 more\r`,
  `KeyError: 'honey'
goroutine 1 [running]:
\t/srv/app/main.go:12 +0x1d
\t/srv/app/main.go:14 +0x1d`,
  `KeyError: 'honey'
  11: std::panic::catch
             at ./src/panic.rs:4:5
  12: std::rt::lang_start
             at ./src/main.rs:4:5`,
  `KeyError: 'honey'
#0 /var/www/bees.php(12): open()
#1 /var/www/bees.php(14): shut()
#2 {main}`,
  `KeyError: 'honey'
\tfrom /usr/lib/ruby/bees.rb:12:in \`open'
\tfrom /usr/lib/ruby/bees.rb:14:in \`shut'
\tfrom /usr/lib/ruby/bees.rb:16:in \`main'`
]

test("of a pasted stack trace the message is left", () => {
  for (const trace of traces) assert.strictEqual(message(trace).trim(), "KeyError: 'honey'")
  for (const query of [
    "at what time (10:30)",
    "how do bees\nlook at flowers",
    "what is #1 in 2020\nand #2 in 2021",
    "    at x.y (a.js:1:1)\n    at z (b.js:2:2)",
    "what does this do?\nsrc/files/Disk.ts:42",
    "meet\nat 10:30\nat http://localhost:8080",
    "pull\nlibrary/postgres:16\nlibrary/redis:7\nlibrary/nginx:1",
    "why does <router-view></router-view> in <div>…</div> stay empty",
    "should it go into <head></head> or before </body>?",
    "difference between\n1: std::rc::Rc\n2: std::sync::Arc",
    "hosts\n  db/primary:5432\n  db/replica:5433",
    "listen on <host>"
  ]) {
    assert.strictEqual(message(query), query)
  }
  const page = "<html><head><title>413 Request Entity Too Large</title></head><body><h1>413</h1></body></html>"
  assert.strictEqual(message(page).replace(/ +/g, " ").trim(), "413 Request Entity Too Large 413")
})
