import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { canMount, inMounts } from "./mounts.ts"
import { ended, program, Sandbox } from "../cli/program/sandbox.ts"
import { sqliteDriver } from "../sqlite.ts"

let box: Sandbox

const script = (text: string) => inMounts(box, text)

const readOnlyMount = "mount --bind $box/data $box/data && mount -o remount,ro,bind $box/data"

const lines = Array.from({ length: 60 }, (_, index) => `Paragraph ${index} is about otters and rivers.\n\n`).join("")

beforeAll(async () => {
  box = new Sandbox({ "docs/otter.md": `# Otters\n\n${lines}`, "docs/heron.md": "Herons stand in the reeds.\n" })
  fs.mkdirSync(box.path("data"))
  const { code, stderr } = await box.run(["index", "docs", "--db", box.path("data", "index.db"), "-q"])
  assert.strictEqual(code, 0, stderr)
})
afterAll(() => box.remove())

const fixture = fileURLToPath(new URL("../fixtures/schemas/9.db", import.meta.url))

const mcpInput = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "t", version: "1" } }
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "search", arguments: { query: "herons reeds" } } }
]
  .map((message) => JSON.stringify(message))
  .join("\n")

const askMcp = (flags: string) =>
  `echo '${mcpInput}' | $clew mcp --db $box/data/index.db ${flags} | grep -m1 -o "Herons stand in the reeds" | head -1`

const askServe = (flags: string) => `
  rm -f $box/log; trap 'kill $server' EXIT # neither the address of an earlier server, nor one that stays
  $clew serve --port 0 --db $box/data/index.db ${flags} 2>$box/log & server=$!
  for i in $(seq 200); do url=$(grep -om1 "http://[0-9.:]*" $box/log || true); [ -n "$url" ] && break; sleep 0.05; done
  ${process.execPath} -e 'fetch(process.argv[1] + "/query", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ query: "herons", hybrid: true }) }).then((r) => r.text()).then(console.log)' $url
  trap - EXIT; kill $server; wait $server`

describe("an index where nobody can write", () => {
  it("leaves nothing beside it, whatever reads it", async () => {
    const database = box.path("data", "index.db")
    for (const args of [["query", "herons"], ["info"], ["collections"], ["query", "otters", "--alpha", "0"]]) {
      const { code, stderr } = await box.run([...args, "--db", database])
      assert.strictEqual(code, 0, stderr)
      assert.deepStrictEqual(fs.readdirSync(box.path("data")), ["index.db"])
    }
    const before = fs.statSync(database).mtimeMs
    const { code, stderr, stdout } = await script(
      `${askServe("--read-only")}; ls $box/data; ${askMcp("--read-only")}; ls $box/data`
    )
    assert.strictEqual(code, 0, stderr)
    assert.match(stdout, /Herons stand in the reeds.*\nindex\.db\nHerons stand in the reeds\nindex\.db\n$/)
    assert.strictEqual(fs.statSync(database).mtimeMs, before)
  })

  it.skipIf(!canMount)("is searched on a read-only mount, by each door", async () => {
    const { code, stderr, stdout } = await script(`
      ${readOnlyMount}
      touch $box/data/x 2>/dev/null && exit 9
      $clew query herons --db $box/data/index.db
      ${askServe("--read-only")}
      ${askMcp("--read-only")}`)
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual(stdout.match(/Herons stand in the reeds/g)?.length, 3, stdout)
  })

  it.skipIf(!canMount)("names the flag for it where a door was opened without", async () => {
    const { stderr, stdout } = await script(`
      ${readOnlyMount}
      $clew serve --port 0 --db $box/data/index.db || echo "serve ends with $?"
      echo '${mcpInput}' | $clew mcp --db $box/data/index.db`)
    assert.match(stderr, /is read-only, .*--read-only/)
    assert.match(stdout, /serve ends with 1/)
    assert.match(stdout, /"code":-32603,"message":"[^"]*is read-only, [^"]*--read-only/)
  })

  it.skipIf(!canMount)("says what to do where it was not closed", async () => {
    const { code, stderr, stdout } = await script(`
      cp $box/data/index.db $box/open.db
      ${process.execPath} -e 'const db = new (require(process.argv[2]))(process.argv[1]); db.pragma("journal_mode = WAL"); process.kill(process.pid, "SIGKILL")' $box/open.db ${sqliteDriver} || true
      rm -f $box/open.db-*; mkdir $box/media; mv $box/open.db $box/media
      mount --bind $box/media $box/media && mount -o remount,ro,bind $box/media
      $clew query herons --db $box/media/open.db`)
    assert.strictEqual(code, 1, stdout)
    assert.match(stderr, /was last written by a program that did not close it.*open it once where it is writable/s)
  })

  it.skipIf(!canMount)(
    "is examined: doctor says what is wrong and why nothing is repaired, and gives up no index",
    async () => {
      const { code, stderr, stdout } = await script(`
      mkdir $box/still; cd $box/still
      cp $box/data/index.db damaged.db; cp damaged.db open.db; cp ${fixture} old.db
      ${process.execPath} -e 'const db = new (require(process.argv[1]))("damaged.db"); db.exec("DELETE FROM vectors_1 WHERE rowid IN (SELECT rowid FROM vectors_1 LIMIT 1)")' ${sqliteDriver}
      ${process.execPath} -e 'new (require(process.argv[1]))("old.db").pragma("journal_mode = WAL"); process.kill(process.pid, "SIGKILL")' ${sqliteDriver} || true
      rm -f old.db-*
      mount --bind . . && mount -o remount,ro,bind $box/still && cd $box/still
      for db in damaged old; do $clew doctor --fix --db $db.db && exit 9; done 2>&1
      $clew index $box/docs --db old.db 2>&1 && exit 9; true`)
      assert.strictEqual(code, 0, stderr + stdout)
      assert.notMatch(stdout, /bug in Clew|index into a new file/)
      assert.match(stdout, /^fail vectors: .*\n[^]*^fail repair: .*before-fix cannot be written: EROFS/m)
      assert.match(stdout, /^fail file: [^]*open it once where it is writable/m)
      assert.strictEqual(stdout.match(/open it once where it is writable/g)?.length, 2, stdout)
    }
  )

  it.skipIf(process.getuid?.() !== 0)("is searched by a user who may only read it", async () => {
    const { code, stderr, stdout } = await script(`
      chmod 755 $box $box/home; chmod 555 $box/data; chmod 444 $box/data/index.db
      setpriv --reuid 65534 --regid 65534 --clear-groups $clew query herons --db $box/data/index.db
      ${askServe("--read-only").replace("$clew", "setpriv --reuid 65534 --regid 65534 --clear-groups $clew")}`)
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual(stdout.match(/Herons stand in the reeds/g)?.length, 2, stdout)
  })
})

describe("a watched disk", () => {
  it.skipIf(!canMount)("that is unmounted loses nothing, and is followed again once it is back", async () => {
    fs.mkdirSync(box.path("disk"))
    const until = (what: string) => `for i in $(seq 600); do grep -q '${what}' $box/lines && break; sleep 0.1; done`
    const put = "mount -t tmpfs none $box/disk && echo Otters > $box/disk/otter.md && echo Herons > $box/disk/heron.md"
    const { code, stderr, stdout } = await script(`
      ${put}
      $clew watch $box/disk --json --db $box/disk.db > $box/lines & watching=$!
      ${until('"type":"scan"')}
      umount $box/disk || umount -l $box/disk
      ${until('"type":"held"')}
      $clew list --db $box/disk.db --json
      ${put}; echo Reeds > $box/disk/reeds.md
      ${until("reeds.md")}
      echo Rivers > $box/disk/rivers.md
      ${until("rivers.md")}
      kill -INT $watching; wait $watching
      umount $box/disk || umount -l $box/disk`)
    assert.strictEqual(code, 0, stderr)
    assert.include(stdout, "otter.md")
    assert.include(stdout, "heron.md")
    const told = fs.readFileSync(box.path("lines"), "utf8")
    assert.match(told, /"type":"held".*"gone":2/)
    assert.notInclude(told, '"forgotten"')
    assert.include(told, "rivers.md")
  })
})

describe("a full disk", () => {
  const small = (mebibytes: number) => `
    mkdir -p $box/small && mount -t tmpfs -o size=${mebibytes}m none $box/small
    cp $box/data/index.db $box/small/index.db; chmod 600 $box/small/index.db`

  it.skipIf(!canMount)("can be searched, and makes room by delete and compact", async () => {
    const { code, stderr, stdout } = await script(`
      ${small(4)}
      dd if=/dev/zero of=$box/small/rest bs=4k 2>/dev/null || true
      df --output=avail $box/small | tail -1
      $clew query herons --db $box/small/index.db
      $clew index $box/docs/heron.md --db $box/small/index.db 2>&1 && echo unexpected || true
      $clew delete $box/docs/otter.md --yes --db $box/small/index.db
      before=$(stat -c %s $box/small/index.db)
      $clew compact --db $box/small/index.db
      after=$(stat -c %s $box/small/index.db)
      echo "gave back $((before - after > 0))"
      $clew query herons --db $box/small/index.db
      ls $box/small`)
    assert.strictEqual(code, 0, stderr + stdout)
    assert.match(stdout, /^\s*0\n/)
    assert.match(stdout, /the disk is full/)
    assert.notMatch(stdout, /unexpected/)
    assert.match(stdout, /Deleted 1 document/)
    assert.match(stdout, /gave back 1/)
    assert.strictEqual(stdout.match(/Herons stand in the reeds/g)?.length, 2, stdout)
    assert.match(stdout, /index\.db\nrest\n$/)
  })

  it.skipIf(!canMount)(
    "is named where a backup or a restored index has no room, not the file that is copied",
    async () => {
      const { code, stderr, stdout } = await script(`
      ${small(4)}
      $clew backup $box/whole.bak --db $box/data/index.db
      dd if=/dev/zero of=$box/small/rest bs=4k 2>/dev/null || true
      truncate -s -64k $box/small/rest
      $clew backup $box/small/other.bak --db $box/data/index.db 2>&1 && echo unexpected || true
      $clew restore $box/whole.bak --yes --db $box/small/index.db 2>&1 && echo unexpected || true
      ls $box/small`)
      assert.strictEqual(code, 0, stderr + stdout)
      assert.notMatch(stdout, /unexpected/)
      assert.match(stdout, /small\/other\.bak cannot be written: the disk is full/)
      assert.match(stdout, /small\/index\.db cannot be written: the disk is full/)
      assert.match(stdout, /index\.db\nrest\n$/)
    }
  )
})

describe("a limit on addresses", () => {
  it.skipIf(process.platform !== "linux")("of 20 GB is enough to index, search and serve", async () => {
    const child = spawn(
      "bash",
      [
        "-euc",
        `ulimit -v 20971520; cd ${box.folder}; clew="${process.execPath} ${program}"; box=${box.folder}
       export HOME=$box/home CLEW_EMBEDDING_BACKEND=builtin PS1=
       $clew index docs --db $box/data/index.db -q
       $clew query herons --db $box/data/index.db
       ${askServe("")}
       $clew query zebrafish-of-nowhere --db $box/data/index.db --alpha 0 || echo "ended with $?"`
      ],
      { env: { PATH: process.env["PATH"] } }
    )
    child.stdin.end()
    const { code, stderr, stdout } = await ended(child)
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual(stdout.match(/Herons stand in the reeds/g)?.length, 2, stdout)
    assert.match(stdout, /ended with 3/)
  })
})
